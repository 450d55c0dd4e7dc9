package cli

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	sdk "go.temporal.io/sdk/client"
	"pgregory.net/rapid"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/internal/configuration"
	"github.com/inquest-dev/inquest/internal/doctor"
	"github.com/inquest-dev/inquest/internal/face/api"
	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/knowledge/runbook"
	"github.com/inquest-dev/inquest/internal/knowledge/runbook/runbooktest"
	"github.com/inquest-dev/inquest/internal/payload"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/prompt"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/tool/builtin"
	"github.com/inquest-dev/inquest/workflows"
)

// knowing is a random configuration in which projects know different things.
type knowing struct {
	cfg    *configuration.Config
	url    string
	chains []string
	skills []string
	// known lists every text of a skill, runbook or learning, with the projects that may see it. Nil means all projects.
	known map[string][]string
	// store has the learnings of the projects.
	store *store.Store
}

var knowingProjects = []string{"books", "payments", "default"}

// knowers are the ways in which a project can read a team's knowledge. Each returns everything that the project can get.
var knowers = []struct {
	name string
	read func(t *rapid.T, k knowing, project string) string
	// sees are beginnings of texts that the way must show if the project may see them, so that the test cannot pass with nothing read.
	sees []string
}{
	{"api", overAPI, []string{"book", "learned", "listed"}},
	{"command line", overCLI, []string{"learned", "listed"}},
	{"MCP", overMCP, []string{"learned"}},
	{"prompts", inPrompts, []string{"book", "learned"}},
	{"tools", byTools, []string{"text", "file", "learned"}},
}

// knowingTries is how many configurations are tried: each takes most of a second.
const knowingTries = 20

// TestProjectsKnowTheirOwn: no way shows a project the skills, runbooks and learnings of another, whatever the configuration.
func TestProjectsKnowTheirOwn(t *testing.T) {
	t.Parallel()
	var current *configuration.Config
	url, tried, failed := "", 0, false
	var st *store.Store
	learned := map[string][]string{} // texts of all tries: the store keeps them
	rapid.Check(t, func(r *rapid.T) {
		if tried++; tried > knowingTries && !failed {
			return
		}
		k := drawKnowing(r, t)
		if current = k.cfg; url == "" {
			url, st = serveKnowing(t, func() *configuration.Config { return current })
		}
		k.url, k.store = url, st
		teachKnowing(r, st, tried, learned)
		maps.Copy(k.known, learned)
		for _, project := range knowingProjects {
			for _, way := range knowers {
				got := way.read(r, k, project)
				for text, projects := range k.known {
					may := projects == nil || slices.Contains(projects, project)
					must := slices.ContainsFunc(way.sees, func(start string) bool { return strings.HasPrefix(text, start) })
					if has := strings.Contains(got, text); has && !may || !has && may && must {
						failed = true
						r.Fatalf("%s of project %s: has %s %t, may %t\n%s", way.name, project, text, has, may, got)
					}
				}
			}
		}
	})
}

