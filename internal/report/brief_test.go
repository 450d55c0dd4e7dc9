package report_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/report"
)

func TestBriefOf(t *testing.T) {
	t.Parallel()
	steps := []string{"Now: `kubectl rollout undo deployment/inventory`.", "Confirm.", "Then roll out again."}
	for _, test := range []struct {
		name, report string
		want         report.Brief
	}{
		{
			"headings", "# Incident report\n\n## Summary\nThe alert is on checkout.\n\n## Root cause\nThe pool was cut.\n\n- evidence\n\n" +
				"## Remediation\n\n1. Now: `kubectl rollout undo deployment/inventory`.\n2. Confirm.\n3. Then roll out again.\n4. Prevent.\n\n" +
				"## How sure\n**Confidence:** high. It was not tried.",
			report.Brief{Cause: "The pool was cut.", Confidence: "high. It was not tried.", Next: steps},
		},
		{
			"labels", "**Root cause:** The pool\nwas cut.\n\nConfidence: high\n\n**What to do next**:\n\n- Undo it.",
			report.Brief{Cause: "The pool", Confidence: "high", Next: []string{"Undo it."}},
		},
		{
			"labels in a list", "- **Cause:** the pool\n- **Confidence:** medium\n- **Next steps:** undo it",
			report.Brief{Cause: "the pool", Confidence: "medium", Next: []string{"undo it"}},
		},
		{
			"numbered headings", "## 1. Root Cause (likely)\nX.\n\n## 2. Recommended actions\nUndo it.",
			report.Brief{Cause: "X.", Next: []string{"Undo it."}},
		},
		{"the root cause is surer than the summary", "## Summary\nA.\n## Root cause\nB.", report.Brief{Cause: "B."}},
		{"a summary is better than nothing", "## Summary\nA.", report.Brief{Cause: "A."}},
		{"nothing that is known", "All is well.\n\n- a\n- b", report.Brief{}},
		{"a cause as a list", "## Root cause\n- the pool\n- more", report.Brief{Cause: "the pool"}},
		{
			"what is long is cut after a word", "## Cause\n" + strings.Repeat("a word ", 50),
			report.Brief{Cause: strings.TrimSpace(strings.Repeat("a word ", 20)) + " …"},
		},
		{"a label below its heading", "## Root cause\n**Root cause:** X.", report.Brief{Cause: "X."}},
		{"what is long is cut after a sentence", "## Confidence\nhigh. " + strings.Repeat("a word ", 50), report.Brief{Confidence: "high."}},
		{"nothing", "", report.Brief{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, report.BriefOf(test.report)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
