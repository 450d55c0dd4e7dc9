package prompt_test

import (
	"testing"

	"github.com/inquest-dev/inquest/internal/prompt"
)

func TestActionsExecuted(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		rest string
		said *bool
	}{
		"Restarted web-1.\n\nYES":       {"Restarted web-1.", new(true)},
		"Nothing was changed.\nNO\n \n": {"Nothing was changed.", new(false)},
		"Done.\r\n**Yes**":              {"Done.", new(true)},
		"Done.\n`no`.":                  {"Done.", new(false)},
		"Done, YES":                     {"Done, YES", nil},
		"Is it up?\nYES, since 10:02":   {"Is it up?\nYES, since 10:02", nil},
		"YES\nis what they said":        {"YES\nis what they said", nil},
		"NO":                            {"NO", new(false)},
		"":                              {"", nil},
	} {
		rest, said := prompt.ActionsExecuted(text)
		if rest != want.rest || (said == nil) != (want.said == nil) || said != nil && *said != *want.said {
			t.Errorf("%q: %q, %v", text, rest, said)
		}
	}
}
