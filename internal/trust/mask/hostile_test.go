package mask

import (
	"context"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// parts lists everything that the scanners look for: their keywords, and the characters around them.
func parts() []string {
	out := []string{
		"a", "x1", "{", "}", "[", "]", "(", ")", "<", ">", `"`, `'`, "`", `\`, `\"`, `\n`, ":", "=", "=>", ":=", "@", "://", "-", "--",
		"- ", "_", ".", ",", ";", "&", "|", "#", "%3D", "%22", "*",
		" ", "  ", "\t", "\n", "\r\n", "\n  ", "---\n", "|\n", ">-", "null", "true", "${A}", "{{", "}}", "[MASKED", "[MASKED_X]",
		"[MASKED_TOKEN]", "é", "\xff", "\x00",
		"kind", "Secret", "SecretList", "data", "stringData", "apiVersion", "v1", "type", "Opaque", "name", "value", "key", "export",
		"arn:aws:",
		"-----BEGIN ", "-----END ", "PRIVATE KEY", "OPENSSH", "-----", "-----BEGIN X-----", "@tcp(", "@unix(", ":@tcp(", "-u ", "--user",
		"-u a:", "Bearer ", "Basic ", "a@b.cc", "git@",
		"S3cr3tS3cr3tS3cr3tS3cr3t", "S3cr3tS3cr3tS3cr3tS3cr3t==", "\x1b[31m", "\x1b]8;;", "\x1b", "\u200b", "\u00a0", "&quot;", "&amp;",
		`\u0022`, "user,password\n", "a,b\n", "NAME  PASSWORD\n", "a  b1b1b1\n",
		"cGFzc3dvcmQ9aHVudGVyMg", "password%3Dx%26", "\"\"\"", "b'", "Private-Lines:", "PRIVATE KEY-----", "IDENTIFIED BY ",
		"login a password ", "\\\n",
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
	for _, f := range infixes {
		out = append(out, f.mid)
	}
	for _, c := range commands {
		out = append(out, c.names[0]+" ", c.names[0]+" "+c.sub+" a ", c.glued)
		out = append(out, c.flags...)
	}
	for word := range fillers {
		out = append(out, word+" ")
	}
	out = slices.DeleteFunc(slices.Concat(out, pemHeaders, typeWords, sources), func(s string) bool { return s == "" })
	slices.Sort(out)
	return slices.Compact(out)
}

// units are texts that take long if a scanner backtracks or needs many rounds.
var units = []string{
	"a://b:c@", "eyJ-", "eyJ.", "-----BEGIN X----- a ", "password: [ ", "password: |", "password: |\n", "password:\n", `password: "`,
	`password: \"`, `--password "-`, "--password ",
	"password=,", "password=&a", "key key key: ", `{"kind":"Secret","data":`, `{"data":1,`, "kind: Secret\ndata:\n", "name: token ",
	"authorization: ", `"\"kind: Secret data`, "token: \n ",
	"data:\n", " - - ", "token:a ", "token=a ", "secret:a ", "jwt:a ", "log: token:a ", "a@b.co", "stringData: {a: {",
	"stringData: {a: [", "data: {kind: Secret, ", "- data:\n - ",
	`{"stringData":{"a":`, `["--token",`, `{"name":"token","value":`, "kind: Secret data: [",
}

// Any unit can be repeated any number of times: the text is masked, and no line is withheld.
func TestRepeated(t *testing.T) {
	t.Parallel()
	m := masker(t, "all")
	check := func(t rapid.TB, unit string, n int) {
		text := strings.Repeat(unit, n)
		got, err := m.Text(context.Background(), text)
		if err != nil || strings.Contains(got, withheld) && !strings.Contains(text, withheld) {
			t.Errorf("%q × %d: %v", unit, n, err)
		}
		if second, err := m.Text(context.Background(), got); err != nil || second != got {
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
