package tooltest

import (
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// AllHints returns all annotations that affect risk, by the names of the tools of the server Hints: "none", or a letter
// for each hint, with "D" for a destructiveHint of false.
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
