package logline_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/sample/logline"
)

func TestParseLine(t *testing.T) {
	t.Parallel()
	const ts = "2026-01-01T10:00:00.5Z"
	tests := []struct {
		name, raw string
		want      map[string]string // nil means not a log line
	}{
		{"json", `{"ts":"` + ts + `","level":"warn","n":12345678,"ok":true}`,
			map[string]string{"ts": ts, "level": "warn", "n": "12345678", "ok": "true"}},
		{"logfmt", `ts=` + ts + ` level=info msg="a \"b\" = c" empty= n=1`, map[string]string{"ts": ts, "level": "info", "msg": `a "b" = c`,
			"empty": "", "n": "1"}},
		{"open quote", `ts=` + ts + ` level=info msg="a b`, map[string]string{"ts": ts, "level": "info", "msg": `"a`}},
		{"cut json", `{"ts":"` + ts, nil},
		{"no level", "ts=" + ts, nil},
		{"unknown level", "ts=" + ts + " level=loud", nil},
		{"text", "panic: x = y", nil},
		{"nothing", "", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			line, ok := logline.ParseLine(test.raw)
			if diff := cmp.Diff(test.want, line.Fields); diff != "" || ok != (test.want != nil) {
				t.Errorf("ok %v (-want +got):\n%s", ok, diff)
			}
		})
	}
}
