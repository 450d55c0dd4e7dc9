// Package builtin implements Inquest's built-in tools.
package builtin

import (
	"context"

	"github.com/inquest-dev/inquest/internal/tool"
)

// Tool is a built-in tool, ready to run.
type Tool struct {
	Spec tool.Spec
	// Run makes one call. Every error is in the result, including the end of ctx; the caller checks ctx for that.
	Run func(ctx context.Context, call tool.Call) tool.Result
}
