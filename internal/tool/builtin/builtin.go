// Package builtin holds the tools that Inquest brings with it.
package builtin

import (
	"context"

	"github.com/inquest-dev/inquest/internal/tool"
)

// Tool is a built-in tool, ready to run.
type Tool struct {
	Spec tool.Spec
	// Run runs one call. Whatever goes wrong is in the result, also a ctx that
	// ended: the caller asks ctx for that.
	Run func(ctx context.Context, call tool.Call) tool.Result
}
