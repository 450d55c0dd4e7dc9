package toolsearch

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// fixture returns the tools of real MCP servers, as those servers list them. Each group names its package and licence.
func fixture(t testing.TB) (tools []Tool, fromNPM int) {
	t.Helper()
	text, err := os.ReadFile("testdata/tools.json")
	if err != nil {
		t.Fatal(err)
	}
	var groups []struct {
		Origin, Licence string
		Tools           []Tool
	}
	if err := json.Unmarshal(text, &groups); err != nil {
		t.Fatal(err)
	}
	for _, g := range groups {
		if g.Licence == "" {
			t.Errorf("%s has no licence", g.Origin)
		}
		if strings.HasPrefix(g.Origin, "npm: ") {
			fromNPM += len(g.Tools)
		}
		tools = append(tools, g.Tools...)
	}
	return tools, fromNPM
}

// minRecall is the measured recall@5, rounded down to whole percents.
const minRecall = 0.82

// TestRecall measures how many of the tools that answer a query are among the first five.
func TestRecall(t *testing.T) {
	t.Parallel()
	tools, fromNPM := fixture(t)
	text, err := os.ReadFile("testdata/queries.txt")
	if err != nil {
		t.Fatal(err)
	}
	index := New(tools)
	queries, sum := 0, 0.0
	for line := range strings.Lines(string(text)) {
		query, answer, ok := strings.Cut(strings.TrimSpace(line), " => ")
		if !ok {
			continue
		}
		var found []string
		for _, n := range index.Search(query, 5) {
			found = append(found, tools[n].Name)
		}
		wanted, hits := strings.Split(answer, ", "), 0
		for _, name := range wanted {
			if !slices.ContainsFunc(tools, func(t Tool) bool { return t.Name == name }) {
				t.Errorf("%s: no tool %s", query, name)
			}
			if slices.Contains(found, name) {
				hits++
			}
		}
		if hits < len(wanted) {
			t.Logf("%s: %v, not all of %v", query, found, wanted)
		}
		queries++
		sum += float64(hits) / float64(len(wanted))
	}
	recall := sum / float64(queries)
	t.Logf("recall@5 = %.3f (%d queries, %d tools, %d of them from npm)", recall, queries, len(tools), fromNPM)
	if recall < minRecall || fromNPM < 300 || queries < 60 {
		t.Errorf("recall@5 is %.3f of %d queries, expected at least %.2f", recall, queries, minRecall)
	}
}

// Equal tools and queries give equal results, in any number of indexes.
func TestDeterministic(t *testing.T) {
	t.Parallel()
	tools, _ := fixture(t)
	want := fmt.Sprint(New(tools).Search("list merge requests of a project", 50))
	for range 2 {
		if got := fmt.Sprint(New(tools).Search("list merge requests of a project", 50)); got != want {
			t.Fatalf("found %s, then %s", want, got)
		}
	}
}

func TestSearch(t *testing.T) {
	t.Parallel()
	tools := []Tool{
		{Name: "jira.getJiraIssue", Description: "Get an issue by its key."},
		{Name: "jira.searchJiraIssuesUsingJql", Description: "Search issues.", Parameters: []string{"jql", "maxResults"}},
		{Name: "db.execute_sql", Description: "Execute SQL queries."},
	}
	index := New(tools)
	for query, want := range map[string]string{
		"getting an issue":  "[0 1]", // endings and the parts of names
		"fetch the issue":   "[0 1]", // a synonym
		"JQL":               "[1]",   // a parameter
		"weather in Berlin": "[]",
		"":                  "[]",
	} {
		if got := fmt.Sprint(index.Search(query, 5)); got != want {
			t.Errorf("%q finds %s, want %s", query, got, want)
		}
	}
	if got := index.Search("issue", 1); len(got) != 1 {
		t.Errorf("limit 1 gives %v", got)
	}
	if got := New(nil).Search("issue", 5); len(got) != 0 {
		t.Errorf("no tools give %v", got)
	}
}
