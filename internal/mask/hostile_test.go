package mask

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// parts are everything that the scanners look at: their keywords, and what stands around keywords.
func parts() []string {
	out := []string{
		"a", "x1", "{", "}", "[", "]", "(", ")", "<", ">", `"`, `'`, "`", `\`, `\"`, `\n`, ":", "=", "=>", ":=", "@", "://", "-", "--", "- ", "_", ".", ",", ";", "&", "|", "#", "%3D", "%22", "*",
		" ", "  ", "\t", "\n", "\r\n", "\n  ", "---\n", "|\n", ">-", "null", "true", "${A}", "{{", "}}", "[MASKED", "[MASKED_X]", "[MASKED_TOKEN]", "é", "\xff", "\x00",
		"kind", "Secret", "SecretList", "data", "stringData", "apiVersion", "v1", "type", "Opaque", "name", "value", "key", "export", "arn:aws:",
		"-----BEGIN ", "-----END ", "PRIVATE KEY", "OPENSSH", "-----", "-----BEGIN X-----", "@tcp(", "@unix(", ":@tcp(", "-u ", "--user", "-u a:", "Bearer ", "Basic ", "a@b.cc", "git@",
		"S3cr3tS3cr3tS3cr3tS3cr3t", "S3cr3tS3cr3tS3cr3tS3cr3t==", "is", " was ",
	}
	for _, n := range keyNames {
		out = append(out, n.end, n.end+":", n.end+": a ", n.end+"=")
	}
	for _, f := range forms {
		out = append(out, f.prefix)
	}
	for _, s := range schemes {
		out = append(out, s+" ")
	}
	for _, s := range databases {
		out = append(out, s+"://")
	}
	return append(out, pemHeaders...)
}

// units are what takes long if a scanner goes back for it, or needs many rounds.
var units = []string{
	"a://b:c@", "eyJ-", "eyJ.", "-----BEGIN X----- a ", "password: [ ", "password: |", "password: |\n", "password:\n", `password: "`, `password: \"`, `--password "-`, "--password ",
	"password=,", "password=&a", "key key key: ", `{"kind":"Secret","data":`, `{"data":1,`, "kind: Secret\ndata:\n", "name: token ", "authorization: ", `"\"kind: Secret data`, "token: \n ",
	"data:\n", " - - ", "token:a ", "token=a ", "secret:a ", "jwt:a ", "log: token:a ", "a@b.co", "stringData: {a: {", "stringData: {a: [", "data: {kind: Secret, ", "- data:\n - ",
	`{"stringData":{"a":`, `["--token",`, `{"name":"token","value":`, "kind: Secret data: [",
}

// Whatever follows itself, however often, is masked, and no line is withheld.
func TestRepeated(t *testing.T) {
	t.Parallel()
	m := masker(t, "all")
	check := func(t rapid.TB, unit string, n int) {
		text := strings.Repeat(unit, n)
		got, err := m.Text(context.Background(), text)
		if err != nil || strings.Contains(got, withheld) && !strings.Contains(text, withheld) {
			t.Errorf("%q × %d: %v", unit, n, err)
		}
		if again, err := m.Text(context.Background(), got); err != nil || again != got {
			t.Errorf("%q × %d: %v: not idempotent", unit, n, err)
		}
	}
	all := slices.Concat(units, parts())
	for _, unit := range all {
		for _, n := range []int{1, 2, 3, 6, 17, 100, 1000} {
			check(t, unit, n)
			check(t, "log: "+unit+" ", n)
		}
	}
	rapid.Check(t, func(r *rapid.T) {
		unit := strings.Join(rapid.SliceOfN(rapid.SampledFrom(all), 2, 5).Draw(r, "unit"), "")
		check(r, unit, rapid.IntRange(2, 1000).Draw(r, "n"))
	})
}

// Time is linear in the text: sixteen times the text takes about sixteen times as
// long, and 256 times if a scanner is quadratic. A machine that is busy may make
// one measurement long, not all.
func TestLinear(t *testing.T) {
	m := masker(t, "all")
	const small, factor, tries = 8 << 10, 16, 8
	took := func(text string) time.Duration {
		start := time.Now()
		if _, err := m.Text(context.Background(), text); err != nil {
			t.Errorf("%q: %v", text[:min(len(text), 40)], err)
		}
		return time.Since(start)
	}
	slowest, most := "", time.Duration(0)
	check := func(t rapid.TB, before, unit string) {
		fastest := [2]time.Duration{time.Hour, time.Hour}
		for range tries {
			fastest[0] = min(fastest[0], took(before+strings.Repeat(unit, small/len(unit))))
			fastest[1] = min(fastest[1], took(before+strings.Repeat(unit, factor*small/len(unit))))
			if fastest[1] > most {
				slowest, most = before+unit, fastest[1]
			}
			if fastest[1] < 4*factor*fastest[0] {
				return
			}
		}
		t.Errorf("%q + %q …: %v, of %d times the text %v", before, unit, fastest[0], factor, fastest[1])
	}
	all := slices.Concat(units, parts())
	for _, unit := range all {
		check(t, "", unit)
		check(t, "kind: Secret data {\n", unit)
	}
	rapid.Check(t, func(r *rapid.T) {
		check(r, "", strings.Join(rapid.SliceOfN(rapid.SampledFrom(all), 2, 5).Draw(r, "unit"), ""))
	})
	t.Logf("slowest: %q, %v for %d KB", slowest, most, factor*small>>10)
}
