package config

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
)

// Server is an MCP server, whose tools agents use.
type Server struct {
	Transport    Transport `yaml:"transport"`
	Instructions string    `yaml:"instructions"`
	// TaskQueue runs the server's tools on the workers of that queue; "" = on all.
	TaskQueue string                `yaml:"task_queue"`
	Risk      map[string]agent.Risk `yaml:"risk"` // by tool
	_         struct{}              `later:"data_masking summarization"`
}

// Transport says how a server is reached. As loaded, Env keeps its template
// text; Config.Transport expands it.
type Transport struct {
	Type    string            `yaml:"type"` // "" = stdio
	Command string            `yaml:"command"`
	Args    []string          `yaml:"args"`
	Env     map[string]string `yaml:"env,late"`
	Timeout agent.Duration    `yaml:"timeout"` // of one call; 0 = the agent's tool timeout
	_       struct{}          `later:"url bearer_token verify_ssl custom_headers session_cleanup_url"`
}

// serverName allows what every model allows in the name of a tool; "__" parts server and tool there.
var serverName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

func (s *Server) validate(p path, v *validator) {
	if name := p.name; !serverName.MatchString(name) || strings.Contains(name, "__") {
		v.errorf(p, "a server's name has at most 64 of A-Z a-z 0-9 _ - and no __, got %q", name)
	}
	s.Transport.validate(p.key("transport"), v)
	if problem := nameProblem(s.TaskQueue); s.TaskQueue != "" && problem != "" {
		v.errorf(p.key("task_queue"), "%s", problem)
	}
	for _, tool := range slices.Sorted(maps.Keys(s.Risk)) {
		if s.Risk[tool] == "" {
			v.errorf(p.key("risk").key(tool), "a risk is required")
		}
		v.risk(p.key("risk").key(tool), s.Risk[tool])
	}
}

func (t Transport) validate(p path, v *validator) {
	switch t.Type {
	case "http", "sse":
		v.errorf(p.key("type"), "%q is not supported yet", t.Type)
		return
	}
	v.oneOf(p.key("type"), t.Type, "stdio")
	if t.Command == "" {
		v.errorf(p.key("command"), "a command is required")
	}
	for _, name := range slices.Sorted(maps.Keys(t.Env)) {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			v.errorf(p.key("env").key(name), "not the name of a variable")
		}
	}
}

func (s *Server) plan(name string) agent.Server {
	return agent.Server{Name: name, TaskQueue: s.TaskQueue, Instructions: s.Instructions, Risk: s.Risk}
}
