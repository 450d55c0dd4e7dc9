package runbook

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/inquest-dev/inquest/internal/agent"
)

const (
	githubAPI  = "api.github.com"
	apiType    = "application/vnd.github+json"
	maxListing = 4 << 20 // bytes of a response: GitHub lists up to 1,000 files of a folder
	maxFolders = 50
	maxFound   = 1000
	listFetch  = 4 // a listing may take as long as this many fetches
)

// Found is a runbook in the configured repository.
type Found struct {
	URL  string `json:"url" doc:"URL for the runbook of a request or a chain"`
	Path string `json:"path" doc:"path in the repository"`
}

// ErrNoRepository means that a project has no runbooks to list.
var ErrNoRepository = errors.New("has no repository of runbooks: see system.runbooks.repo_url and system.runbooks.projects")

// List returns the Markdown files in a project's repository and its folders, by path. With the labels of an alert, as KEY=VALUE or
// VALUE, it returns only files whose path has a word of a value, the best first. The limits are those of Fetch, with more time.
func (f *Fetcher) List(ctx context.Context, project string, labels []string) ([]Found, error) {
	s := f.settings().of(project)
	if s.Repository == "" {
		return nil, fmt.Errorf("project %s %w", cmp.Or(project, agent.DefaultProject), ErrNoRepository)
	}
	repo, err := parseRepository(s.Repository, s.Domains)
	if err != nil {
		return nil, fmt.Errorf("list the runbooks of %s: %w", Shown(s.Repository), err)
	}
	paths, err := f.paths(ctx, repo, s)
	if err != nil {
		return nil, fmt.Errorf("list the runbooks of %s: %w", Shown(s.Repository), err)
	}
	found := []Found{}
	for _, p := range best(paths, labels) {
		found = append(found, Found{URL: repo.page(p), Path: p})
	}
	return found, nil
}

// paths returns the sorted paths of all runbooks, from the cache if possible.
func (f *Fetcher) paths(ctx context.Context, repo repository, s Settings) ([]string, error) {
	key := "list " + s.Repository
	if text, ok := f.cache.get(key, s.CacheTTL); ok {
		return strings.FieldsFunc(text, func(r rune) bool { return r == '\n' }), nil
	}
	within, cancel := context.WithTimeout(ctx, listFetch*f.network.Within)
	defer cancel()
	var paths []string
	folders := []string{repo.folder}
	for n := 0; n < len(folders); n++ {
		files, inner, err := f.folder(within, repo, folders[n], s)
		if err == nil && (len(folders)+len(inner) > maxFolders || len(paths)+len(files) > maxFound) {
			err = fmt.Errorf("it has more than %d folders or %d files: name a folder, https://github.com/OWNER/NAME/tree/BRANCH/FOLDER",
				maxFolders, maxFound)
		}
		if err != nil {
			return nil, f.late(ctx, within, listFetch, err)
		}
		paths, folders = append(paths, files...), append(folders, inner...)
	}
	slices.Sort(paths)
	f.cache.put(key, strings.Join(paths, "\n"))
	return paths, nil
}

// folder returns the paths of a folder's runbooks and of its folders.
func (f *Fetcher) folder(ctx context.Context, repo repository, folder string, s Settings) (files, folders []string, err error) {
	u, err := parse(repo.api(folder), s.Domains)
	if err != nil {
		return nil, nil, err
	}
	body, err := f.get(ctx, u, s.Domains, request{accept: apiType, token: s.Token, limit: maxListing})
	if err != nil {
		return nil, nil, fmt.Errorf("folder %q: %w", folder, err)
	}
	var entries []struct {
		Name string `json:"name"`
		Type string `json:"type"` // file, dir, symlink or submodule
	}
	if err := json.Unmarshal(body, &entries); err != nil {
		return nil, nil, fmt.Errorf("folder %q: the answer is not a list of files", folder)
	}
	for _, e := range entries {
		at := path.Join(folder, e.Name)
		switch {
		case e.Name == "", strings.HasPrefix(e.Name, "."), strings.Contains(e.Name, "/"), strings.ContainsFunc(e.Name, unicode.IsControl):
		case e.Type == "dir":
			folders = append(folders, at)
		case e.Type == "file" && strings.EqualFold(path.Ext(e.Name), ".md"):
			files = append(files, at)
		}
	}
	return files, folders, nil
}

