package inquest

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/toolresult"
	"github.com/inquest-dev/inquest/internal/llm"
)

// TestConvertedTypes checks that public types that are converted by hand have the same fields as the internal ones. The
// compiler checks the others.
func TestConvertedTypes(t *testing.T) {
	t.Parallel()
	for _, pair := range [][2]any{
		{Result{}, toolresult.Result{}}, {ModelMessage{}, agent.Message{}}, {ModelReply{}, llm.Response{}},
		{ModelRequest{}, llm.Request{}},
	} {
		public := fieldsOf(pair[0])
		if _, ok := pair[0].(ModelRequest); ok {
			public["NativeTools"] = true                                         // only for Gemini
			for _, learned := range []string{"Omit", "Thoughts", "Unthinking"} { // from the refusals of servers
				public[learned] = true
			}
		}
		if _, ok := pair[0].(ModelReply); ok {
			for _, ofServers := range []string{"Omitted", "Quoted", "SignedThinking"} { // a program's model has none of these
				public[ofServers] = true
			}
		}
		if _, ok := pair[0].(ModelMessage); ok {
			public["Memory"] = true // a mark for compression
		}
		if diff := cmp.Diff(fieldsOf(pair[1]), public); diff != "" {
			t.Errorf("%T (-internal +public):\n%s", pair[0], diff)
		}
	}
}

func fieldsOf(v any) map[string]bool {
	names := map[string]bool{}
	for _, f := range reflect.VisibleFields(reflect.TypeOf(v)) {
		names[f.Name] = true
	}
	return names
}