// drawKnowing writes and loads a configuration. Text N of a kind belongs to the skill or chain N.
func drawKnowing(r *rapid.T, t *testing.T) knowing {
	dir, err := os.MkdirTemp(t.TempDir(), "")
	k := knowing{known: map[string][]string{}}
	write := func(name, text string) {
		at := filepath.Join(dir, name)
		err = errors.Join(err, os.MkdirAll(filepath.Dir(at), 0o700), os.WriteFile(at, []byte(text), 0o600))
	}
	some := func(label string) []string {
		n := rapid.IntRange(0, 1<<len(knowingProjects)-1).Draw(r, label)
		var projects []string // nil: all
		for i, project := range knowingProjects {
			if n&(1<<i) != 0 {
				projects = append(projects, project)
			}
		}
		return projects
	}
	for n := range rapid.IntRange(1, 4).Draw(r, "skills") {
		name, projects := fmt.Sprintf("skill%dzq", n), some("projects of a skill")
		k.skills = append(k.skills, name)
		for _, text := range []string{name, fmt.Sprintf("about%dzq", n), fmt.Sprintf("text%dzq", n), fmt.Sprintf("file%dzq", n)} {
			k.known[text] = projects
		}
		front, _ := json.Marshal(map[string]any{
			"name": name, "description": fmt.Sprintf("about%dzq", n), "metadata": map[string]any{"projects": append([]string{}, projects...)},
		})
		write("skills/"+name+"/SKILL.md", fmt.Sprintf("---\n%s\n---\ntext%dzq", front, n))
		write("skills/"+name+"/more/notes.md", fmt.Sprintf("file%dzq", n))
	}
	chains, tokens := map[string]any{}, map[string]any{}
	// Every skill is loaded by an agent of a chain that all projects have, so that the tools can show it.
	chains["open"] = map[string]any{"runbook": "none", "stages": stagesOf("Reader")}
	k.chains = []string{"open"}
	agents := map[string]any{"Reader": map[string]any{}}
	for n := range rapid.IntRange(1, 3).Draw(r, "chains") {
		name, projects := fmt.Sprintf("chain-%d", n), some("projects of a chain")
		k.chains, k.known[fmt.Sprintf("book%dzq", n)] = append(k.chains, name), projects
		book := fmt.Sprintf("book%dzq", n)
		if rapid.Bool().Draw(r, "runbook in a file") {
			write("books/"+name+".md", book)
			book = "file:books/" + name + ".md"
		}
		chain := map[string]any{"runbook": book, "stages": stagesOf(fmt.Sprintf("Agent%d", n))}
		if projects != nil {
			chain["projects"] = projects
		}
		chains[name] = chain
		var required []string // whose names are in a chain's configuration, which its projects may see
		for m, s := range k.skills {
			of := k.known[s]
			all := projects != nil || of == nil
			for _, project := range projects {
				all = all && (of == nil || slices.Contains(of, project))
			}
			if all && m%2 == 0 && rapid.Bool().Draw(r, "required") {
				required = append(required, s)
			}
		}
		agents[fmt.Sprintf("Agent%d", n)] = map[string]any{"required_skills": required}
	}
	for _, project := range knowingProjects {
		tokens[project] = map[string]any{
			"sha256": fmt.Sprintf("%x", sha256.Sum256([]byte(secret+project))), "role": "admin", "projects": []string{project},
		}
	}
	runbooks := map[string]any{"repo_url": "https://github.com/acme/ops"}
	if k.known["listed"] = some("projects of the repository"); k.known["listed"] != nil {
		runbooks["projects"] = k.known["listed"]
	}
	text, _ := json.Marshal(map[string]any{
		"defaults": map[string]any{"llm_provider": "scripted"}, "agents": agents, "agent_chains": chains,
		"system": map[string]any{"http": map[string]any{"tokens": tokens}, "runbooks": runbooks},
	})
	write("a.yaml", string(text)) // JSON is YAML
	if err == nil {
		k.cfg, err = configuration.Load(configuration.Source{Dir: dir, Env: os.LookupEnv, SkipCredentials: true})
	}
	if err != nil {
		r.Fatal(err)
	}
	return k
}

func stagesOf(agentName string) []any {
	return []any{map[string]any{"name": "look", "agents": []any{map[string]any{"name": agentName}}}}
}

// serveKnowing serves the API of the current configuration.
func serveKnowing(t *testing.T, current func() *configuration.Config) (url string, st *store.Store) {
	fake, at := newFakeTemporal(t), store.At(filepath.Join(t.TempDir(), "inquest.db"))
	st, err := store.Open(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	to := client.New(client.Options{TaskQueue: workflows.TaskQueue, Store: at,
		Temporal: func() (sdk.Options, payload.Keys, error) {
			return sdk.Options{HostPort: fake.address}, payload.Keys{}, nil
		}})
	t.Cleanup(func() { _ = to.Close() })
	github := &runbooktest.World{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `[{"name":"listed.md","type":"file"}]`)
	})}
	s, err := api.New(t.Context(), api.Options{
		System: to, Config: current, Logger: slog.New(slog.DiscardHandler),
		Runbooks: github.Fetcher(t, func() runbook.Settings { return current().Runbooks() }),
		Tools: func(ctx context.Context, cfg *configuration.Config) (api.Tools, error) {
			st, err := to.Store(ctx)
			return doctor.NewToolbox(doctor.ToolboxOptions{Config: cfg, Shared: st, Logger: slog.New(slog.DiscardHandler)}), err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(s.Handler())
	t.Cleanup(server.Close)
	return server.URL, st
}

// overAPI reads every operation that only reads, of every chain, agent and skill, and checks requests for every chain.
func overAPI(t *rapid.T, k knowing, project string) string {
	var out strings.Builder
	ask := func(method, path, content string) {
		req, err := http.NewRequestWithContext(t.Context(), method, k.url+path, strings.NewReader(content))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+secret+project)
		req.Header.Set("Content-Type", "application/json")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "%s %s: %s\n", method, req.URL.Path, text)
	}
	for _, o := range system.Operations() {
		if o.Method != http.MethodGet || o.Stream {
			continue
		}
		names := []string{"1"}
		if strings.HasPrefix(o.Path, system.Base+"/chains/") {
			names = k.chains
		} else if strings.HasPrefix(o.Path, system.Agents+"/") {
			names = []string{"Reader", "Agent0", "Agent1", "Agent2"}
		} else if strings.Contains(o.Path, "{id}") {
			names = []string{"1", "wf1", "wf2"}
		}
		for _, name := range names {
			path := strings.NewReplacer("{name}", name, "{id}", "1", "{seq}", "1", "{n}", "1", "{agent}", "Reader",
				"{learning}", "L1").Replace(o.Path)
			ask(o.Method, path, "")
		}
	}
	for _, chain := range k.chains {
		ask(http.MethodPost, system.CheckRequest.Path, fmt.Sprintf(`{"chain":%q,"data":"why?"}`, chain))
	}
	return out.String()
}