// repository is a folder of a repository on GitHub. Its fields are not escaped. An empty ref means the default branch.
type repository struct{ owner, name, ref, folder string }

// CheckRepository returns an error if the runbooks at an address can never be listed.
func CheckRepository(address string, domains []string) error {
	repo, err := parseRepository(address, domains)
	if err == nil {
		_, err = parse(repo.api(repo.folder), domains)
	}
	return err
}

func parseRepository(address string, domains []string) (repo repository, err error) {
	u, err := parse(address, domains)
	if err != nil {
		return repo, err
	}
	parts := strings.Split(strings.Trim(u.Path, "/"), "/")
	inTree := len(parts) >= 4 && (parts[2] == "tree" || parts[2] == "blob")
	odd := slices.ContainsFunc(parts, func(part string) bool { return part == "" || part == "." || part == ".." })
	if u.Host != github && u.Host != "www."+github || odd || len(parts) != 2 && !inTree {
		return repo, errors.New("the URL must be that of a repository (https://github.com/OWNER/NAME) or of a folder in one " +
			"(https://github.com/OWNER/NAME/tree/BRANCH/FOLDER)")
	}
	repo = repository{owner: parts[0], name: strings.TrimSuffix(parts[1], ".git")}
	if inTree {
		repo.ref, repo.folder = parts[3], strings.Join(parts[4:], "/")
	}
	return repo, nil
}

// api returns the address at which GitHub lists a folder (docs.github.com/en/rest/repos/contents).
func (r repository) api(folder string) string {
	u := url.URL{Scheme: "https", Host: githubAPI, Path: "/repos/" + r.owner + "/" + r.name + "/contents/" + folder}
	if r.ref != "" {
		u.RawQuery = url.Values{"ref": {r.ref}}.Encode()
	}
	return u.String()
}

// page returns the address of GitHub's page about a file, which Fetch accepts.
func (r repository) page(file string) string {
	u := url.URL{Scheme: "https", Host: github, Path: "/" + path.Join(r.owner, r.name, "blob", cmp.Or(r.ref, "HEAD"), file)}
	return u.String()
}

// best returns the paths that match labels, the best first, or all paths if there are no labels.
func best(paths, labels []string) []string {
	if len(labels) == 0 {
		return paths
	}
	points := map[string]int{}
	for _, p := range paths {
		points[p] = match(p, labels)
	}
	paths = slices.DeleteFunc(slices.Clone(paths), func(p string) bool { return points[p] == 0 })
	slices.SortStableFunc(paths, func(a, b string) int { return cmp.Compare(points[b], points[a]) })
	return paths
}

// sameName is the score of a file whose name equals a label's value. It exceeds the scores of all single words together.
const sameName = 1000

// match counts the words of the labels' values that a path has.
func match(file string, labels []string) (points int) {
	file = strings.TrimSuffix(file, path.Ext(file))
	have, name := words(file), strings.Join(words(path.Base(file)), " ")
	wanted := map[string]bool{}
	for _, label := range labels {
		if _, value, ok := strings.Cut(label, "="); ok {
			label = value
		}
		parts := words(label)
		if name != "" && strings.Join(parts, " ") == name {
			points += sameName
		}
		for _, word := range parts {
			if !wanted[word] && slices.Contains(have, word) {
				wanted[word] = true
				points++
			}
		}
	}
	return points
}

// words returns the words of a text in lower case: "KubePodCrash" and "kube-pod_crash" have the same.
func words(text string) (all []string) {
	runes := []rune(text)
	start := 0
	end := func(n int) {
		if n > start {
			all = append(all, strings.ToLower(string(runes[start:n])))
		}
	}
	for n, r := range runes {
		upper := unicode.IsUpper(r)
		switch {
		case !unicode.IsLetter(r) && !unicode.IsNumber(r):
			end(n)
			start = n + 1
		case upper && n > start && (!unicode.IsUpper(runes[n-1]) || n+1 < len(runes) && unicode.IsLower(runes[n+1])):
			end(n)
			start = n
		}
	}
	end(len(runes))
	return all
}
