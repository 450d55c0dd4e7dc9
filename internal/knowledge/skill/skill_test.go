package skill_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/knowledge/skill"
)

const front = "---\nname: %s\ndescription: about %s\n---\n"

// write writes files below a new directory. A name that ends with @ is a symbolic link.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		at := filepath.Join(dir, strings.TrimSuffix(name, "@"))
		err := os.MkdirAll(filepath.Dir(at), 0o700)
		switch {
		case err != nil:
		case strings.HasSuffix(name, "@"):
			err = os.Symlink(text, at)
		default:
			err = os.WriteFile(at, []byte(text), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func named(name string) string { return fmt.Sprintf(front, name, name) + "Text of " + name + "." }

func lines(problems []skill.Problem) (out []string) {
	for _, p := range problems {
		out = append(out, fmt.Sprintf("%s %v: %s", p.File, p.Broken, strings.ReplaceAll(p.Err.Error(), "\n", "; ")))
	}
	return out
}

func TestRead(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{
		"inquest.yaml":              "",
		"skills/db/SKILL.md":        "\ufeff" + strings.ReplaceAll(named("db"), "\n", "\r\n"),
		"skills/db/references/a.md": "a\r\nb",
		"skills/db/scripts/x.sh":    "ls",
		"skills/db/picture.png":     "\x89PNG\x00",
		"skills/db/.git/config":     "hidden",
		"skills/..2026/net":         named("net"),
		"skills/..data@":            "..2026",
		"skills/net@":               "..data/net",
		"skills/odd/SKILL.md": "---\nname: Other.Name\ndescription: >\n  two\n  lines\nmetadata: {projects: \"a, b\"}\n---\n" +
			"\n# Head\n\n---\nrule\n",
		"skills/listed/SKILL.md":   "---\nname: listed\ndescription: d\nmetadata: {projects: [c]}\n---\ntext",
		"skills/outside/SKILL.md@": "/etc/passwd",
		"skills/linked/SKILL.md":   named("linked"),
		"skills/linked/secret@":    "../../../../../../etc/passwd",
		"skills/long/SKILL.md":     "---\nname: long\ndescription: " + strings.Repeat("é", 1025) + "\n---\ntext",
		"skills/empty/README.md":   "no skill",
		"skills/twice/SKILL.md":    named("db"),
		"skills/wrong/SKILL.md":    "---\nname: a b\ndescription: ''\n---\n",
		"skills/plain":             "just text",
		"skills/open/SKILL.md":     "---\nname: open\n",
		"skills/notyaml/SKILL.md":  "---\nname: [\n---\ntext",
		"skills/large/SKILL.md":    named("large") + strings.Repeat("x", 128<<10),
		"skills/files/SKILL.md":    named("files"),
		"skills/files/large.txt":   strings.Repeat("x", 256<<10+1),
		"skills/files/exactly.txt": strings.Repeat("x", 256<<10),
	})
	got, problems := skill.Read(dir)
	want := []skill.Skill{
		{File: "skills/odd/SKILL.md", Name: "Other.Name", Description: "two lines", Projects: []string{"a", "b"}, Text: "# Head\n\n---\nrule"},
		{File: "skills/db/SKILL.md", Name: "db", Description: "about db", Text: "Text of db.",
			Files: map[string]string{"references/a.md": "a\nb", "scripts/x.sh": "ls"}},
		{File: "skills/files/SKILL.md", Name: "files", Description: "about files", Text: "Text of files.",
			Files: map[string]string{"exactly.txt": strings.Repeat("x", 256<<10)}},
		{File: "skills/linked/SKILL.md", Name: "linked", Description: "about linked", Text: "Text of linked."},
		{File: "skills/listed/SKILL.md", Name: "listed", Description: "d", Projects: []string{"c"}, Text: "text"},
		{File: "skills/long/SKILL.md", Name: "long", Description: strings.Repeat("é", 1024), Text: "text"},
		{File: "skills/net", Name: "net", Description: "about net", Text: "Text of net."},
	}
	for i := range got {
		if len(got[i].Files) == 0 {
			got[i].Files = nil
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	wantProblems := []string{
		"skills/empty/SKILL.md true: no such file or directory",
		"skills/files/large.txt false: the file is left out: larger than 256 KiB",
		"skills/large/SKILL.md true: larger than 128 KiB",
		"skills/linked/secret false: the file is left out: link to ../../../../../../etc/passwd: path escapes from parent",
		"skills/long/SKILL.md false: agents see only the first 1024 characters of the description",
		"skills/notyaml/SKILL.md true: the front matter is not YAML: yaml: line 2: did not find expected node content",
		"skills/open/SKILL.md true: the front matter does not end: a line with --- is missing",
		"skills/outside/SKILL.md true: link to /etc/passwd: path escapes from parent",
		"skills/plain false: the file is not a skill: no front matter: the first line must be ---",
		`skills/twice/SKILL.md true: another skill is named "db"`,
		`skills/wrong/SKILL.md true: name: only A-Z, a-z, 0-9, dots, hyphens and underscores, got "a b"; ` +
			"the front matter has no description; there is no text after the front matter",
	}
	if diff := cmp.Diff(wantProblems, lines(problems)); diff != "" {
		t.Error(diff)
	}
}

// TestOwnFolder: a skill reads nothing outside its own folder, not even within the configuration. A link that leads out is a problem
// that names the file.
func TestOwnFolder(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{
		".env":                     "SECRET",
		"inquest.yaml":             "SECRET",
		"skills/good/SKILL.md":     named("good"),
		"skills/good/own.txt@":     "notes/a.txt",
		"skills/good/notes/a.txt":  "a",
		"skills/good/env.txt@":     "../../.env",
		"skills/good/notes/b.txt@": "../../private/plan.md",
		"skills/good/notes/up@":    "../..",
		"skills/private/SKILL.md":  named("private"),
		"skills/private/plan.md":   "SECRET",
		"skills/text/SKILL.md@":    "../../spare.md",
		"skills/link@":             "../spare.md",
		"skills/All@":              ".",
		"skills/Up@":               "..",
		"SKILL.md":                 named("up"),
		"spare.md":                 named("spare"),
	})
	got, problems := skill.Read(dir)
	files := map[string]map[string]string{}
	for _, s := range got {
		files[s.Name] = s.Files
	}
	want := map[string]map[string]string{"good": {"own.txt": "a", "notes/a.txt": "a"}, "private": {"plan.md": "SECRET"}}
	if diff := cmp.Diff(want, files); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{
		"skills/All true: the folder contains the folder of skills",
		"skills/Up true: the folder contains the folder of skills",
		"skills/good/env.txt false: the file is left out: link to ../../.env: path escapes from parent",
		"skills/good/notes/b.txt false: the file is left out: link to ../../private/plan.md: path escapes from parent",
		"skills/good/notes/up false: the file is left out: link to ../..: path escapes from parent",
		"skills/link false: the file is not used: link to ../spare.md: path escapes from parent",
		"skills/text/SKILL.md true: link to ../../spare.md: path escapes from parent",
	}, lines(problems)); diff != "" {
		t.Error(diff)
	}
}

// TestOuterFolders: a skill's folder cannot contain the folder of skills, wherever that is.
func TestOuterFolders(t *testing.T) {
	t.Parallel()
	for name, files := range map[string]map[string]string{
		"a ConfigMap of the configuration": {
			"..2026/SKILL.md": named("up"), "..2026/skills/up@": "..", "..2026/skills/db/SKILL.md": named("db"),
			"..data@": "..2026", "skills@": "..data/skills",
		},
		"a checkout": {"skills@": "repo/skills", "repo/SKILL.md": named("up"), "repo/skills/db/SKILL.md": named("db"), "repo/skills/up@": ".."},
	} {
		got, problems := skill.Read(write(t, files))
		if len(got) != 1 || got[0].Name != "db" ||
			!slices.Equal(lines(problems), []string{"skills/up true: the folder contains the folder of skills"}) {
			t.Errorf("%s: %+v, %v", name, got, problems)
		}
	}
}

// TestLooseFiles: files in the folder of skills that are not skills do not count as broken skills. Validate warns of a text file unless it
// is a README or LICENSE, because a skill in a ConfigMap may lack its front matter.
func TestLooseFiles(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]string{
		"skills/README.md":   nil,
		"skills/readme":      nil,
		"skills/LICENSE.txt": nil,
		"skills/logo.png":    nil,
		"skills/README.md@":  nil,
		"skills/large.txt":   {"skills/large.txt false: the file is not used: larger than 128 KiB"},
		"skills/.git/config": nil,
		"skills/net":         {"skills/net false: the file is not a skill: no front matter: the first line must be ---"},
		"skills/a/README.md": {"skills/a/SKILL.md true: no such file or directory"},
	} {
		text := "text"
		switch name {
		case "skills/logo.png":
			text = "\x89PNG\x00"
		case "skills/README.md@":
			text = "../README.md"
		case "skills/large.txt":
			text = strings.Repeat("x", 200_000)
		}
		got, problems := skill.Read(write(t, map[string]string{name: text}))
		if diff := cmp.Diff(want, lines(problems)); diff != "" || len(got) > 0 {
			t.Errorf("%s: %v\n%s", name, got, diff)
		}
	}
}

