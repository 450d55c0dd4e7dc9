package configuration

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/spell"
	"github.com/inquest-dev/inquest/internal/knowledge/runbook"
	"github.com/inquest-dev/inquest/internal/knowledge/skill"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/strict"
)

// runbookTTL is the default of Runbooks.CacheTTL.
const runbookTTL = time.Minute

// hostName matches names of hosts with at least two parts, but no IP addresses.
var hostName = regexp.MustCompile(`^(?i)([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z]([a-z0-9-]*[a-z0-9])?$`)

func validateRunbooks(s config.Runbooks, p path, v *validator) {
	for n, domain := range s.AllowedDomains {
		if !hostName.MatchString(domain) {
			v.Errorf(p.Key("allowed_domains").Index(n), "%q is not a fully qualified host name, such as docs.example.com", domain)
		}
	}
	if s.RepoURL != "" {
		if err := runbook.CheckRepository(s.RepoURL, runbookDomains(s)); err != nil {
			v.Errorf(p.Key("repo_url"), "the runbooks cannot be listed: %v", err)
		}
	}
	validateGrant(config.Grant{Projects: s.Projects}, p, v)
	if s.TokenEnv != "" && !variableName.MatchString(s.TokenEnv) { // not shown, because it may be a token
		v.Errorf(p.Key("token_env"), "must be the name of a variable that holds the token, such as GITHUB_TOKEN")
	}
}

func runbookDomains(s config.Runbooks) []string {
	if s.AllowedDomains == nil {
		return runbook.DefaultDomains()
	}
	return s.AllowedDomains
}

// Runbooks returns the settings for fetching runbooks, with the token from the current environment.
func (c *Config) Runbooks() runbook.Settings {
	own := c.System.Runbooks
	out := runbook.Settings{Domains: runbookDomains(own), CacheTTL: runbookTTL, Repository: own.RepoURL, Projects: own.Projects}
	if slices.Contains(own.Projects, config.AllProjects) {
		out.Projects = nil
	}
	if own.CacheTTL != nil {
		out.CacheTTL = own.CacheTTL.D()
	}
	if own.TokenEnv != "" {
		token, _ := c.env(own.TokenEnv)
		out.Token = strings.TrimSpace(token)
	}
	return out
}

// runbookToken reports a token that is configured and missing.
func (v *validator) runbookToken() {
	name := v.System.Runbooks.TokenEnv
	if token, _ := v.env(name); variableName.MatchString(name) && strings.TrimSpace(token) == "" {
		v.Errorf(path{}.Key("system").Key("runbooks").Key("token_env"), "variable %s is not set, or is empty", name)
	}
}

// runbookFile is a file that a runbook names: its text, or why it cannot be used.
type runbookFile struct{ text, problem string }

// readRunbooks reads the files that runbooks name.
func (c loader) readRunbooks() {
	var paths []string
	texts := []string{c.Defaults.Runbook}
	for _, chain := range c.AgentChains {
		texts = append(texts, chain.Runbook)
	}
	for _, text := range texts {
		if path, ok := runbook.File(text); ok {
			paths = append(paths, path)
		}
	}
	c.runbookFiles = readRunbooks(c.src.Dir, paths)
}

// readRunbooks reads files below the directory of a configuration. dir may also be the only file of the configuration.
func readRunbooks(dir string, paths []string) map[string]runbookFile {
	out := map[string]runbookFile{}
	for _, path := range paths {
		text, err := readRunbook(dir, path)
		if err != nil {
			out[path] = runbookFile{problem: err.Error()}
			continue
		}
		out[path] = runbookFile{text: text}
	}
	return out
}

func readRunbook(dir, path string) (string, error) {
	if dir == "" {
		return "", errors.New("the configuration has no directory")
	}
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		dir = filepath.Dir(dir)
	}
	root, err := os.OpenRoot(dir) // which no path can leave, not even by a symbolic link
	if err != nil {
		return "", strict.Cause(err)
	}
	defer root.Close()
	body, err := strict.ReadRegular(root, path, runbook.MaxSize)
	if err != nil {
		return "", err
	}
	return runbook.Text(body)
}

// runbook reports a runbook that could never be used.
func (v *validator) runbook(p path, text string) {
	name, isFile := runbook.File(text)
	switch {
	case isFile && v.runbookFiles[name].problem != "":
		v.Errorf(p, "the file %s of the configuration cannot be used: %s", name, v.runbookFiles[name].problem)
	case runbook.IsURL(text):
		if err := runbook.Check(text, runbookDomains(v.System.Runbooks)); err != nil {
			v.Errorf(p, "the runbook can never be fetched: %v", err)
		}
	}
}

