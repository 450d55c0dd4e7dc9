package memory

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/tool"
)

// Call runs one call of a memory tool. Errors in the call become a result for the model (spec: agents, "Memory"); the returned
// error is the transaction's. A call makes at most one change, as its last action, so that a failed change leaves nothing behind.
func Call(ctx context.Context, tx Tx, name, arguments string) (tool.Result, error) {
	for _, t := range tools() {
		if t.spec.Name != name {
			continue
		}
		args, refusal := parse(arguments, t.required)
		if refusal != nil {
			return *refusal, nil
		}
		return t.run(ctx, tx, args)
	}
	return tool.Failure(tool.ErrorUnknownTool, fmt.Sprintf("Unknown tool %q.", name)), nil
}

// args are the arguments of a call. All required arguments are present and are text.
type args struct {
	texts map[string]string
	page  int
}

func parse(arguments string, required []string) (args, *tool.Result) {
	if strings.TrimSpace(arguments) == "" {
		arguments = "{}"
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal([]byte(arguments), &raw); err != nil {
		return args{}, invalid("Error: the arguments are not a JSON object")
	}
	out := args{texts: map[string]string{}}
	for _, name := range required {
		text, refusal := textArg(name, raw[name])
		if refusal != nil {
			return args{}, refusal
		}
		out.texts[name] = text
	}
	page, ok := pageArg(raw["page"])
	if !ok {
		return args{}, invalid("Error: parameter 'page' must be a non-negative integer")
	}
	out.page = page
	return out, nil
}

func textArg(name string, raw json.RawMessage) (string, *tool.Result) {
	var text *string
	if len(raw) > 0 && json.Unmarshal(raw, &text) != nil {
		return "", invalid("Error: parameter '%s' must be text", name)
	}
	if text == nil || *text == "" && !mayBeEmpty(name) {
		return "", invalid("Error: missing required parameter '%s'", name)
	}
	return *text, nil
}

// mayBeEmpty reports whether an argument may be empty: an empty new content deletes, an empty query finds nothing, and an empty old
// content is never found.
func mayBeEmpty(name string) bool {
	return name == paramNew || name == paramQuery || name == paramOld
}

func pageArg(raw json.RawMessage) (page int, ok bool) {
	n := 0.0 // models also write 1.0
	if len(raw) > 0 && json.Unmarshal(raw, &n) != nil {
		return 0, false
	}
	return int(min(n, math.MaxInt32)), n >= 0 && n == math.Trunc(n)
}

func invalid(format string, values ...any) *tool.Result {
	result := tool.Failure(tool.ErrorInvalidArguments, fmt.Sprintf(format, values...))
	return &result
}

func failure(format string, values ...any) tool.Result {
	return tool.Failure(tool.ErrorTool, fmt.Sprintf(format, values...))
}

// IsTool reports whether Call knows the tool.
func IsTool(name string) bool {
	return slices.ContainsFunc(tools(), func(t memoryTool) bool { return t.spec.Name == name })
}