// TestLinkedFolders reads skills from folders that Kubernetes mounts, and from folders that are links.
func TestLinkedFolders(t *testing.T) {
	t.Parallel()
	for name, files := range map[string]map[string]string{
		"a ConfigMap of one skill": {
			"skills/db/..2026/SKILL.md": named("db"), "skills/db/..2026/a.md": "a", "skills/db/..data@": "..2026",
			"skills/db/SKILL.md@": "..data/SKILL.md", "skills/db/a.md@": "..data/a.md",
		},
		"a ConfigMap of all skills, with paths": {
			"skills/..2026/db/SKILL.md": named("db"), "skills/..2026/db/a.md": "a", "skills/..data@": "..2026", "skills/db@": "..data/db",
		},
		"a ConfigMap of the configuration": {
			"..2026/skills/db/SKILL.md": named("db"), "..2026/skills/db/a.md": "a", "..data@": "..2026", "skills@": "..data/skills",
		},
		"a link to a folder": {"shared/db/SKILL.md": named("db"), "shared/db/a.md": "a", "skills/db@": "../shared/db"},
	} {
		got, problems := skill.Read(write(t, files))
		if len(problems) > 0 || len(got) != 1 || got[0].Name != "db" || cmp.Diff(map[string]string{"a.md": "a"}, got[0].Files) != "" {
			t.Errorf("%s: %+v, %v", name, got, problems)
		}
	}
}

