package pack

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var pinned = regexp.MustCompile(`^@?[\w./-]+@v?\d+\.\d+\.\d+$`)

// Every pack is complete, pins its server, and calls only tools that it offers. Its variables are those that it uses.
func TestPacks(t *testing.T) {
	t.Parallel()
	want := "aws datadog elasticsearch github gitlab grafana jira kubernetes loki opensearch pagerduty postgresql prometheus slack"
	if got := strings.Join(Names(), " "); got != want {
		t.Errorf("packs: %s\nwant:  %s", got, want)
	}
	for _, p := range All() {
		origins := slices.DeleteFunc([]string{p.NPM, p.Go, p.PyPI, p.URL}, func(s string) bool { return s == "" })
		if len(origins) != 1 || p.URL == "" && !pinned.MatchString(origins[0]) || p.URL != "" && !strings.HasPrefix(p.URL, "https://") {
			t.Errorf("%s: %q is not one pinned server", p.Name, origins)
		}
		if address, err := url.Parse(p.URL); err != nil || p.URL == "" && p.Sites != nil || slices.Contains(p.Sites, address.Host) {
			t.Errorf("%s: the sites %q of %q, %v", p.Name, p.Sites, p.URL, err)
		}
		for what, text := range map[string]string{
			"title": p.Title, "summary": p.Summary, "source": p.Source, "instructions": p.Instructions,
			"answers": p.Check.Answers, "remedy": p.Check.Remedy,
		} {
			if text == "" {
				t.Errorf("%s has no %s", p.Name, what)
			}
		}
		var arguments map[string]any // test/packs compares them with the schemas of the servers that it can start
		if err := json.Unmarshal([]byte(p.Check.Arguments), &arguments); err != nil || arguments == nil {
			t.Errorf("%s: the arguments of the check are no object: %s", p.Name, p.Check.Arguments)
		}
		if !slices.IsSorted(p.Tools) || !slices.Contains(p.Tools, p.Check.Tool) {
			t.Errorf("%s: the tools %v are not sorted, or the check %+v calls another one", p.Name, p.Tools, p.Check)
		}
		if !slices.ContainsFunc(Agents(), func(a Agent) bool { return a.Name == p.Agent }) {
			t.Errorf("%s: no agent %q", p.Name, p.Agent)
		}
		text, err := json.Marshal([]any{p.Args, p.Env, p.Bearer, p.Headers})
		if err != nil {
			t.Fatal(err)
		}
		used := regexp.MustCompile(`{{\.(\w+)}}`).FindAllStringSubmatch(string(text), -1)
		for _, u := range used {
			if !slices.ContainsFunc(p.Variables, func(v Variable) bool { return v.Name == u[1] }) {
				t.Errorf("%s uses the variable %s without a description", p.Name, u[1])
			}
		}
		if len(used) != len(p.Variables) {
			t.Errorf("%s describes %d variables and uses %d", p.Name, len(p.Variables), len(used))
		}
	}
}

// A server is recognized by its program, its package or its address, whatever its version and its name.
func TestOf(t *testing.T) {
	t.Parallel()
	for want, tc := range map[string]struct {
		command string
		args    []string
		url     string
	}{
		"kubernetes": {"/usr/local/bin/kubernetes-mcp-server", []string{"--read-only"}, ""},
		"prometheus": {"npx", []string{"-y", "prometheus-mcp@1.0.0", "stdio"}, ""},
		"gitlab":     {"npx", []string{"@zereight/mcp-gitlab"}, ""},
		"aws":        {"uvx", []string{"awslabs.cloudwatch-mcp-server@0.0.1"}, ""},
		"grafana":    {"mcp-grafana", []string{"--enabled-tools", "loki"}, ""},
		"github":     {"", nil, "https://api.githubcopilot.com/mcp"},
		"":           {"npx", []string{"-y", "tickets-mcp@1.0.0"}, ""},
	} {
		if got, ok := Of(tc.command, tc.args, tc.url); got.Name != want || ok != (want != "") {
			t.Errorf("%+v: pack %q, want %q", tc, got.Name, want)
		}
	}
	for _, p := range All() {
		command, args := p.Command()
		if got, ok := Of(command, args, p.URL); !ok || got.Check != p.Check {
			t.Errorf("the server of %s is taken for one of %q", p.Name, got.Name)
		}
	}
}

