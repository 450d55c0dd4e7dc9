package markdown_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/kit/markdown"
)

func TestReadable(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, text, want string }{
		{"text", "The disk is full.", "The disk is full."},
		{"text with an object in it", `It said {"a":1}.`, `It said {"a":1}.`},
		{"an empty object", "{}", "{}"},
		{"a list", `["a"]`, `["a"]`},
		{"two objects", `{"a":1}{"b":2}`, `{"a":1}{"b":2}`},
		{"a broken object", `{"a":1`, `{"a":1`},
		{
			"sections in order", `{"root_cause":"The disk is full.","confidence":0.9,"next_steps":["Grow it.","Alert earlier."],"rolledBack":true}`,
			"## Root cause\n\nThe disk is full.\n\n## Confidence\n\n0.9\n\n" +
				"## Next steps\n\n- Grow it.\n- Alert earlier.\n\n## Rolled back\n\ntrue\n",
		},
		{"Markdown in a fence", "```markdown\n# Root cause\nX.\n```", "# Root cause\nX.\n"},
		{"an object in prose", "I judged it.\n\n```json\n{\"cause\":\"x\"}\n```\n\nThat is all.",
			"I judged it.\n\n## Cause\n\nx\n\n\nThat is all."},
		{"an object quoted in a report", "# Root cause\nX.\n```json\n{\"a\":1}\n```", "# Root cause\nX.\n```json\n{\"a\":1}\n```"},
		{"two fences", "```json\n{\"a\":1}\n```\n```json\n{\"b\":1}\n```", "```json\n{\"a\":1}\n```\n```json\n{\"b\":1}\n```"},
		{"code", "```go\nx := 1\n```", "```go\nx := 1\n```"},
		{"a fence", "```json\n{\"cause\": \"x\"}\n```", "## Cause\n\nx\n"},
		{
			"nested", `{"evidence":[{"tool":"logs","quote":"a\nb"},"c"],` + `"impact":{"users":3,"regions":["eu","us"],"deep":{"a":[{}]}},` +
				`"none":[],"open":null}`,
			"## Evidence\n\n- **Tool:** logs; **Quote:** a\n  b\n- c\n\n" +
				"## Impact\n\n- **Users:** 3\n- **Regions:** eu, us\n- **Deep:** `{\"a\":[{}]}`\n\n" +
				"## None\n\nNone.\n\n## Open\n\n–\n",
		},
		{"a large number", `{"trace_id":1915883588174806058}`, "## Trace id\n\n1915883588174806058\n"},
		{"a key without letters", `{"":"x","_":"y"}`, "## \n\nx\n\n## _\n\ny\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, markdown.Readable(test.text)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
