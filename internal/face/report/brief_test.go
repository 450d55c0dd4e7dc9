package report_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/face/report"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
)

func TestBriefOf(t *testing.T) {
	t.Parallel()
	steps := []string{"Now: `kubectl rollout undo deployment/inventory`.", "Confirm.", "Then roll out again."}
	for _, test := range []struct {
		name, report string
		want         system.Brief
	}{
		{
			"headings", "# Incident report\n\n## Summary\nThe alert is on checkout.\n\n## Root cause\nThe pool was cut.\n\n- evidence\n\n" +
				"## Remediation\n\n1. Now: `kubectl rollout undo deployment/inventory`.\n2. Confirm.\n3. Then roll out again.\n4. Prevent.\n\n" +
				"## How sure\n**Confidence:** high. It was not tried.",
			system.Brief{Cause: "The pool was cut.", Confidence: "high. It was not tried.", Next: steps},
		},
		{
			"labels", "**Root cause:** The pool\nwas cut.\n\nConfidence: high\n\n**What to do next**:\n\n- Undo it.",
			system.Brief{Cause: "The pool was cut.", Confidence: "high", Next: []string{"Undo it."}},
		},
		{
			"labels in a list", "- **Cause:** the pool\n- **Confidence:** medium\n- **Next steps:** undo it",
			system.Brief{Cause: "the pool", Confidence: "medium", Next: []string{"undo it"}},
		},
		{
			"numbered headings", "## 1. Root Cause (likely)\nX.\n\n## 2. Recommended actions\nUndo it.",
			system.Brief{Cause: "X.", Next: []string{"Undo it."}},
		},
		{
			"a JSON object", `{"root_cause":"The pool was cut.","confidence":"high","next_steps":["Undo it."]}`,
			system.Brief{Cause: "The pool was cut.", Confidence: "high", Next: []string{"Undo it."}},
		},
		{"the root cause is surer than the summary", "## Summary\nA.\n## Root cause\nB.", system.Brief{Cause: "B."}},
		{"a summary is better than nothing", "## Summary\nA.", system.Brief{Cause: "A."}},
		{"nothing that is known", "All is well.\n\n- a\n- b", system.Brief{}},
		{"a cause as a list", "## Root cause\n- the pool\n- more", system.Brief{Cause: "the pool"}},
		{
			"long sentences are whole", "## Cause\n" + strings.Repeat("a word ", 50) + "\n## Confidence\nhigh. " + strings.Repeat("a word ", 50),
			system.Brief{Cause: strings.Repeat("a word ", 49) + "a word", Confidence: "high. " + strings.Repeat("a word ", 49) + "a word"},
		},
		{"a label below its heading", "## Root cause\n**Root cause:** X.", system.Brief{Cause: "X."}},
		{
			"names that say something else", "## Summary\nThe pool.\n## Causes ruled out\n- a deploy\n## Immediate impact\nNo orders.\n" +
				"## Actions taken\n- Woke Ada.\n## Fix already applied\n- none\n**Hypothesis rejected:** a leak",
			system.Brief{Cause: "The pool."},
		},
		{
			"names that say it, and more", "## Root cause and impact\nThe pool.\n## Actions to be taken\n- Undo it.",
			system.Brief{Cause: "The pool.", Next: []string{"Undo it."}},
		},
		{
			"a step keeps its conditions", "## Next\n- Delete the volume db-1. But only after the snapshot" + strings.Repeat(" of it", 20) +
				"\n- Delete db-2.\n\n  But only then.\n- Delete db-3:\n  - if it is empty",
			system.Brief{Next: []string{"Delete the volume db-1. But only after the snapshot" + strings.Repeat(" of it", 20),
				"Delete db-2.\n\nBut only then.", "Delete db-3:\n\n- if it is empty"}},
		},
		{
			"a condition in a paragraph of its own", "## Next\nDelete db-1.\n\nBut only then.\n\n---",
			system.Brief{Next: []string{"Delete db-1.\n\nBut only then."}},
		},
		{
			"a condition in the next line", "**Next:** Delete db-1.\nBut only then.",
			system.Brief{Next: []string{"Delete db-1. But only then."}},
		},
		{
			"long code is whole", "## Cause\nIt ran `rm -rf " + strings.Repeat("/x ", 50) + "--dry-run`.",
			system.Brief{Cause: "It ran `rm -rf " + strings.Repeat("/x ", 50) + "--dry-run`."},
		},
		{
			"a step keeps its commands", "## Next\n1. **Roll back** the deployment (safest):\n\n   ```bash\n   kubectl rollout undo \\\n" +
				"     deploy/web\n   ```\n   Then wait.\n2. Run `kubectl get pods`.\n3. Apply:\n\n       kubectl apply -f a\n",
			system.Brief{Next: []string{
				"**Roll back** the deployment (safest):\n\n```\nkubectl rollout undo \\\n  deploy/web\n```\n\nThen wait.",
				"Run `kubectl get pods`.", "Apply:\n\n```\nkubectl apply -f a\n```",
			}},
		},
		{
			"a command without a list", "## Remediation\nRoll back:\n\n~~~sh\necho '```'\n~~~\n\n| a | b |\n|---|---|\n| c | d |",
			system.Brief{Next: []string{"Roll back:\n\n````\necho '```'\n````\n\n…"}},
		},
		{
			"a step says that it leaves out much", "## Next\n1. Apply:\n   ```yaml\n" + strings.Repeat("   - a\n", 20) +
				"   ```\n2. Look:\n   1. a\n\n      b",
			system.Brief{Next: []string{"Apply: …", "Look: …"}},
		},
		{
			"a report in a fence", "```markdown\n## Cause\nThe pool.\n## Next\nRun:\n```bash\nls\n```\n```",
			system.Brief{Cause: "The pool.", Next: []string{"Run:\n\n```\nls\n```"}},
		},
		{
			"bold lines as headings", "It restarted.\n\n**Root cause**\nThe limit.\n\n**Confidence**:\nhigh\n\n**Evidence**\n- logs\n\n" +
				"__Next steps__\n1. Undo it.\n2. Raise it.",
			system.Brief{Cause: "The limit.", Confidence: "high", Next: []string{"Undo it.", "Raise it."}},
		},
		{
			"a confidence beside the cause", "**Cause**: the release cut the pool. **Confidence:** high (two sources).",
			system.Brief{Cause: "the release cut the pool.", Confidence: "high (two sources)."},
		},
		{
			"a confidence in brackets", "## Cause\nThe pool (medium confidence).",
			system.Brief{Cause: "The pool (medium confidence).", Confidence: "medium"},
		},
		{"a confidence in something else", "## Cause\nThe pool.\n## Evidence\nA guess (low confidence).", system.Brief{Cause: "The pool."}},
		{"what the agent says of a check", "**Checked by code: 9 of 9 stand.**\n\n## Cause\nX.", system.Brief{Cause: "X."}},
		{"nothing", "", system.Brief{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, report.BriefOf(record.Investigation{Report: test.report}, nil)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestBriefMarkdown checks that the further lines of a step stay in it.
func TestBriefMarkdown(t *testing.T) {
	t.Parallel()
	got := system.Brief{Cause: "X.", Next: []string{"Roll back:\n\n```\nkubectl undo \\\n  web\n```", "Wait."}}.Markdown()
	const want = "\n- **Cause:** X.\n- **Next:**\n  1. Roll back:\n\n     ```\n     kubectl undo \\\n       web\n     ```\n  2. Wait.\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestImpact(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"# Cause\n\nx\n\n## Customer impact\n\nOrders failed.\n\n- 3 %\n- EU only\n\n# Next\n\ny": "Orders failed.\n- 3 %\n- EU only",
		"**Impact:** Orders failed.":                                "Orders failed.",
		"The pool is full.\nImpact: orders failed for 12 minutes.":  "orders failed for 12 minutes.",
		"# Ruled out: network impact\n\nNone.\n\n# Affected\n\nEU.": "EU.",
		"# Who was affected?\n\n- EU\n- US":                         "- EU\n- US",
		"# Impact\n\n| a |\n|---|\n| b |":                           "",
		"# Cause\n\nThe impact is not known.":                       "",
		`{"impact":"Orders failed.","cause":"x"}`:                   "Orders failed.",
		"": "",
	} {
		if got := report.Impact(record.Investigation{Report: text}); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
