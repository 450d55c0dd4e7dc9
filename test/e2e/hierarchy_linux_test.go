package e2e

import (
	"regexp"
	"strings"
	"testing"

	sdkpb "go.temporal.io/api/sdk/v1"
)

// details returns a workflow's details in the Temporal UI.
func (w *world) details(workflowID string) string {
	w.t.Helper()
	value, err := w.client().QueryWorkflow(w.t.Context(), workflowID, "", "__temporal_workflow_metadata")
	var metadata sdkpb.WorkflowMetadata
	if err == nil {
		err = value.Get(&metadata)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return metadata.GetCurrentDetails()
}

// Agents, their sub-agents and their sub-agents' sub-agents appear as a tree in every view, during an investigation and after it.
func TestHierarchyIsShown(t *testing.T) {
	t.Parallel()
	w, m := newHierarchy(t)
	w.dev()
	id := w.grown(m, "lead")
	shown := func(where, text string, lines ...string) {
		t.Helper()
		pattern := `(?s)` + strings.Join(lines, `[^\n]*\n`)
		if !regexp.MustCompile(pattern).MatchString(text) {
			t.Errorf("%s has no lines %q:\n%s", where, lines, text)
		}
	}
	v := w.viewer(100, 24, "watch", "lead")
	awaited := regexp.MustCompile(`\d sub-agents? `)
	v.until("shows who waits for whom", func(screen string) bool { return len(awaited.FindAllString(screen, -1)) == 2 })
	shown("watch", v.String(), `Lead         awaiting   2 sub-agents`, `  .   Deep-2     awaiting   1 sub-agent`,
		`  .     Digger-1 model call lab-1`, `  .   Digger-1   model call lab-1`)
	shown("status", w.must("status", "lead"), `\nlook            running`, `  Lead          running`, `    Digger-1    running`,
		`    Deep-2      running`, `      Digger-1  running`)
	for where, lines := range map[string][]string{
		"lead": {`\n\| look \| running \| Lead \(running\)`, `\| ↳ Digger-1 \| running \| of Lead`, `\| ↳ Deep-2 \| running \| of Lead`,
			`\| ↳ ↳ Digger-1 \| running \| of Deep-2`},
		id + "/look": {`\n\| Lead \| running \| lab-1`, `\| ↳ Digger-1 \| running \| lab-1`, `\| ↳ Deep-2 \| running \| lab-1`,
			`\| ↳ ↳ Digger-1 \| running \| lab-1`},
		id + "/look/Lead": {`\n\| ↳ Digger-1 \| running`, `\| ↳ Deep-2 \| running`, `\| ↳ ↳ Digger-1 \| running`},
	} {
		shown(where+" in the Temporal UI", w.details(where), lines...)
	}
	m.answer()
	for range 2 {
		m.dig(t)
		m.answer()
	}
	w.end("lead")
	tree := []string{`\nlook/Lead                 │ ■ completed`, `  Deep-2                  │ ■ completed`,
		`    Digger-1              │ ■ completed`}
	shown("show", w.must("show", "lead"), tree...)
	shown("watch afterwards", w.must("watch", "lead"), tree...)
	shown("status afterwards", w.must("status", "lead"), `  Lead          completed`, `    Digger-1    completed`, `    Deep-2      completed`,
		`      Digger-1  completed`)
	shown("lead in the Temporal UI afterwards", w.details("lead"), `\| look \| completed \| Lead \(completed\) \|`,
		`\| ↳ [^\n]*completed`, `\| ↳ [^\n]*completed`, `\| ↳ [^\n]*completed`)
}
