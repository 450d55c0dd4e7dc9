package report_test

import (
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/report"
)

// Whether something was changed stands where people read, not in the JSON alone.
func TestActionsExecuted(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name           string
		said           []*bool
		markdown, html string
	}{
		{"one of two has", []*bool{new(true), new(false)}, "\n**Actions executed:** yes\n", "<strong>Actions executed:</strong> yes"},
		{"none has", []*bool{nil, new(false)}, "\n**Actions executed:** no\n", "<strong>Actions executed:</strong> no"},
		{"nobody has said", []*bool{nil}, "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var stage record.Stage
			for _, said := range test.said {
				stage.Envelope.Agents = append(stage.Envelope.Agents, record.AgentSummary{ActionsExecuted: said})
			}
			r := report.Of(record.Investigation{ID: "i", Report: "# Found"}, []record.Stage{stage}, "i", nil)
			var page strings.Builder
			if err := r.HTML(&page); err != nil {
				t.Fatal(err)
			}
			for text, want := range map[string]string{r.Markdown(): test.markdown, page.String(): test.html} {
				if !strings.Contains(text, want) || want == "" && strings.Contains(text, "Actions") {
					t.Errorf("want %q in\n%s", want, text)
				}
			}
		})
	}
}
