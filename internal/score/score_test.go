package score_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/score"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		assessment string
		score      int
		ok         bool
	}{
		"Good.\n87":                  {"Good.", 87, true},
		"Good.\r\n  +87 \n\n":        {"Good.", 87, true},
		"0":                          {"", 0, true},
		"x\n100":                     {"x", 100, true},
		"x\n101":                     {"x\n101", 0, false},
		"x\n-1":                      {"x\n-1", 0, false},
		"x\n-0":                      {"x", 0, true},
		"87\nthat is it":             {"87\nthat is it", 0, false},
		"Score: 87":                  {"Score: 87", 0, false},
		"x\n87/100":                  {"x\n87/100", 0, false},
		"x\n8 7":                     {"x\n8 7", 0, false},
		"x\n87.5":                    {"x\n87.5", 0, false},
		"x\n**87**":                  {"x\n**87**", 0, false},
		"x\n99999999999999999999999": {"x\n99999999999999999999999", 0, false},
		"":                           {"", 0, false},
	} {
		assessment, n, ok := score.Parse(text)
		if assessment != want.assessment || n != want.score || ok != want.ok {
			t.Errorf("%q: got %q, %d, %v", text, assessment, n, ok)
		}
	}
}

func TestTags(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"":                     nil,
		"premature_conclusion": {"premature_conclusion"},
		"- `wrong_conclusion`: … (incomplete_evidence, wrong_conclusion)": {"incomplete_evidence", "wrong_conclusion"},
		"not_premature_conclusion, premature conclusion":                  nil,
	} {
		if diff := cmp.Diff(want, score.Tags(text)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}
