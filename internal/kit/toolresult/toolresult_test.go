package toolresult_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/kit/toolresult"
)

type fields = map[string]any

func says(t *testing.T, err error, want string) {
	t.Helper()
	got := ""
	if err != nil {
		got = err.Error()
	}
	if got != want {
		t.Errorf("error is %q, want %q", got, want)
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	failed := &toolresult.Error{Type: "ToolError", Message: "m"}
	for name, tc := range map[string]struct {
		result toolresult.Result
		want   string
	}{
		"success":                {toolresult.Success(nil, ""), ""},
		"success with all":       {toolresult.Success(fields{"a": 1}, "m"), ""},
		"failure":                {toolresult.Failure(failed, "m"), ""},
		"failure with data":      {toolresult.Result{Status: "error", Error: failed, Data: fields{"a": 1}}, ""},
		"error without error":    {toolresult.Failure(nil, "m"), "error field is required when status is 'error'"},
		"success with error":     {toolresult.Result{Status: "success", Error: failed}, "error field must be None when status is 'success'"},
		"no status":              {toolresult.Result{}, `invalid tool status "": must be success or error`},
		"another status":         {toolresult.Result{Status: "ok"}, `invalid tool status "ok": must be success or error`},
		"status in another case": {toolresult.Result{Status: "Success"}, `invalid tool status "Success": must be success or error`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			says(t, tc.result.Validate(), tc.want)
		})
	}
}

// panics is an error whose Error method panics.
type panics struct{}

func (panics) Error() string { panic("no") }

func TestErrors(t *testing.T) {
	t.Parallel()
	own := &toolresult.Error{Type: "Quota", Message: "full", Details: fields{"left": 0}, Recoverable: true}
	for name, tc := range map[string]struct {
		got, want *toolresult.Error
	}{
		"not found":       {toolresult.NotFound("pod", "web-1"), &toolresult.Error{Type: "NotFoundError", Message: "pod 'web-1' not found"}},
		"from an error":   {toolresult.FromError(io.EOF, true), &toolresult.Error{Type: "ToolError", Message: "EOF", Recoverable: true}},
		"not recoverable": {toolresult.FromError(io.EOF, false), &toolresult.Error{Type: "ToolError", Message: "EOF"}},
		"from our own":    {toolresult.FromError(own, false), own},
		"from our own within": {toolresult.FromError(fmt.Errorf("query: %w", own), false),
			&toolresult.Error{Type: "Quota", Message: "query: full", Details: own.Details, Recoverable: true}},
		"of no type": {toolresult.FromError(&toolresult.Error{}, false), &toolresult.Error{Type: "ToolError", Message: "Unknown error"}},
		"from nil": {toolresult.FromError(nil, true),
			&toolresult.Error{Type: "ToolError", Message: "Unknown error", Recoverable: true}},
		"from a nil pointer": {toolresult.FromError((*toolresult.Error)(nil), false),
			&toolresult.Error{Type: "ToolError", Message: "Unknown error"}},
		"without a text": {toolresult.FromError(errors.New(""), false), &toolresult.Error{Type: "ToolError", Message: "Unknown error"}},
		"that panics":    {toolresult.FromError(panics{}, false), &toolresult.Error{Type: "ToolError", Message: "%!v(PANIC=Error method: no)"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, tc.got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	itself := fields{}
	itself["itself"] = itself
	failed := &toolresult.Error{Type: "T", Message: "m", Details: fields{"itself": itself}}
	for name, tc := range map[string]struct {
		result toolresult.Result
		want   string
	}{
		"message":          {toolresult.Success(nil, "3 < 4 & so on"), "3 < 4 & so on"},
		"message, no data": {toolresult.Success(fields{}, "done"), "done"},
		"invalid message":  {toolresult.Success(nil, "a\xff"), "a\uFFFD"},
		"nothing":          {toolresult.Success(nil, ""), `{"status":"success"}`},
		"data": {toolresult.Success(fields{"b": "<&>", "a": []any{1, nil}, "c": fields{"z": 1, "y": json.Number("1.0")}}, "m"),
			`{"status":"success","data":{"a":[1,null],"b":"<&>","c":{"y":1.0,"z":1}},"message":"m"}`},
		"message, signal": {toolresult.Result{Status: "success", Message: "m", Signal: "stop"},
			`{"status":"success","message":"m","signal":"stop"}`},
		"failure": {toolresult.Failure(toolresult.NotFound("pod", "p"), ""),
			`{"status":"error","error":{"error_type":"NotFoundError","message":"pod 'p' not found","recoverable":false}}`},
		"invalid text": {toolresult.Success(fields{"a": "\xff"}, ""), `{"status":"success","data":{"a":"\ufffd"}}`},
		"not JSON": {toolresult.Success(fields{"inf": math.Inf(1), "f": func() {}}, ""),
			`{"status":"success","data":{"f":"(func())","inf":"+Inf"}}`},
		"contains itself":   {toolresult.Success(itself, "m"), `{"status":"success","message":"m"}`},
		"details that do":   {toolresult.Failure(failed, ""), `{"status":"error","error":{"error_type":"T","message":"m","recoverable":false}}`},
		"not valid, at all": {toolresult.Result{Message: "m"}, `{"status":"","message":"m"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range 3 {
				if got := tc.result.Text(); got != tc.want {
					t.Errorf("got  %s\nwant %s", got, tc.want)
				}
			}
		})
	}
	if failed.Details == nil {
		t.Error("Text changed the error")
	}
}
