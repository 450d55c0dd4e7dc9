// Package skill reads skills: folders of instructions in the open SKILL.md format (agentskills.io/specification). A SKILL.md
// begins with YAML front matter (name, description); files beside it are read on demand. The package never runs anything
// of a skill.
package skill

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/kit/spell"
	"github.com/inquest-dev/inquest/internal/strict"
)

// Folder is the name of the folder of skills in a configuration.
const Folder = "skills"

// file is the file that makes a folder a skill.
const file = "SKILL.md"

// The limits of a skill. The format recommends less than 5,000 tokens for SKILL.md.
const (
	maxSkills      = 200
	maxText        = 128 << 10 // bytes of SKILL.md
	maxFile        = 256 << 10 // bytes of a file beside it
	maxFiles       = 100
	maxName        = 64   // characters; the format's limit
	maxDescription = 1024 // characters; the format's limit, but longer ones exist
	// maxCatalogue limits the names and descriptions of all skills together, in bytes, because prompts have them. It is about 16,000
	// tokens.
	maxCatalogue = 64 << 10
)

// Skill is one skill.
type Skill struct {
	// File is the slash-separated path of the skill's text, which begins with Folder.
	File        string
	Name        string
	Description string
	// Projects are the only projects whose agents see the skill (metadata.projects). Empty means all.
	Projects []string
	// Text is SKILL.md without its front matter.
	Text string
	// Files are the text files beside SKILL.md, by slash-separated path.
	Files map[string]string
}

// In reports whether agents of a project see the skill.
func (s Skill) In(project string) bool {
	return len(s.Projects) == 0 || slices.Contains(s.Projects, project)
}

// Problem is something that is wrong with a file.
type Problem struct {
	// File is the slash-separated path, which begins with Folder.
	File string
	// Broken means that the skill cannot be used.
	Broken bool
	Err    error
}

// Read reads the skills of a configuration's directory, sorted by name, and everything that is wrong with them. Both are
// empty if there is no folder of skills. A skill is a folder with a SKILL.md, or a file with the same content, as Kubernetes
// mounts a ConfigMap. Names that begin with a dot are ignored, and so are other files directly in the folder of skills. A
// skill's folder may be a link within the directory, but nothing outside that folder is read.
func Read(dir string) ([]Skill, []Problem) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil // the configuration itself reports a directory that cannot be read
	}
	defer root.Close()
	all, err := root.OpenRoot(Folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var entries []fs.DirEntry
	if err == nil {
		defer all.Close()
		entries, err = fs.ReadDir(all.FS(), ".")
	}
	if err != nil {
		return nil, []Problem{{Folder, true, strict.Cause(err)}}
	}
	r := reader{root: root, all: folder{all, Folder}}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), ".") || document.MatchString(entry.Name()) && !entry.IsDir() {
			continue
		}
		r.read(entry.Name())
		if len(r.skills) > maxSkills {
			break
		}
	}
	slices.SortFunc(r.skills, func(a, b Skill) int { return strings.Compare(a.Name, b.Name) })
	r.limit()
	return r.skills, r.problems
}

// limit leaves out the last skills by name if there are more than prompts can list.
func (r *reader) limit() {
	size := 0
	for n, s := range r.skills {
		size += len(s.Name) + len(s.Description)
		var why error
		switch {
		case n == maxSkills:
			why = fmt.Errorf("a configuration may have at most %d skills", maxSkills)
		case size > maxCatalogue:
			why = fmt.Errorf("the names and descriptions of all skills may total at most %d KiB: shorten them", maxCatalogue>>10)
		default:
			continue
		}
		for _, s := range r.skills[n:] {
			r.add(s.File, true, why)
		}
		r.skills = r.skills[:n]
		return
	}
}

type reader struct {
	root     *os.Root // the configuration's directory
	all      folder   // the folder of skills
	skills   []Skill
	problems []Problem
}

// folder is an open folder that no link leads out of, with its path in the configuration.
type folder struct {
	*os.Root
	at string
}

func (r *reader) add(file string, broken bool, err error) {
	r.problems = append(r.problems, Problem{file, broken, err})
}

