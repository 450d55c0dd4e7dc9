package archtest

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

var quoted = regexp.MustCompile("`([^`]+)`")

// Each row of "Where would I change …" names at most four places, all of which are there.
func TestWhereToChange(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "| what | where |\n|---|---|\n")
	rows := strings.Split(strings.TrimSpace(table), "\n")
	if len(rows) < 11 {
		t.Fatalf("the table has %d rows", len(rows))
	}
	for _, row := range rows {
		places := quoted.FindAllStringSubmatch(row, -1)
		if len(places) == 0 || len(places) > 4 {
			t.Errorf("%d places: %s", len(places), row)
		}
		for _, place := range places {
			if _, err := os.Stat("../../" + place[1]); err != nil {
				t.Errorf("%s: %v", row, err)
			}
		}
	}
}