// A hosted server is recognized at every site of its vendor, with any toolsets in the URL, and nowhere else.
func TestOfSites(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"https://mcp.datadoghq.com/v1/mcp?toolsets=core":        "datadog",
		"https://mcp.datadoghq.com/api/unstable/mcp-server/mcp": "datadog",
		"https://mcp.datadoghq.eu/v1/mcp":                       "datadog",
		"https://mcp.uk1.datadoghq.com/v1/mcp":                  "datadog",
		"https://mcp.us3.datadoghq.com/v1/mcp":                  "datadog",
		"https://mcp.us5.datadoghq.com/v1/mcp":                  "datadog",
		"https://mcp.ap1.datadoghq.com/v1/mcp":                  "datadog",
		"https://mcp.ap2.datadoghq.com/v1/mcp":                  "datadog",
		"https://mcp.eu.pagerduty.com/mcp":                      "pagerduty",
		"https://api.githubcopilot.com/mcp/readonly":            "github",
		"https://copilot-api.octocorp.ghe.com/mcp":              "github",
		"https://mcp.atlassian.com/v1/mcp":                      "jira",
		"https://MCP.Atlassian.com/v2/mcp":                      "jira",
		"https://mcp.datadoghq.com.example/v1/mcp":              "",
		"https://copilot-api.ghe.com.example/mcp":               "",
		"https://mcp.pagerduty.example/mcp":                     "",
		"https://octocorp.ghe.com/mcp":                          "",
		"://":                                                   "",
	} {
		if got, ok := Of("", nil, address); got.Name != want || ok != (want != "") {
			t.Errorf("%s: pack %q, want %q", address, got.Name, want)
		}
	}
}

// A pack says everything that it lacks, and does not print the value of a variable.
func TestMissing(t *testing.T) {
	t.Parallel()
	refused := func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("refused") }
	env := map[string]string{"PROMETHEUS_URL": "http://u:hunter2@prometheus.example:9090", "GITLAB_API_URL": "gitlab"}
	bare := Host{
		Getenv: func(name string) string { return env[name] }, Programs: func(string) bool { return false },
		Exists:  func(string) bool { return false },
		Context: func() string { return "" }, Dial: refused,
	}
	for name, want := range map[string][]string{
		"kubernetes": {"npx is not in PATH: install Node.js (nodejs.org)", "no kubeconfig with a current context: set KUBECONFIG"},
		"prometheus": {"npx is not in PATH: install Node.js (nodejs.org)", "PROMETHEUS_URL: cannot connect to prometheus.example:9090: refused"},
		"postgresql": {"npx is not in PATH: install Node.js (nodejs.org)", "dbhub.toml is not in this folder. It " +
			"must contain the database's address, " +
			"a role that may only read, and readonly = true for the tool execute_sql (dbhub.ai/config/toml)"},
		"github": {"GITHUB_TOKEN is not set: a token that may only read"},
		"gitlab": {"npx is not in PATH: install Node.js (nodejs.org)", "GITLAB_API_URL: expected a URL, such as http://HOST:PORT",
			"GITLAB_PERSONAL_ACCESS_TOKEN is not set: a token with the scope read_api"},
	} {
		p, _ := Named(name)
		if got := p.Missing(t.Context(), bare); !slices.Equal(got, want) {
			t.Errorf("%s lacks %q, want %q", name, got, want)
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	env["PROMETHEUS_URL"] = "http://" + listener.Addr().String()
	full := Host{
		Getenv: bare.Getenv, Programs: func(string) bool { return true }, Context: func() string { return "kind" },
		Dial: new(net.Dialer).DialContext, Exists: func(string) bool { return true },
	}
	for _, name := range []string{"kubernetes", "prometheus", "postgresql"} {
		p, _ := Named(name)
		if got := p.Missing(t.Context(), full); got != nil {
			t.Errorf("%s lacks %q", name, got)
		}
	}
}