// read reads the skill in an entry of the folder of skills, which is a folder or a file.
func (r *reader) read(name string) {
	at := path.Join(Folder, name)
	info, err := r.root.Stat(at)
	if err == nil && !info.IsDir() {
		r.parse(r.all, name)
		return
	}
	var own *os.Root
	if err == nil {
		own, err = r.root.OpenRoot(at)
	}
	if err != nil {
		r.add(at, true, strict.Cause(err))
		return
	}
	defer own.Close()
	if r.encloses(own) {
		r.add(at, true, errors.New("the folder contains the folder of skills"))
		return
	}
	if s := r.parse(folder{own, at}, file); s != nil {
		s.Files = r.besides(folder{own, at})
	}
}

// encloses reports whether a skill's folder, which may be a link, contains the folder of skills: it could read all skills.
func (r *reader) encloses(own *os.Root) (is bool) {
	root, rootErr := r.root.Stat(".")
	all, allErr := r.all.Stat(".")
	err := fs.WalkDir(own.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil || !entry.IsDir():
			return nil // besides reports what cannot be read
		case name != "." && strings.HasPrefix(entry.Name(), "."):
			return fs.SkipDir
		}
		info, err := entry.Info()
		if is = err == nil && (os.SameFile(info, root) || os.SameFile(info, all)); is {
			return fs.SkipAll
		}
		return err
	})
	return is || errors.Join(rootErr, allErr, err) != nil
}

// document matches names of files that repositories have beside their skills.
var document = regexp.MustCompile(`^(?i:readme|license)(\.|$)`)

// parse adds the skill in a file. It returns nil if that is broken or no skill.
func (r *reader) parse(in folder, name string) *Skill {
	at, loose := path.Join(in.at, name), in.at == Folder
	text, err := in.text(name, maxText)
	if loose && errors.Is(err, errNotText) {
		return nil
	}
	if loose && err != nil {
		r.add(at, false, fmt.Errorf("the file is not used: %w", err))
		return nil
	}
	var s Skill
	var stray string
	if err == nil {
		s, stray, err = parse(text)
		s.File = at
	}
	if err == nil && slices.ContainsFunc(r.skills, func(other Skill) bool { return other.Name == s.Name }) {
		err = fmt.Errorf("another skill is named %q", s.Name)
	}
	switch {
	case loose && errors.Is(err, errNoFrontMatter):
		r.add(at, false, fmt.Errorf("the file is not a skill: %w", err))
		return nil
	case err != nil:
		r.add(at, true, err)
		return nil
	}
	if stray != "" {
		r.add(at, false, fmt.Errorf("%s has no effect: did you mean metadata.projects? Agents of all projects see the skill", stray))
	}
	if start := clip.Runes(s.Description, maxDescription); start != s.Description {
		s.Description = start
		r.add(at, false, fmt.Errorf("agents see only the first %d characters of the description", maxDescription))
	}
	r.skills = append(r.skills, s)
	return &r.skills[len(r.skills)-1]
}

// besides reads the text files in a skill's folder, in all depths. Files that are not text, such as pictures, are left out.
func (r *reader) besides(in folder) map[string]string {
	files := map[string]string{}
	err := fs.WalkDir(in.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name != "." && strings.HasPrefix(entry.Name(), "."):
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		case entry.IsDir() || name == file:
			return nil
		case len(files) == maxFiles:
			r.add(in.at, false, fmt.Errorf("more than %d files: the others are left out", maxFiles))
			return fs.SkipAll
		}
		text, err := in.text(name, maxFile)
		if errors.Is(err, errNotText) {
			return nil
		}
		if err != nil {
			r.add(path.Join(in.at, name), false, fmt.Errorf("the file is left out: %w", err))
			return nil
		}
		files[name] = text
		return nil
	})
	if err != nil {
		r.add(in.at, false, strict.Cause(err))
	}
	return files
}

var errNotText = errors.New("not UTF-8 text")

// text reads a regular text file.
func (f folder) text(name string, limit int64) (string, error) {
	data, err := strict.ReadRegular(f.Root, name, limit)
	if target, noLink := f.Readlink(name); err != nil && noLink == nil {
		err = fmt.Errorf("link to %s: %w", target, err)
	}
	switch {
	case err != nil:
		return "", err
	case int64(len(data)) > limit:
		return "", fmt.Errorf("larger than %d KiB", limit>>10)
	case !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0:
		return "", errNotText
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")) // byte order mark of editors on Windows
	return strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(data)), nil
}

