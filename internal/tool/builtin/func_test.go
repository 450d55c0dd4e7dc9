package builtin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/toolresult"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/tool/builtin"
)

// function is the tool "own", which runs a Go function.
func function(run func(context.Context, json.RawMessage) (any, error), log *bytes.Buffer) builtin.Tool {
	return builtin.Func(builtin.FuncOptions{
		Spec: tool.Spec{Name: "own"}, Run: run, Logger: slog.New(slog.NewTextHandler(log, nil)),
	})
}

// bomb panics when it is encoded as JSON.
type bomb struct{ Data int }

func (bomb) MarshalJSON() ([]byte, error) { panic("sk-secret") }

func TestFuncResults(t *testing.T) {
	t.Parallel()
	type pod struct {
		Name string `json:"name"`
		UID  int64  `json:"uid"`
	}
	for name, tc := range map[string]struct {
		value any
		err   error
		want  tool.Result
	}{
		"map":     {map[string]any{"pods": 2, "status": "Completed"}, nil, tool.Success(`{"status":"success","data":{"pods":2}}`)},
		"message": {map[string]any{"message": "done"}, nil, tool.Success("done")},
		"struct":  {pod{"web", 9007199254740993}, nil, tool.Success(`{"status":"success","data":{"name":"web","uid":9007199254740993}}`)},
		"pointer": {&pod{"web", 1}, nil, tool.Success(`{"status":"success","data":{"name":"web","uid":1}}`)},
		"result":  {toolresult.Success(nil, "yes"), nil, tool.Success("yes")},
		"failed map": {map[string]any{"status": "failed", "error": "no disk"}, nil,
			tool.Final("ToolError", `{"status":"error","error":{"error_type":"ToolError","message":"no disk","recoverable":false}}`)},
		"failed result": {toolresult.Failure(&toolresult.Error{Message: "x"}, ""), nil,
			tool.Final("ToolError", `{"status":"error","error":{"error_type":"","message":"x","recoverable":false}}`)},
		"invalid result": {toolresult.Result{}, nil,
			tool.Final("ToolError", `Tool own ran but did not return a valid result: invalid tool status "": must be success or error.`)},
		"error": {nil, errors.New("no route"),
			tool.Failure("ToolError", `{"status":"error","error":{"error_type":"ToolError","message":"no route","recoverable":true}}`)},
		"typed error": {nil, fmt.Errorf("look: %w", toolresult.NotFound("pod", "web")),
			tool.Final("NotFoundError",
				`{"status":"error","error":{"error_type":"NotFoundError","message":"look: pod 'web' not found","recoverable":false}}`)},
		"when": {
			toolresult.Failure(&toolresult.Error{Type: "Quota", Message: "full", Details: map[string]any{"retry_after": "1m30s", "left": 0},
				Recoverable: true}, ""), nil,
			tool.Result{
				Status: "error", ErrorType: "Quota",
				Content: `{"status":"error","error":{"error_type":"Quota","message":"full","details":{"left":0,"retry_after":"1m30s"},` +
					`"recoverable":true}}`,
				Fault: agent.Fault{Recoverable: true, RetryAfter: 90, Details: json.RawMessage(`{"left":0,"retry_after":"1m30s"}`)},
			},
		},
		"error wins": {map[string]any{}, errors.New("x"),
			tool.Failure("ToolError", `{"status":"error","error":{"error_type":"ToolError","message":"x","recoverable":true}}`)},
		"nothing": {nil, nil,
			tool.Final("ToolError", "Tool own ran but did not return a valid result: tool result must be map or StandardToolResult, got <nil>.")},
		"text": {"pods", nil,
			tool.Final("ToolError", "Tool own ran but did not return a valid result: tool result must be map or StandardToolResult, got string.")},
		"not an object": {time.Time{}, nil,
			tool.Final("ToolError",
				"Tool own ran but did not return a valid result: tool result must be map or StandardToolResult, got time.Time.")},
		"nil struct": {(*pod)(nil), nil,
			tool.Final("ToolError",
				"Tool own ran but did not return a valid result: tool result must be map or StandardToolResult, got *builtin_test.pod.")},
		"no JSON": {struct{ F func() }{}, nil,
			tool.Final("ToolError",
				"Tool own ran but did not return a valid result: tool result must be map or StandardToolResult, got struct { F func() }.")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			own := function(func(context.Context, json.RawMessage) (any, error) { return tc.value, tc.err }, &bytes.Buffer{})
			if diff := cmp.Diff(tc.want, own.Run(t.Context(), tool.Call{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestFuncCrashes checks that a crash affects nothing else, and that the panic's value is not revealed.
func TestFuncCrashes(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]func(context.Context, json.RawMessage) (any, error){
		"panic": func(context.Context, json.RawMessage) (any, error) { panic("sk-secret") },
		//lint:ignore SA5000 the test needs a crash
		"nil map":          func(context.Context, json.RawMessage) (any, error) { var m map[string]int; m["x"]++; return nil, nil },
		"in its result":    func(context.Context, json.RawMessage) (any, error) { return bomb{}, nil },
		"goroutine's exit": func(context.Context, json.RawMessage) (any, error) { runtime.Goexit(); return nil, nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			got := function(run, &log).Run(t.Context(), tool.Call{})
			if diff := cmp.Diff(tool.Final(tool.ErrorTool, "Tool own crashed. It may have taken effect."), got); diff != "" {
				t.Error(diff)
			}
			if strings.Contains(log.String(), "sk-secret") || strings.Contains(log.String(), "func_test.go") != (name != "goroutine's exit") {
				t.Errorf("logged: %s", &log)
			}
		})
	}
}

func TestFuncEndsWithItsContext(t *testing.T) {
	t.Parallel()
	forever := make(chan struct{})
	for name, run := range map[string]func(context.Context, json.RawMessage) (any, error){
		"tool that listens":  func(ctx context.Context, _ json.RawMessage) (any, error) { <-ctx.Done(); return nil, ctx.Err() },
		"tool that does not": func(context.Context, json.RawMessage) (any, error) { <-forever; return nil, nil },
		"tool with its own word": func(ctx context.Context, _ json.RawMessage) (any, error) {
			<-ctx.Done()
			return nil, errors.New("gone")
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				forever = make(chan struct{}) // of this bubble
				defer close(forever)
				own := function(run, &bytes.Buffer{})
				late, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				if got := own.Run(late, tool.Call{}); got.ErrorType != tool.ErrorTimeout {
					t.Errorf("got %+v", got)
				}
				gone, cancel := context.WithCancel(t.Context())
				time.AfterFunc(time.Second, cancel)
				if got := own.Run(gone, tool.Call{}); got.ErrorType != tool.ErrorOutcomeUnknown {
					t.Errorf("got %+v", got)
				}
			})
		})
	}
}

func TestFuncKnowsItsCall(t *testing.T) {
	t.Parallel()
	call := tool.Call{Name: "own", Key: "i/s/a/3/0", Execution: "s/a", Arguments: json.RawMessage(`{"n":1}`)}
	own := function(func(ctx context.Context, arguments json.RawMessage) (any, error) {
		got, ok := builtin.CallOf(ctx)
		if diff := cmp.Diff(call, got); !ok || diff != "" || string(arguments) != `{"n":1}` {
			t.Error(ok, diff, string(arguments))
		}
		return map[string]any{}, nil
	}, &bytes.Buffer{})
	if got := own.Run(t.Context(), call); got.Status != tool.StatusSuccess {
		t.Errorf("got %+v", got)
	}
	if _, ok := builtin.CallOf(t.Context()); ok {
		t.Error("there is a call where there is none")
	}
}