// overCLI runs commands that read what agents know, with the project's token. It omits commands that read the local configuration:
// their users can read its files anyway.
func overCLI(t *rapid.T, k knowing, project string) string {
	var out bytes.Buffer
	env := map[string]string{"INQUEST_TOKEN": secret + project}
	for _, args := range [][]string{
		{"agent", "list", "--project", project, "--json"}, {"agent", "show", "Reader", "--project", project}, {"tools", "--json"},
		{"memories", "list", "--project", project}, {"memories", "show", "L1", "--project", project}, {"show", "wf1"},
		{"memories", "withdraw", "wf1", "--list"}, {"list", "--json"}, {"runbooks"},
		{"tool", "run", "load_skill", "--args", `{"names":["text"]}`, "--yes"},
	} {
		run(t.Context(), append([]string{"--server", k.url}, args...), base.CLI{
			In: strings.NewReader(""), Out: &out, Err: &out, Getenv: func(name string) string { return env[name] },
		})
	}
	if !strings.Contains(out.String(), "Reader") {
		t.Fatalf("the commands show no agent: %s", out.String())
	}
	return out.String()
}

// plansOf plans the chains of a project. Other chains must be refused.
func plansOf(t *rapid.T, k knowing, project string) (plans []plan.Plan, refusals string) {
	for _, chain := range k.chains {
		p, err := k.cfg.Plan(agent.Request{Chain: chain, Labels: agent.Labels{Project: project}})
		switch {
		case k.cfg.ChainIn(chain, project) != (err == nil):
			t.Fatalf("chain %s of project %s: %v", chain, project, err)
		case err != nil:
			refusals += err.Error() + "\n"
		default:
			plans = append(plans, p)
		}
	}
	return plans, refusals
}

// inPrompts returns the system prompts and tasks of all agents, as workers make them from plans.
func inPrompts(t *rapid.T, k knowing, project string) string {
	plans, out := plansOf(t, k, project)
	for _, p := range plans {
		for _, stage := range p.Stages {
			for _, a := range stage.Agents {
				data := prompt.Data{Agent: a.Name, Runbook: p.Runbook, Lessons: lessonsOf(t, k, project)}
				for _, s := range a.Skills {
					if one := (prompt.Skill{Name: s.Name, Description: s.Description}); s.Required {
						one.Text = s.Texts[""]
						data.Skills.Required = append(data.Skills.Required, one)
					} else {
						data.Skills.Loadable = append(data.Skills.Loadable, one)
					}
				}
				text, err := prompt.System("investigation", data)
				task, taskErr := prompt.Task("investigation", data)
				if err = errors.Join(err, taskErr); err != nil {
					t.Fatal(err)
				}
				out += text + "\n" + task + "\n"
			}
		}
	}
	return out
}

// byTools calls load_skill and read_skill_file for all skills, as each agent of the project, and recalls what was learned.
func byTools(t *rapid.T, k knowing, project string) string {
	plans, out := plansOf(t, k, project)
	out += recalled(t, k, project)
	for _, p := range plans {
		for _, stage := range p.Stages {
			for _, a := range stage.Agents {
				texts := map[string]string{}
				skills := slices.Clone(a.Skills)
				for i, s := range skills {
					skills[i].Blobs = map[string]string{}
					for file, text := range s.Texts {
						skills[i].Blobs[file] = s.Name + ":" + file
						texts[s.Name+":"+file] = text
					}
				}
				blob := func(_ context.Context, name string) ([]byte, error) { return []byte(texts[name]), nil }
				tools := builtin.Skills(skills, blob)
				for _, name := range k.skills {
					for i, arguments := range []any{
						map[string]any{"names": []string{name}}, map[string]any{"skill": name, "path": "more/notes.md"},
					} {
						text, _ := json.Marshal(arguments)
						result := tools[i].Run(t.Context(), tool.Call{Arguments: text})
						// An answer may repeat the name that the agent has asked for.
						out += strings.ReplaceAll(result.Content, name, "NAME") + "\n"
					}
				}
			}
		}
	}
	return out
}
