package archtest

import (
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

// Each package below internal has a row in the table of docs/maintaining/packages.md, or in that of the package that it is in.
func TestPackagesAreDrawn(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/maintaining/packages.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "## Packages\n")
	drawn := map[string]bool{}
	for row := range strings.Lines(table) {
		cells := strings.Split(row, "|")
		if len(cells) < 3 {
			continue
		}
		for _, name := range quoted.FindAllStringSubmatch(cells[1], -1) {
			drawn[path.Base(name[1])] = true
		}
	}
	for pkg := range load(t, os.DirFS("../..")) {
		if name, inside := strings.CutPrefix(pkg, "internal/"); inside && !strings.Contains(name, "/") && !drawn[name] {
			t.Errorf("docs/maintaining/packages.md does not say what %s is for", pkg)
		}
	}
}

var quoted = regexp.MustCompile("`([^`]+)`")

// Each row of "Where would I change …" names no more than four places, all of which exist.
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
