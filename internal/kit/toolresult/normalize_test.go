package toolresult_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/inquest-dev/inquest/internal/kit/toolresult"
)

func success(data fields) toolresult.Result { return toolresult.Success(data, "") }

func failure(kind, message string) toolresult.Result {
	return toolresult.Failure(&toolresult.Error{Type: kind, Message: message}, "")
}

// with sets fields that the constructors do not.
func with(r toolresult.Result, change func(*toolresult.Result)) toolresult.Result {
	change(&r)
	return r
}

type named map[string]string

func TestNormalize(t *testing.T) {
	t.Parallel()
	whole := toolresult.Result{
		Status: "error", Data: fields{"a": []any{1}}, Message: "m", Signal: "s",
		Error: &toolresult.Error{Type: "T", Message: "e", Details: fields{"d": 1}, Recoverable: true},
	}
	for name, tc := range map[string]struct {
		from any
		want toolresult.Result
	}{
		"a result":            {whole, whole},
		"a pointer to one":    {&whole, whole},
		"nothing said":        {fields{}, success(nil)},
		"a nil map":           {fields(nil), success(nil)},
		"another type of map": {named{"status": "ok", "a": "b"}, success(fields{"a": "b"})},
		"a status of its own": {fields{"status": "Running", "pods": 3}, success(fields{"status": "Running", "pods": 3})},
		"… and an error": {fields{"status": "Running", "error": "e"},
			with(failure("ToolError", "e"), func(r *toolresult.Result) { r.Data = fields{"status": "Running"} })},
		"a number for status": {fields{"status": 200}, success(fields{"status": 200})},
		"null for status":     {fields{"status": nil, "a": 1}, success(fields{"a": 1})},
		"no status":           {fields{"a": 1}, success(fields{"a": 1})},
		"no status, error":    {fields{"error": "e"}, failure("ToolError", "e")},
		"no status, null":     {fields{"error": nil}, failure("ToolError", "Unknown error")},
		"success, yet error":  {fields{"status": "success", "error": "e"}, success(fields{"error": "e"})},
		"success, error null": {fields{"status": "success", "error": nil, "data": fields{"a": 1}}, success(fields{"a": 1})},
		"data":                {fields{"data": fields{"a": 1}}, success(fields{"a": 1})},
		"data that is a list": {fields{"data": []any{1}}, success(fields{"data": []any{1}})},
		"data and more":       {fields{"data": fields{"a": 1}, "b": 2}, success(fields{"data": fields{"a": 1}, "b": 2})},
		"data null":           {fields{"data": nil}, success(nil)},
		"message and signal":  {fields{"message": "m", "signal": "s"}, toolresult.Result{Status: "success", Message: "m", Signal: "s"}},
		"… that are no texts": {fields{"message": 1, "signal": fields{"a": 1}}, success(fields{"message": 1, "signal": fields{"a": 1}})},
		"… null":              {fields{"message": nil, "signal": nil}, success(nil)},
		"error, the text": {fields{"error": "e", "message": "m"},
			toolresult.Failure(&toolresult.Error{Type: "ToolError", Message: "e"}, "m")},
		"error, the message": {fields{"error": 7, "message": "m"}, toolresult.Failure(&toolresult.Error{Type: "ToolError", Message: "m"}, "m")},
		"error, no text": {fields{"error": "", "message": "m"},
			toolresult.Failure(&toolresult.Error{Type: "ToolError", Message: "m"}, "m")},
		"error, printed":      {fields{"error": []any{"a", 1.5}}, failure("ToolError", `["a",1.5]`)},
		"error, a Go error":   {fields{"error": errors.New("e")}, failure("ToolError", "e")},
		"error, one of ours":  {fields{"error": toolresult.NotFound("pod", "p")}, failure("NotFoundError", "pod 'p' not found")},
		"error, nothing said": {fields{"status": "error"}, failure("ToolError", "Unknown error")},
		"error, an empty map": {fields{"error": fields{}}, failure("ToolError", "Unknown error")},
		"error, its type": {fields{"error": "e", "error_type": "T", "recoverable": true, "out": "o"},
			toolresult.Result{Status: "error", Data: fields{"out": "o"}, Error: &toolresult.Error{Type: "T", Message: "e", Recoverable: true}}},
		"error map": {fields{"error": fields{"type": "T", "message": "e", "details": fields{"d": 1}, "recoverable": true}},
			toolresult.Failure(&toolresult.Error{Type: "T", Message: "e", Details: fields{"d": 1}, Recoverable: true}, "")},
		"error map, ours": {fields{"error": fields{"error_type": "T", "message": "e"}, "message": "m"},
			toolresult.Failure(&toolresult.Error{Type: "T", Message: "e"}, "m")},
		"error map, message": {fields{"error": fields{"type": "T"}, "message": "m"},
			toolresult.Failure(&toolresult.Error{Type: "T", Message: "m"}, "m")},
		"error map, default": {fields{"error": fields{"message": "e"}}, failure("ToolError", "e")},
		"error map, printed": {fields{"error": fields{"code": 5}},
			toolresult.Failure(&toolresult.Error{Type: "ToolError", Message: `{"code":5}`, Details: fields{"code": 5}}, "")},
		"error map, more": {fields{"error": fields{"message": "e", "details": fields{"d": 1}, "code": 5}},
			toolresult.Failure(&toolresult.Error{Type: "ToolError", Message: "e", Details: fields{"details": fields{"d": 1}, "code": 5}}, "")},
		"error map, odd types": {fields{"error": fields{"type": 1, "message": "e", "details": "d", "recoverable": "no"}},
			toolresult.Failure(&toolresult.Error{Type: "ToolError", Message: "e", Details: fields{"type": 1, "details": "d", "recoverable": "no"}},
				"")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := toolresult.Normalize(tc.from)
			says(t, err, "")
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNormalizeStatus(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]toolresult.Status{
		"success": "success", "completed": "success", "ok": "success", " OK\n": "success", "Completed": "success",
		"error": "error", "failed": "error", "failure": "error", "FAILED ": "error",
	} {
		for _, from := range []fields{{"status": word}, {"status": word, "error": "e"}} {
			got, err := toolresult.Normalize(from)
			if err != nil || got.Status != want || got.Data["status"] != nil {
				t.Errorf("%v: %+v, error %v", from, got, err)
			}
		}
	}
}

func TestNormalizeRefuses(t *testing.T) {
	t.Parallel()
	deep := any(1)
	for range 10_001 {
		deep = []any{deep}
	}
	itself := fields{}
	itself["a"] = []any{itself, itself}
	const not, tooDeep = "tool result must be map or StandardToolResult, got ", "tool result is nested too deeply, or contains itself"
	for name, tc := range map[string]struct {
		from any
		want string
	}{
		"nil":              {nil, not + "<nil>"},
		"text":             {"ok", not + "string"},
		"list":             {[]any{}, not + "[]interface {}"},
		"map by numbers":   {map[int]any{}, not + "map[int]interface {}"},
		"nil result":       {(*toolresult.Result)(nil), not + "*toolresult.Result"},
		"not valid":        {toolresult.Result{Status: "error"}, "error field is required when status is 'error'"},
		"too deep":         {fields{"a": deep}, tooDeep},
		"contains itself":  {itself, tooDeep},
		"result that does": {toolresult.Success(itself, ""), tooDeep},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := toolresult.Normalize(tc.from)
			says(t, err, tc.want)
			if diff := cmp.Diff(toolresult.Result{}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// own is a type with its own JSON encoding.
type own struct {
	Big  int64     `json:"big"`
	When time.Time `json:"when"`
}

// everything is data with every type that has separate copy code.
func everything() fields {
	return fields{
		"map": fields{"a": fields{"b": "c"}}, "list": []any{fields{"a": "b"}, []any{"c"}}, "texts": []string{"a"},
		"maps": []fields{{"a": "b"}}, "pairs": map[string]string{"a": "b"}, "number": json.Number("1.0"),
		"int": 1, "float": 1.5, "yes": true, "null": nil, "nil list": []any(nil), "nil map": fields(nil),
	}
}

// The result of Normalize and its argument share no data.
func TestNormalizeCopies(t *testing.T) {
	t.Parallel()
	for name, wrap := range map[string]func(fields) any{
		"fields": func(d fields) any { return d },
		"data":   func(d fields) any { return fields{"data": d} },
		"result": func(d fields) any { return toolresult.Success(d, "") },
		"details": func(d fields) any {
			return toolresult.Failure(&toolresult.Error{Type: "T", Message: "m", Details: d}, "")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := everything()
			from := wrap(data)
			result, err := toolresult.Normalize(from)
			says(t, err, "")
			if diff := cmp.Diff(wrap(everything()), from); diff != "" {
				t.Errorf("Normalize changed what it was given:\n%s", diff)
			}
			got := result.Data
			if result.Error != nil {
				got = result.Error.Details
			}
			for key := range data {
				spoil(data[key])
				delete(data, key)
			}
			if diff := cmp.Diff(everything(), got); diff != "" {
				t.Errorf("what it returned has changed:\n%s", diff)
			}
		})
	}
}

// spoil changes a value in every possible place.
func spoil(v any) {
	switch v := v.(type) {
	case fields:
		for key := range v {
			spoil(v[key])
			v[key] = "spoilt"
		}
	case map[string]string:
		for key := range v {
			v[key] = "spoilt"
		}
	case []any:
		for i := range v {
			spoil(v[i])
			v[i] = "spoilt"
		}
	case []fields:
		for _, one := range v {
			spoil(one)
		}
	case []string:
		for i := range v {
			v[i] = "spoilt"
		}
	}
}

// Values of other types are converted through their JSON.
func TestNormalizeOtherTypes(t *testing.T) {
	t.Parallel()
	got, err := toolresult.Normalize(fields{
		"own": own{Big: math.MaxInt64, When: time.Unix(0, 0).UTC()}, "ints": []int{1}, "raw": json.RawMessage(`{"a":1.50}`),
		"nan": math.NaN(), "no number": json.Number("1x"), "error": "e", "errors": []any{errors.New("x"), fmt.Errorf("y")},
		"channel": make(chan int), "status": toolresult.StatusError, "panics": panics{},
	})
	says(t, err, "")
	want := toolresult.Result{
		Status: "error", Error: &toolresult.Error{Type: "ToolError", Message: "e"},
		Data: fields{
			"own": fields{"big": json.Number("9223372036854775807"), "when": "1970-01-01T00:00:00Z"}, "ints": []any{json.Number("1")},
			"raw": fields{"a": json.Number("1.50")}, "nan": "NaN", "no number": "1x", "errors": []any{"x", "y"},
			"channel": "(chan int)", "panics": "%!v(PANIC=Error method: no)",
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func FuzzNormalize(f *testing.F) {
	for _, seed := range []string{
		`null`, `[1]`, `{}`, `{"status":"ok","data":{"data":{}}}`,
		`{"status":" Failed","error":{"type":"T","details":{"details":null},"code":1e999}}`,
		`{"error":null,"message":"m","signal":"s"}`, `{"error":{"error_type":1,"message":"","recoverable":"x"},"error_type":"T"}`,
		`{"status":"success","error":null,"data":null,"x":-0}`,
		`{"error":[],"recoverable":true,"items_explored":["a"],"evidence":[{"confidence":"x"}]}`,
	} {
		f.Add([]byte(seed), true)
		f.Add([]byte(seed), false)
	}
	f.Fuzz(func(t *testing.T, text []byte, exact bool) {
		v, err := decode(text, exact)
		if err != nil {
			return
		}
		r, err := toolresult.Normalize(v)
		if _, isMap := v.(fields); !isMap {
			says(t, err, fmt.Sprintf("tool result must be map or StandardToolResult, got %T", v))
			return
		}
		says(t, err, "")
		says(t, r.Validate(), "")
		checkAgain(t, r, r)
		checkAgain(t, &r, r)
		toolresult.Evidence(r.Data)
		back, err := decode(marshal(t, r), exact)
		if err != nil {
			return // one level deeper than JSON allows
		}
		checkAgain(t, back, r)
		if text := r.Text(); r.Message == "" && text != string(marshal(t, r)) {
			t.Errorf("text is %s", text)
		}
	})
}

func decode(text []byte, exact bool) (v any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	if exact {
		decoder.UseNumber()
	}
	err = decoder.Decode(&v)
	return v, err
}

func marshal(t *testing.T, r toolresult.Result) []byte {
	t.Helper()
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(r); err != nil {
		t.Fatal(err)
	}
	return bytes.TrimSpace(text.Bytes())
}

// checkAgain checks that normalizing from restores want.
func checkAgain(t *testing.T, from any, want toolresult.Result) {
	t.Helper()
	got, err := toolresult.Normalize(from)
	says(t, err, "")
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("normalised again (-want +got):\n%s", diff)
	}
}
