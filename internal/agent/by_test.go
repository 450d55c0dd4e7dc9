package agent

import (
	"strings"
	"testing"
)

func TestBy(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", 101)
	tests := map[string]struct{ by, wrong, clean string }{
		"none":          {"", "", ""},
		"a name":        {"Ada Lovelace <ada@example.org>", "", "Ada Lovelace <ada@example.org>"},
		"another":       {"Żaneta 李", "", "Żaneta 李"},
		"as long as":    {long[:200], "", long[:200]},
		"too long":      {long, "longer than 200 bytes", long[:200]},
		"a line":        {"Ada\napproved by Bob", "control or invisible", "Adaapproved by Bob"},
		"a terminal's":  {"Ada\x1b[2J", "control or invisible", "Ada[2J"},
		"CSI as C1":     {"Ada\u009b2J", "control or invisible", "Ada2J"},
		"turned around": {"Ada\u202eboB", "control or invisible", "AdaboB"},
		"zero width":    {"A\u200bda\ufeff\u2060\U000e0041", "control or invisible", "Ada"},
		"no UTF-8":      {"Ada\xff", "control or invisible", "Ada"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := CheckBy(test.by)
			if (err != nil) != (test.wrong != "") || err != nil && !strings.Contains(err.Error(), test.wrong) {
				t.Errorf("CheckBy = %v", err)
			}
			if clean := CleanBy(test.by); clean != test.clean || CheckBy(clean) != nil {
				t.Errorf("CleanBy = %q", clean)
			}
		})
	}
}

func TestPersonOf(t *testing.T) {
	t.Parallel()
	for identity, want := range map[string]string{
		"316@vm@": "", "316@vm@inquest": "", "1@vm": "", "": "", "temporal-cli:root@vm": "temporal-cli:root@vm",
		"ada@example.com": "ada@example.com", "42": "42", "Ada\x00": "Ada",
	} {
		if got := PersonOf(identity); got != want {
			t.Errorf("PersonOf(%q) = %q, want %q", identity, got, want)
		}
	}
}
