package configuration

import (
	"os"
	"strings"
	"testing"
)

// TestEveryHazardHasAFixture is needed because TestEveryRuleHasAFixture only sees the format of hazards.
func TestEveryHazardHasAFixture(t *testing.T) {
	t.Parallel()
	fixture, err := os.ReadFile("testdata/rules/dangers.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range hazards {
		if said := string(h.severity) + ": "; !strings.Contains(string(fixture), h.what+"; instead: "+h.instead) ||
			!strings.Contains(string(fixture), said) {
			t.Errorf("no fixture has %q", h.what)
		}
	}
	for _, field := range fieldsOfHazards() {
		if keyOf(field) == "" {
			t.Errorf("%s is no field of the configuration", field)
		}
	}
}

func fieldsOfHazards() (all []string) {
	for _, h := range hazards {
		all = append(all, h.fields...)
	}
	return all
}
