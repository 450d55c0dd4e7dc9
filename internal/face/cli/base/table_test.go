package base

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A question takes one line of a terminal, and a table truncates only its texts.
func TestFit(t *testing.T) {
	t.Parallel()
	inbox := func() [][]string {
		return [][]string{
			{"ID", "QUESTION", "KIND", "STAGE", "TEXT", "EXPIRES IN"},
			{"sample-0a1b2c3d", "q1", "clarification", "plan", strings.Repeat("x", maxShown), "23h59m59s"},
		}
	}
	for name, tt := range map[string]struct{ width, want int }{
		"wide": {200, maxShown}, "as wide as it needs": {15 + 8 + 13 + 5 + maxShown + 10 + 10, maxShown},
		"a bit narrow": {85, 24}, "narrow": {40, minProse},
	} {
		rows, cut := fit(inbox(), tt.width)
		if got := len([]rune(rows[1][slices.Index(rows[0], "TEXT")])); got != tt.want || !slices.Equal(cut, []bool{tt.want < maxShown}) {
			t.Errorf("%s: %d characters are left (cut: %t), want %d", name, got, cut, tt.want)
		}
	}
	calls := [][]string{{"ID", "CALL"}, {strings.Repeat("x", 90), "c1_0"}}
	if calls, _ := fit(calls, 80); !slices.Equal(calls[1], []string{strings.Repeat("x", 90), "c1_0"}) {
		t.Errorf("%q: what people type is never cut", calls[1])
	}
}

// A list fits into 80 columns and breaks no word.
func TestFitList(t *testing.T) {
	t.Parallel()
	rows, cut := fit([][]string{
		strings.Split("ABOUT\tSTATUS\tCHAIN\tSTARTED\tTOOK\tTOKENS\tCALLS\tTOOLS\tCOST\tAGE\tID", "\t"),
		{"checkout answers slowly since the rollout of 12:03", "waiting_approval", "sample", "2026-11-22 17:11:03 UTC", "9.7s", "77169", "14",
			"24", "-", "59m", "sample-20261122-1711"},
		{"日本語日本語日本語日本語日本語日本語日本語", "running", "x", "-", "-", "-", "-", "-", "-", "1d", "x"},
	}, 80)
	var out strings.Builder
	if err := writeColumns(&out, rows, 80); err != nil {
		t.Fatal(err)
	}
	want := `ABOUT                                STATUS            AGE  ID
checkout answers slowly since the…   waiting_approval  59m  sample-20261122-1711
日本語日本語日本語日本語日本語日本…  running           1d   x
`
	if diff := cmp.Diff(want, out.String()); diff != "" || !slices.Equal(cut, []bool{true, true}) {
		t.Error(diff, cut)
	}
}

// A table without texts drops some columns and wraps its last one.
func TestFitLastColumn(t *testing.T) {
	t.Parallel()
	rows, _ := fit([][]string{
		{"TYPE", "ALIAS", "PATTERN", "BUILT-IN TOOLS"},
		{"memgpt_agent", "memgpt", "iterating", "core_memory_append, core_memory_replace, archival_memory_insert"},
	}, 50)
	var out strings.Builder
	if err := writeColumns(&out, rows, 50); err != nil {
		t.Fatal(err)
	}
	want := `TYPE          PATTERN    BUILT-IN TOOLS
memgpt_agent  iterating  core_memory_append,
                         core_memory_replace,
                         archival_memory_insert
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

// The first column names the rows: it stays, also if other tables drop it. The rest fits into 80 columns.
func TestFitKeepsTheFirstColumn(t *testing.T) {
	t.Parallel()
	rows, _ := fit([][]string{
		strings.Split("CHAIN\tENDED\tACCURATE\tPARTLY\tINACCURATE\tINCONCLUSIVE\tTO REVIEW\tSCORE\tCOST\tMEDIAN\tP90", "\t"),
		{"kubernetes-agent-troubleshooting", "12", "7", "2", "1", "1", "2", "81", "$3.10", "1m23s", "4m10s"},
	}, 80)
	var out strings.Builder
	if err := writeColumns(&out, rows, 80); err != nil {
		t.Fatal(err)
	}
	want := `CHAIN                             ENDED  ACCURATE  PARTLY  INACCURATE  MEDIAN
kubernetes-agent-troubleshooting  12     7         2       1           1m23s
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}
