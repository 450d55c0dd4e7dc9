package archtest

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

var (
	fence = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	code  = regexp.MustCompile("`[^`\n]*`")
	// link is a Markdown link or image. Its target ends at white space or a closing parenthesis.
	link      = regexp.MustCompile(`\]\(([^)\s]+)(?: "[^"]*")?\)`)
	elsewhere = regexp.MustCompile(`^[a-z]+:`)
	heading   = regexp.MustCompile(`(?m)^#{1,6} +(.+?) *$`)
	anchor    = regexp.MustCompile(`<a (?:id|name)="([^"]+)"`)
	// document is a document that code, a message or a help text names by its path.
	document = regexp.MustCompile(`(?:^|[^\w/.-])((?:\.\./)*docs/[\w/.-]+\.(?:md|json|png))\b`)
)

// TestLinks checks that every relative link and anchor in every Markdown file resolves.
func TestLinks(t *testing.T) {
	t.Parallel()
	root := os.DirFS("../..")
	var checked int
	for file, text := range textFiles(t, root, ".md") {
		for _, found := range link.FindAllStringSubmatch(code.ReplaceAllString(fence.ReplaceAllString(text, ""), ""), -1) {
			if elsewhere.MatchString(found[1]) {
				continue
			}
			checked++
			target, section, _ := strings.Cut(found[1], "#")
			if target = path.Join(path.Dir(file), target); strings.HasPrefix(found[1], "#") {
				target = file
			}
			if _, err := fs.Stat(root, target); err != nil {
				t.Errorf("%s: the link %s leads to no file", file, found[1])
				continue
			}
			if section == "" {
				continue
			}
			page, err := fs.ReadFile(root, target)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Contains(anchors(string(page)), section) {
				t.Errorf("%s: %s has no heading for #%s", file, target, section)
			}
		}
	}
	if checked < 100 {
		t.Errorf("%d links were checked: does this test still find them?", checked)
	}
}

// TestDocumentsInCode checks that the documents which code, messages and help texts name exist.
func TestDocumentsInCode(t *testing.T) {
	t.Parallel()
	root := os.DirFS("../..")
	for file, text := range textFiles(t, root, ".go", ".yaml", ".yml", ".js", "Makefile", "run") {
		for _, found := range document.FindAllStringSubmatch(text, -1) {
			if _, err := fs.Stat(root, strings.TrimLeft(found[1], "./")); err != nil {
				t.Errorf("%s names %s, which does not exist", file, found[1])
			}
		}
	}
}

func TestAnchors(t *testing.T) {
	t.Parallel()
	page := "# What `a.b` is: A/B, and 2 more\n```sh\n# a comment\n```\n## Twice\n## Twice\n## See [the API](api.md#x)\n<a id=\"here\"></a>\n"
	want := []string{"what-ab-is-ab-and-2-more", "twice", "twice-1", "see-the-api", "here"}
	if got := anchors(page); !slices.Equal(got, want) {
		t.Errorf("anchors: %q, want %q", got, want)
	}
}

// anchors returns the anchors that GitHub gives to a page's headings, and those written as HTML.
func anchors(page string) []string {
	var all []string
	page = fence.ReplaceAllString(page, "")
	for _, found := range heading.FindAllStringSubmatch(page, -1) {
		text := regexp.MustCompile(`\[([^]]*)\]\([^)]*\)`).ReplaceAllString(found[1], "$1")
		slug := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, text)
		name := slug
		for n := 1; slices.Contains(all, name); n++ {
			name = slug + "-" + strconv.Itoa(n)
		}
		all = append(all, name)
	}
	for _, found := range anchor.FindAllStringSubmatch(page, -1) {
		all = append(all, found[1])
	}
	return all
}

// textFiles returns the repository's files with one of the given endings, by path. Test data and packages from npm are left out.
func textFiles(t *testing.T, root fs.FS, endings ...string) map[string]string {
	t.Helper()
	texts := map[string]string{}
	err := fs.WalkDir(root, ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := entry.Name(); entry.IsDir() {
			if slices.Contains([]string{"testdata", "node_modules", "bin", "build", "dist", ".git"}, name) {
				return fs.SkipDir
			}
			return nil
		}
		if !slices.ContainsFunc(endings, func(ending string) bool { return strings.HasSuffix(file, ending) }) {
			return nil
		}
		text, err := fs.ReadFile(root, file)
		texts[file] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts
}
