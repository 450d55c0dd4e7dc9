package archtest

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// wings are the folders of internal that only group packages. Each has a table of its own in docs/maintaining/packages.md.
var wings = []string{"face", "kit", "knowledge", "trust"}

// Each package below internal has a row in a table of docs/maintaining/packages.md, or in that of the package that it is in.
func TestPackagesAreDrawn(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/maintaining/packages.md")
	if err != nil {
		t.Fatal(err)
	}
	drawn, wing := map[string]bool{}, ""
	for row := range strings.Lines(string(page)) {
		if m := inWing.FindStringSubmatch(row); m != nil {
			wing = m[1] + "/"
		}
		cells := strings.Split(row, "|")
		if len(cells) < 3 {
			continue
		}
		for _, name := range quoted.FindAllStringSubmatch(cells[1], -1) {
			drawn[wing+strings.TrimPrefix(name[1], "internal/")] = true
		}
	}
	for pkg := range load(t, os.DirFS("../..")) {
		name, inside := strings.CutPrefix(pkg, "internal/")
		depth := 1
		if top, _, _ := strings.Cut(name, "/"); slices.Contains(wings, top) {
			depth = 2
		}
		if parts := strings.Split(name, "/"); inside && len(parts) >= depth {
			name = strings.Join(parts[:depth], "/")
			if !drawn[name] {
				t.Errorf("docs/maintaining/packages.md does not say what internal/%s is for", name)
				drawn[name] = true // the packages within it are no news
			}
		}
	}
}

var inWing = regexp.MustCompile("(?m)^.*, in `internal/([a-z]+)`:$")

var quoted = regexp.MustCompile("`([^`]+)`")

// scattered limits the places of a row of "Where would I change …". A row names every place, however many there are.
var scattered = ratchet{what: "places", most: 4, listed: map[string]int{
	"a kind of entry in the transcript": 7,
	"a provider with its own SDK":       6,
	"a signal that people send":         5,
	"a transport for MCP servers":       6,
}}

// Each place of "Where would I change …" exists, and changes that need many places do not become more.
func TestWhereToChange(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "| what | where |\n|---|---|\n")
	counts := map[string]int{}
	for row := range strings.Lines(strings.TrimSpace(table)) {
		cells := strings.Split(row, "|")
		if len(cells) != 4 {
			t.Fatalf("%d cells: %s", len(cells), row)
		}
		places := quoted.FindAllStringSubmatch(cells[2], -1)
		if len(places) == 0 {
			t.Errorf("no place: %s", row)
		}
		for _, place := range places {
			if _, err := os.Stat("../../" + place[1]); err != nil {
				t.Errorf("%s: %v", row, err)
			}
		}
		counts[strings.TrimSpace(cells[1])] = len(places)
	}
	if len(counts) < 30 {
		t.Fatalf("the table has %d rows", len(counts))
	}
	for _, problem := range scattered.check(counts) {
		t.Error(problem)
	}
}