// TestStrayKeys: a key that looks like metadata.projects is a warning that names the file, because without it all projects see the skill.
func TestStrayKeys(t *testing.T) {
	t.Parallel()
	for matter, want := range map[string]string{
		"metadata: {project: a}":                           "metadata.project",
		"metadata: {Projects: a}":                          "metadata.Projects",
		"metadata: {porjects: [a], author: b}":             "metadata.porjects",
		"projects: [a]":                                    "projects",
		"metadata: {projects: a, project: b}":              "",
		"metadata: {author: a, version: 1.0, protocol: b}": "",
		"license: MIT\nallowed-tools: Bash\nprocess: a":    "",
	} {
		dir := write(t, map[string]string{"skills/x/SKILL.md": "---\nname: x\ndescription: d\n" + matter + "\n---\ntext"})
		got, problems := skill.Read(dir)
		switch {
		case len(got) != 1:
			t.Errorf("%s: %v, %v", matter, got, problems)
		case want == "" && len(problems) > 0:
			t.Errorf("%s: %v", matter, problems)
		case want != "" && (len(problems) != 1 || problems[0].Broken || problems[0].File != "skills/x/SKILL.md" ||
			!strings.HasPrefix(problems[0].Err.Error(), want+" has no effect: did you mean metadata.projects?")):
			t.Errorf("%s: %v", matter, problems)
		}
	}
}

// TestLimits: prompts list at most 200 skills, and 64 KiB of names and descriptions. Each skill above that has a warning with its file.
func TestLimits(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		skills, description int
		kept                int
		why                 string
	}{
		"number": {201, 10, 200, "a configuration may have at most 200 skills"},
		"bytes":  {70, 1020, 64, "the names and descriptions of all skills may total at most 64 KiB: shorten them"},
		"below":  {64, 1020, 64, ""},
	} {
		files := map[string]string{}
		for n := range tc.skills {
			text := fmt.Sprintf("---\nname: s%03d\ndescription: %s\n---\ntext", n, strings.Repeat("d", tc.description))
			files[fmt.Sprintf("skills/s%03d", n)] = text
		}
		got, problems := skill.Read(write(t, files))
		if len(got) != tc.kept || len(problems) != tc.skills-tc.kept {
			t.Fatalf("%s: %d skills, %d problems", name, len(got), len(problems))
		}
		for n, p := range problems {
			if want := fmt.Sprintf("skills/s%03d", tc.kept+n); p.File != want || !p.Broken || p.Err.Error() != tc.why {
				t.Errorf("%s: %+v, want %s", name, p, want)
			}
		}
	}
}

func TestNoSkills(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"", filepath.Join(t.TempDir(), "gone"), t.TempDir()} {
		if got, problems := skill.Read(dir); got != nil || problems != nil || skill.Stamp(dir) != "" {
			t.Errorf("%q: %v, %v", dir, got, problems)
		}
	}
	dir := write(t, map[string]string{"skills": "a file"})
	if got, problems := skill.Read(dir); got != nil || len(problems) != 1 || !problems[0].Broken {
		t.Errorf("a file in place of the folder: %v, %v", got, problems)
	}
}

func TestIn(t *testing.T) {
	t.Parallel()
	if all := (skill.Skill{}); !all.In("a") {
		t.Error("a skill without projects is hidden")
	}
	if one := (skill.Skill{Projects: []string{"a"}}); !one.In("a") || one.In("b") {
		t.Error("a skill of one project is hidden there, or visible elsewhere")
	}
}

// TestStamp checks that a changed, new or removed file changes the stamp, also behind the link that Kubernetes replaces.
func TestStamp(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{
		"skills/db/SKILL.md": named("db"), "skills/..1/net": named("net"), "skills/..2/net": named("net") + "!",
		"skills/..data@": "..1", "skills/net@": "..data/net",
	})
	last := skill.Stamp(dir)
	for name, change := range map[string]func() error{
		"changed": func() error {
			return os.Chtimes(filepath.Join(dir, "skills/db/SKILL.md"), time.Time{}, time.Unix(1, 0))
		},
		"new": func() error { return os.WriteFile(filepath.Join(dir, "skills/db/a.md"), nil, 0o600) },
		"replaced": func() error {
			link := filepath.Join(dir, "skills/..data")
			if err := os.Remove(link); err != nil {
				return err
			}
			return os.Symlink("..2", link)
		},
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
		if now := skill.Stamp(dir); now == last {
			t.Errorf("%s: the stamp is the same", name)
		} else {
			last = now
		}
	}
}