// frontMatter holds the fields that are used. The format has others.
type frontMatter struct {
	Name        string               `yaml:"name"`
	Description string               `yaml:"description"`
	Metadata    map[string]yaml.Node `yaml:"metadata"`
	Others      map[string]yaml.Node `yaml:",inline"`
}

// projects returns the skill's projects, and the key that looks like a misspelt or misplaced metadata.projects. An empty key means
// that there is none.
func (m frontMatter) projects() (projects names, stray string, err error) {
	node, found := m.Metadata[projectsKey]
	if found {
		err = node.Decode(&projects)
		return projects, "", err
	}
	looksLike := func(key string) bool { return spell.Distance(strings.ToLower(key), projectsKey) <= maxMisspelt }
	for _, key := range slices.Sorted(maps.Keys(m.Metadata)) {
		if looksLike(key) {
			return nil, "metadata." + key, nil
		}
	}
	for _, key := range slices.Sorted(maps.Keys(m.Others)) {
		if looksLike(key) {
			return nil, key, nil
		}
	}
	return nil, "", nil
}

const (
	projectsKey = "projects"
	maxMisspelt = 2 // letters of a misspelt key
)

// names is a list, or text with commas: the format's metadata has only text.
type names []string

func (n *names) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind != yaml.ScalarNode {
		return node.Decode((*[]string)(n))
	}
	*n = strings.FieldsFunc(node.Value, func(r rune) bool { return r == ',' || r == ' ' })
	return nil
}

// parse reads a SKILL.md. stray is the key that looks like metadata.projects and is not.
func parse(text string) (s Skill, stray string, err error) {
	matter, body, err := split(text)
	if err != nil {
		return Skill{}, "", err
	}
	var front frontMatter
	var projects names
	if err = yaml.Unmarshal([]byte(matter), &front); err == nil {
		projects, stray, err = front.projects()
	}
	if err != nil {
		return Skill{}, "", fmt.Errorf("the front matter is not YAML: %w", err)
	}
	description := strings.Join(strings.Fields(front.Description), " ")
	s = Skill{Name: front.Name, Description: description, Projects: projects, Text: body}
	return s, stray, s.check()
}

func (s Skill) check() error {
	var problems []error
	refuse := func(refused bool, format string, args ...any) {
		if refused {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	refuse(s.Name == "", "the front matter has no name")
	refuse(utf8.RuneCountInString(s.Name) > maxName, "name: at most %d characters", maxName)
	refuse(strings.ContainsFunc(s.Name, func(r rune) bool { return !strings.ContainsRune(letters, r) }),
		"name: only A-Z, a-z, 0-9, dots, hyphens and underscores, got %q", s.Name)
	refuse(s.Description == "", "the front matter has no description")
	refuse(s.Text == "", "there is no text after the front matter")
	return errors.Join(problems...)
}

const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"

var errNoFrontMatter = errors.New("no front matter: the first line must be ---")

// split separates the front matter, between two lines of three hyphens, from the text after it.
func split(text string) (matter, body string, err error) {
	rest, found := strings.CutPrefix(strings.TrimSpace(text), "---\n")
	if !found {
		return "", "", errNoFrontMatter
	}
	matter, body, found = strings.Cut("\n"+rest+"\n", "\n---\n")
	if !found {
		return "", "", errors.New("the front matter does not end: a line with --- is missing")
	}
	return matter, strings.TrimSpace(body), nil
}

// Stamp identifies the state of a configuration's skills without reading them, by the names, sizes and times of the files. It
// is empty if there are none.
func Stamp(dir string) string {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return ""
	}
	defer root.Close()
	var out strings.Builder
	_ = fs.WalkDir(root.FS(), Folder, func(name string, _ fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // it is reported when the skills are read
		}
		if info, err := root.Stat(name); err == nil { // of the file that a symbolic link names
			fmt.Fprintln(&out, name, info.Size(), info.ModTime().UnixNano())
		}
		return nil
	})
	return out.String()
}
