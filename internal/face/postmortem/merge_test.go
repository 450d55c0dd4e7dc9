package postmortem_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/inquest-dev/inquest/internal/face/postmortem"
)

func sections(texts ...string) (all []postmortem.Section) {
	for n, text := range texts {
		all = append(all, postmortem.Section{Key: string(rune('a' + n)), Title: "Part " + string(rune('A'+n)), Text: text})
	}
	return all
}

// What people have written stays, wherever they have written it. What they have not touched is drafted again.
func TestUpdate(t *testing.T) {
	t.Parallel()
	first := postmortem.New("w x:1", "Title", sections("one", "two", "three"))
	for name, tt := range map[string]struct {
		edit func(string) string
		now  []postmortem.Section
		want func(string) string // from the fresh document of now
		kept []string
	}{
		"nothing changed": {same, sections("one", "two", "three"), same, nil},
		"new drafts":      {same, sections("1", "2", "3"), same, nil},
		"an edited section, whose draft is the same": {replaced("two", "mine"), sections("one", "two", "3"), func(s string) string {
			return strings.Replace(s, "two", "mine", 1)
		}, nil},
		"text around, and another order": {func(s string) string { return strings.Replace(s, "# Title", "# Mine\n\nWe were slow.", 1) },
			sections("1", "two", "three"), replaced("# Title", "# Mine\n\nWe were slow."), nil},
		"blanks and ends of lines of an editor": {func(s string) string { return strings.ReplaceAll(s, "\n", "  \r\n") },
			sections("one", "two", "three"), func(s string) string { return "" }, nil},
	} {
		got, kept, err := postmortem.Update(tt.edit(first), "w x:1", tt.now)
		want := tt.want(postmortem.New("w x:1", "Title", tt.now))
		if err != nil || want != "" && got != want || len(kept) != len(tt.kept) {
			t.Errorf("%s: kept %q, %v (-want +got):\n%s", name, kept, err, cmp.Diff(want, got))
		}
	}

	edited := strings.Replace(first, "two", "mine", 1)
	got, kept, err := postmortem.Update(edited, "w x:1", sections("1", "2", "3"))
	if err != nil || len(kept) != 1 || kept[0] != "Part B" || !strings.Contains(got, "\nmine\n") || !strings.Contains(got, "\n3\n") {
		t.Errorf("an edited section with a new draft: kept %q, %v\n%s", kept, err, got)
	}
	if again, kept, err := postmortem.Update(got, "w x:1", sections("1", "2", "3")); err != nil || again != got || len(kept) != 1 {
		t.Errorf("again: kept %q, %v\n%s", kept, err, cmp.Diff(got, again))
	}

	begin := strings.Index(first, "\n## Part B")
	end := strings.Index(first, "\n## Part C")
	got, _, err = postmortem.Update(first[:begin]+first[end:], "w x:1", sections("1", "2", "3", "4"))
	if err != nil || strings.Contains(got, "Part B") || strings.Count(got, "Part D") != 1 {
		t.Errorf("a removed section and a new one: %v\n%s", err, got)
	}
	if again, _, err := postmortem.Update(got, "w x:1", sections("1", "2", "3", "4")); err != nil || again != got {
		t.Errorf("again: %v\n%s", err, cmp.Diff(got, again))
	}
}

func TestPlain(t *testing.T) {
	t.Parallel()
	title, rest := postmortem.Plain(postmortem.New("w:1", "The title", sections("one", "two")))
	if title != "The title" || rest != "## Part A\n\none\n\n## Part B\n\ntwo" {
		t.Errorf("%q, %q", title, rest)
	}
}

func same(s string) string { return s }

func replaced(old, by string) func(string) string {
	return func(s string) string { return strings.Replace(s, old, by, 1) }
}

func TestForeignDocuments(t *testing.T) {
	t.Parallel()
	first := postmortem.New("w:1", "Title", sections("one", "two"))
	for name, document := range map[string]string{"empty": "", "notes": "# Notes\n", "another": postmortem.New("w:2", "Title", nil)} {
		if _, _, err := postmortem.Update(document, "w:1", sections("one")); !errors.Is(err, postmortem.ErrForeign) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := postmortem.Update(first+postmortem.New("w:2", "T", nil), "w:1", sections("1")); err == nil ||
		!strings.Contains(err.Error(), "several post-mortems") {
		t.Errorf("two in one file: %v", err)
	}
	if got, _, err := postmortem.Update("\ufeff"+first, "w:1", sections("1", "two")); err != nil || !strings.Contains(got, "\n1\n") {
		t.Errorf("a byte order mark: %v\n%s", err, got)
	}
	quoted := strings.Replace(first, "one", "one <!-- inquest:end a --> quoted", 1)
	got, _, err := postmortem.Update(quoted, "w:1", sections("1", "2"))
	if err != nil || !strings.Contains(got, "--> quoted\n<!-- inquest:end a -->") {
		t.Errorf("a line of ours in a text: %v\n%s", err, got)
	}
	open := strings.Replace(first, "<!-- inquest:end a -->", "", 1)
	_, _, err = postmortem.Update(open, "w:1", sections("1", "2"))
	if err == nil || !strings.Contains(err.Error(), "<!-- inquest:end a -->") {
		t.Errorf("a section without an end: %v", err)
	}
}

// No edit outside of the lines of Inquest is ever lost, and a second update changes nothing.
func TestEditsSurvive(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ours := func(s string) bool { return !strings.Contains(s, "inquest:") }
		word := rapid.StringMatching(`[ -~]{0,20}(\n[ -~]{0,20}){0,2}`).Filter(ours)
		drafts := rapid.SliceOfN(word, 1, 4)
		document := strings.Split(postmortem.New("w:1", "T", sections(drafts.Draw(t, "first")...)), "\n")
		at := rapid.IntRange(1, len(document)).Draw(t, "at")
		const mine = "what a person wrote"
		document = append(document[:at], append([]string{mine}, document[at:]...)...)
		edited := strings.Join(document, "\n")
		now := sections(drafts.Draw(t, "second")...)
		got, _, err := postmortem.Update(edited, "w:1", now)
		if err != nil || strings.Count(got, mine) != 1 {
			t.Fatalf("%v\n%s\n→\n%s", err, edited, got)
		}
		if again, _, err := postmortem.Update(got, "w:1", now); err != nil || again != got {
			t.Fatalf("%v\n%s", err, cmp.Diff(got, again))
		}
	})
}