// runbook plans the runbook: that of the request, of the chain or of defaults. It plans URLs up to the first text, because
// the text is used if none of them can be fetched.
func (r *resolver) runbook(p *plan.Plan, requested string) {
	texts := []string{requested}
	for _, l := range slices.Backward(r.chainLevels(p.Chain)) {
		texts = append(texts, l.settings.Runbook)
	}
	for n, text := range texts {
		path, isFile := runbook.File(text)
		switch byRequest := n == 0; {
		case text == "":
			continue
		case runbook.IsURL(text), isFile && byRequest: // a request cannot name a file, which fetching it will report
			p.RunbookURLs = append(p.RunbookURLs, plan.RunbookURL{URL: strings.TrimSpace(text), Requested: byRequest})
			continue
		case isFile:
			p.Runbook, p.RunbookOrigin.Name = r.runbookFiles[path].text, fmt.Sprintf("the file %s of the configuration", path)
		case strings.TrimSpace(text) == "": // no runbook, whatever the other places have
			p.Runbook = text
		case byRequest:
			p.Runbook, p.RunbookOrigin = text, plan.RunbookOrigin{Name: "the request", Requested: true}
		default:
			p.Runbook, p.RunbookOrigin.Name = text, "the configuration"
		}
		return
	}
}

// readSkills reads the folder of skills beside the configuration's files. A broken skill is a warning. It is an error if no
// skill is left.
func readSkills(dir string, r *strict.Report) map[string]skill.Skill {
	all, problems := skill.Read(dir)
	for _, p := range problems {
		text := "%v"
		if p.Broken {
			text = "the skill is not used: %v"
		}
		r.WarnFile(p.File, text, p.Err)
	}
	if broken := slices.ContainsFunc(problems, func(p skill.Problem) bool { return p.Broken }); broken && len(all) == 0 {
		r.Unreadable(skill.Folder, 0, "none of the skills can be used: fix one, or remove the folder")
	}
	skills := map[string]skill.Skill{}
	for _, s := range all {
		skills[s.Name] = s
	}
	return skills
}

// skillProjects warns of skills for projects that no other part of the configuration names, if it names any. A request can still name
// such a project, so that is no error.
func (v *validator) skillProjects() {
	var known []string
	for _, chain := range v.AgentChains {
		known = append(known, chain.Projects...)
	}
	for _, token := range v.System.HTTP.Tokens {
		known = append(known, token.Projects...)
	}
	for _, group := range v.System.HTTP.OIDC.Groups {
		known = append(known, group.Projects...)
	}
	for _, hook := range v.System.HTTP.Webhooks {
		known = append(known, hook.Projects...)
	}
	known = slices.DeleteFunc(known, func(name string) bool { return name == config.AllProjects })
	if len(known) == 0 {
		return
	}
	known = append(known, agent.DefaultProject)
	for _, s := range v.skills {
		for _, name := range s.Projects {
			if !slices.Contains(known, name) {
				v.WarnFile(s.File, "metadata.projects: no other setting names the project %q%s", name, spell.DidYouMean(name, known))
			}
		}
	}
}

// addSkills adds up the levels' settings of skills. An agent without a list at any level may load all skills.
func (s *settings) addSkills(levels []level) {
	s.Skills, s.RequiredSkills = nil, nil
	for _, l := range levels {
		if own := l.settings.Skills; own != nil {
			s.Skills = union(s.Skills, own)
		}
		if own := l.settings.RequiredSkills; own != nil {
			s.RequiredSkills = union(s.RequiredSkills, own)
		}
	}
}

// union returns the names in both lists, each once. It is never nil.
func union(a, b []string) []string {
	out := []string{}
	for _, name := range slices.Concat(a, b) {
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// skilled checks the skills at p of an agent with that definition.
func (v *validator) skilled(p path, definition string, skills, required []string) {
	row := v.kind(definition)
	for key, names := range map[string][]string{"skills": skills, "required_skills": required} {
		for i, name := range names {
			if at := p.Key(key).Index(i); len(v.skills) == 0 {
				v.Errorf(at, "unknown skill %q: the configuration's directory has no folder skills/%s with a SKILL.md", name, name)
			} else {
				reference(v, at, "skill", name, v.skills)
			}
		}
		if len(names) > 0 && row.Name != "" && row.Pattern != agent.Iterating {
			v.Errorf(p.Key(key), "agent %q has type %q, which does not iterate: it has no skills", definition, row.Name)
		}
	}
}

// planSkills returns the skills of an agent: those that its prompt has, then those that it may load, by name. Skills of other
// projects do not exist for it.
func (r *resolver) planSkills(w work) (all []plan.Skill) {
	if w.kind.Pattern != agent.Iterating {
		return nil
	}
	for _, name := range w.RequiredSkills {
		s, ok := r.skills[name]
		switch {
		case ok && s.In(r.projectName()):
			all = append(all, planSkill(s, true))
		case ok:
			r.problems = append(r.problems, fmt.Sprintf("%s: agent %q requires the skill %q, which project %q does not have",
				w.at.Text, w.name, name, r.projectName()))
		}
	}
	names := w.Skills
	if names == nil {
		names = slices.Collect(maps.Keys(r.skills))
	}
	for _, name := range slices.Sorted(slices.Values(names)) {
		if s, ok := r.skills[name]; ok && s.In(r.projectName()) && !slices.Contains(w.RequiredSkills, name) {
			all = append(all, planSkill(s, false))
		}
	}
	return all
}

func planSkill(s skill.Skill, required bool) plan.Skill {
	texts := maps.Clone(s.Files)
	if texts == nil {
		texts = map[string]string{}
	}
	texts[""] = s.Text
	return plan.Skill{Name: s.Name, Description: s.Description, Required: required, Texts: texts}
}

func (r *resolver) projectName() string { return cmp.Or(r.project, agent.DefaultProject) }
