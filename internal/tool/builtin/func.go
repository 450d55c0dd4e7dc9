package builtin

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"

	"github.com/inquest-dev/inquest/internal/kit/safely"
	"github.com/inquest-dev/inquest/internal/kit/toolresult"
	"github.com/inquest-dev/inquest/internal/tool"
)

// FuncOptions describe a tool that a program has written in Go.
type FuncOptions struct {
	Spec tool.Spec
	// Run makes one call. It returns a value that toolresult.Normalize accepts, or a struct that encodes to such a map
	// in JSON. An error may be a *toolresult.Error.
	Run    func(ctx context.Context, arguments json.RawMessage) (any, error)
	Logger *slog.Logger // for panics
}

// Func returns a tool that a program has written in Go. The return value of Run is normalised to a result, and a panic
// becomes an error result. A call ends when its ctx does, even if Run continues; its return value is then dropped.
func Func(opts FuncOptions) Tool { return Tool{Spec: opts.Spec, Run: function(opts).run} }

type function FuncOptions

// callKey is the key of a call in the context of its Run.
type callKey struct{}

// CallOf returns the call that the ctx of a Run belongs to.
func CallOf(ctx context.Context) (tool.Call, bool) {
	call, ok := ctx.Value(callKey{}).(tool.Call)
	return call, ok
}

func (f function) run(ctx context.Context, call tool.Call) tool.Result {
	result, err := safely.Run(ctx, func() (tool.Result, error) {
		return f.call(context.WithValue(ctx, callKey{}, call), call.Arguments), nil
	}, func(kind, stack string) {
		f.Logger.Error("a tool panicked", "tool", f.Spec.Name, "type", kind, "stack", stack)
	})
	switch {
	case err == nil:
		return result
	case errors.Is(err, safely.ErrCrashed):
		return f.crashed()
	}
	return f.ended(ctx)
}

func (f function) call(ctx context.Context, arguments json.RawMessage) tool.Result {
	value, err := f.Run(ctx, arguments)
	switch {
	case err != nil && ctx.Err() != nil:
		return f.ended(ctx)
	case err != nil:
		return shown(toolresult.Failure(toolresult.FromError(err, true), ""))
	}
	normal, err := toolresult.Normalize(fields(value))
	if err != nil { // the call took effect anyway
		return tool.Final(tool.ErrorTool, fmt.Sprintf("Tool %s ran but did not return a valid result: %v.", f.Spec.Name, err))
	}
	return shown(normal)
}

func (f function) crashed() tool.Result {
	return tool.Final(tool.ErrorTool, fmt.Sprintf("Tool %s crashed. It may have taken effect.", f.Spec.Name))
}

// ended returns the result of a call whose ctx has ended.
func (f function) ended(ctx context.Context) tool.Result {
	if ctx.Err() == context.DeadlineExceeded {
		late := tool.Failure(tool.ErrorTimeout, fmt.Sprintf("Tool %s took too long. It may have taken effect.", f.Spec.Name))
		late.Sent = true
		return late
	}
	return tool.Failure(tool.ErrorOutcomeUnknown, fmt.Sprintf("Tool %s was interrupted. It may have taken effect.", f.Spec.Name))
}

// shown returns a result in the form for the model.
func shown(r toolresult.Result) tool.Result {
	if r.Status == toolresult.StatusError {
		failed := tool.Final(cmp.Or(r.Error.Type, tool.ErrorTool), r.Text())
		failed.Fault = r.Fault()
		return failed
	}
	return tool.Success(r.Text())
}

// fields converts a struct to the map of its JSON. Other values are returned unchanged.
func fields(value any) any {
	switch value.(type) {
	case toolresult.Result, *toolresult.Result:
		return value
	}
	v := reflect.ValueOf(value)
	for v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct {
		return value
	}
	text, err := json.Marshal(value)
	if err != nil {
		return value
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber() // keeps long numbers exact
	var object map[string]any
	if decoder.Decode(&object) != nil {
		return value
	}
	return object
}
