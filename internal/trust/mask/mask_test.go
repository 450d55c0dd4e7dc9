package mask_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/inquest-dev/inquest/internal/kit/goldentest"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/trust/mask"
)

// secret is part of every text that the fixtures expect to be masked, in any case.
const secret = "s3cr3t"

// TestPatterns masks the fixture of every pattern with that pattern alone: "in" becomes "out", and "kept" stays unchanged. Each
// line of "in" is also masked separately, so that no line depends on another one, and with the group "all".
func TestPatterns(t *testing.T) {
	t.Parallel()
	for _, name := range mask.Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join("testdata", name+".txtar")
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			one, all := newMasker(t, name), newMasker(t, mask.Groups()["all"]...)
			in, kept, out := section(archive, "in"), section(archive, "kept"), section(archive, "out")
			got := text(t, one, string(in.Data))
			if goldentest.Updating() {
				out.Data = []byte(got)
				if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(string(out.Data), got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if diff := cmp.Diff(string(kept.Data), text(t, one, string(kept.Data))); diff != "" {
				t.Errorf("kept, -want +got:\n%s", diff)
			}
			for _, masked := range []string{got, text(t, all, string(in.Data))} {
				for line := range strings.Lines(masked) {
					if strings.Contains(strings.ToLower(line), secret) {
						t.Errorf("not masked: %s", line)
					}
				}
			}
		})
	}
}

// Every pattern is documented, and every group consists of patterns.
func TestNames(t *testing.T) {
	t.Parallel()
	groups := mask.Groups()
	for _, name := range []string{"basic", "secrets", "security", "kubernetes", "cloud", "all"} {
		if len(groups[name]) == 0 || mask.Describe(name) == "" {
			t.Errorf("group %s: %v, %q", name, groups[name], mask.Describe(name))
		}
	}
	for _, name := range mask.Names() {
		if mask.Describe(name) == "" {
			t.Errorf("pattern %s: no description", name)
		}
	}
	if diff := cmp.Diff(mask.Names(), groups["all"]); diff != "" {
		t.Errorf("all is not all: -names +group:\n%s", diff)
	}
}

func TestExpand(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name             string
		groups, patterns []string
		want             []string
		err              string
	}{
		{name: "nothing"},
		{name: "a group", groups: []string{"basic"}, want: []string{"api_key", "password"}},
		{name: "both, once each", groups: []string{"basic", "basic"}, patterns: []string{"password", "email"},
			want: []string{"api_key", "email", "password"}},
		{name: "unknown", groups: []string{"basics", "basic"}, patterns: []string{"basic", "jwt"},
			want: []string{"api_key", "basic", "jwt", "password"},
			err:  "unknown masking group \"basics\"\nunknown masking pattern \"basic\""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := mask.Expand(tt.groups, tt.patterns)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if message(err) != tt.err {
				t.Errorf("error %v, want %s", err, tt.err)
			}
		})
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	_, err := mask.New(plan.Masking{
		Patterns: []string{"password", "pasword"},
		Custom:   []plan.MaskPattern{{Pattern: "a+"}, {Pattern: "(a"}, {Pattern: ""}, {Pattern: "a*"}},
	})
	want := []string{
		`unknown masking pattern "pasword"`, "custom masking pattern 2: error parsing regexp: missing closing ): `(a`",
		"custom masking pattern 3: it is empty", "custom masking pattern 4: it matches an empty string",
	}
	if diff := cmp.Diff(want, strings.Split(message(err), "\n")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func newMasker(t testing.TB, names ...string) *mask.Masker {
	t.Helper()
	m, err := mask.New(plan.Masking{Patterns: names})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// text masks a text, and checks that a second masking changes nothing.
func text(t testing.TB, m *mask.Masker, in string) string {
	t.Helper()
	got, err := m.Text(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	if second, err := m.Text(t.Context(), got); err != nil || second != got {
		t.Errorf("%v: not idempotent:\n%s", err, cmp.Diff(got, second))
	}
	return got
}

func section(archive *txtar.Archive, name string) *txtar.File {
	i := slices.IndexFunc(archive.Files, func(f txtar.File) bool { return f.Name == name })
	if i < 0 {
		archive.Files = append(archive.Files, txtar.File{Name: name})
		i = len(archive.Files) - 1
	}
	return &archive.Files[i]
}

// TestSecrets masks Kubernetes Secrets of every form, with LF and CRLF line ends. "kept" must occur as often as before.
func TestSecrets(t *testing.T) {
	t.Parallel()
	m := newMasker(t, "kubernetes_secret")
	names, err := filepath.Glob("testdata/secrets/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			in, out := string(section(archive, "in").Data), section(archive, "out")
			got := text(t, m, in)
			if goldentest.Updating() {
				out.Data = []byte(got)
				if err := os.WriteFile(name, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(string(out.Data), got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			windows := text(t, m, strings.ReplaceAll(in, "\n", "\r\n"))
			for _, masked := range []string{got, windows} {
				if strings.Contains(strings.ToLower(masked), secret) || strings.Count(in, "kept") != strings.Count(masked, "kept") {
					t.Errorf("masked wrongly:\n%s", masked)
				}
			}
		})
	}
}
