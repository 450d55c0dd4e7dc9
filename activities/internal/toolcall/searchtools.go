package toolcall

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/toolsearch"
)

const (
	foundByDefault = 5   // tools that a search finds at most, unless the model asks for another number
	maxFoundText   = 200 // bytes of each tool's description, because the next request has all of it
)

// searchTools finds tools that the agent may use. The result lists them, and the journal keeps their names: later requests depend on
// these, and not on the index.
func (c *toolCall) searchTools(arguments json.RawMessage) tool.Result {
	var in struct {
		Query string `json:"query"`
		Limit int    `json:"limit"`
	}
	if err := json.Unmarshal(arguments, &in); err != nil { // the schema has been checked
		return tool.Failure(tool.ErrorInvalidArguments, "The arguments do not match the schema.")
	}
	specs := c.Tools.Findable()
	found := toolsearch.New(searchable(specs)).Search(in.Query, cmp.Or(in.Limit, foundByDefault))
	if len(found) == 0 {
		return tool.Success("No tool matches the query. Use other words for the action, the system or the kind of object. " +
			"Your instructions list the names of the tools.")
	}
	var text strings.Builder
	fmt.Fprintf(&text, "You can call these tools from your next reply on (%d found):", len(found))
	result := tool.Result{Status: tool.StatusSuccess}
	for _, n := range found {
		about := strings.Join(strings.Fields(tool.ValidText(specs[n].Description)), " ")
		fmt.Fprintf(&text, "\n- %s: %s", tool.WireName(specs[n].Name), clip.Text(about, maxFoundText))
		result.Found = append(result.Found, specs[n].Name)
	}
	result.Content = text.String()
	return result
}

// searchable returns tools with the names of their parameters, in the form of the index.
func searchable(specs []tool.Spec) []toolsearch.Tool {
	all := make([]toolsearch.Tool, len(specs))
	for n, spec := range specs {
		var schema struct {
			Properties map[string]json.RawMessage `json:"properties"`
		}
		_ = json.Unmarshal(spec.Schema, &schema) // a tool without a readable schema is found by its name and description
		all[n] = toolsearch.Tool{
			Name: spec.Name, Description: spec.Description, Parameters: slices.Sorted(maps.Keys(schema.Properties)),
		}
	}
	return all
}
