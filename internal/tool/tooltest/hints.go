package tooltest

import (
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// AllHints are all annotations that bear on risk, by the names of the tools that
// the server Hints has: "none", and a letter for each hint that is there, "D" for
// a destructiveHint that is false.
func AllHints() map[string]*mcp.ToolAnnotations {
	all := map[string]*mcp.ToolAnnotations{"none": nil}
	for _, readOnly := range []string{"", "r"} {
		for _, destructive := range []string{"", "d", "D"} {
			for _, idempotent := range []string{"", "i"} {
				hints := &mcp.ToolAnnotations{ReadOnlyHint: readOnly != "", IdempotentHint: idempotent != ""}
				if destructive != "" {
					hints.DestructiveHint = new(destructive == "d")
				}
				all[fmt.Sprintf("t_%s%s%s", readOnly, destructive, idempotent)] = hints
			}
		}
	}
	return all
}
