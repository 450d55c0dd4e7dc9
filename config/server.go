package config

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
)

// Server is an MCP server, whose tools agents use.
type Server struct {
	// Transport says how to reach the server.
	Transport Transport `yaml:"transport"`
	// NPX is the npm package, with its version, that contains the transport's command. If the command is not on the
	// worker's PATH, npx runs it. If npx is missing too, chains that use the server are refused.
	NPX string `yaml:"npx" default:"none"`
	// Instructions tell agents how to use the server's tools.
	Instructions string `yaml:"instructions"`
	// TaskQueue runs the server's tools only on the workers of that queue.
	TaskQueue string `yaml:"task_queue" default:"all workers"`
	// Risk says what effect a tool can have, by the tool's name.
	Risk map[string]agent.Risk `yaml:"risk" enum:"risk" default:"what the server says of it, if it is trusted; else write"`
	// Idempotent are tools whose calls may be repeated after a crash although they write or destroy, in addition to
	// those that a trusted server declares.
	Idempotent []string `yaml:"idempotent" default:"none"`
	// TrustAnnotations accepts the server's own statements about its tools (readOnlyHint, idempotentHint). Otherwise
	// they can only raise a risk, never lower it. A stdio server is a program that runs with the worker's rights; any
	// other server may belong to a third party.
	TrustAnnotations *bool `yaml:"trust_annotations" default:"true for stdio, false for http and sse"`
	// Trusted vouches for the server's texts as well: its descriptions of tools, and every result. Set it only if
	// nobody but you can write them. Logs, tickets and web pages are written by others. See tool_config.tainted_writes.
	Trusted *bool `yaml:"trusted" default:"false"`

	// Summarization shortens large results.
	Summarization Summarization `yaml:"summarization"`
	// DataMasking says what to mask in the server's results.
	DataMasking *DataMasking `yaml:"data_masking" default:"what alert_masking says"`
}

// serverName matches names that every model allows in the name of a tool, in which "__" separates server and tool.
var serverName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

func (s *Server) validate(p path, v *validator) {
	if name := p.Name; !serverName.MatchString(name) || strings.Contains(name, "__") {
		v.Errorf(p, "a server's name has at most 64 of A-Z a-z 0-9 _ - and no __, got %q", name)
	}
	if problem := nameProblem(s.TaskQueue); s.TaskQueue != "" && problem != "" {
		v.Errorf(p.Key("task_queue"), "%s", problem)
	}
	if s.NPX != "" && s.Transport.Command == "" {
		v.Errorf(p.Key("npx"), "only a server with a command has this")
	}
	for _, tool := range slices.Sorted(maps.Keys(s.Risk)) {
		if s.Risk[tool] == "" {
			v.Errorf(p.Key("risk").Key(tool), "a risk is required")
		}
	}
}

// server returns a server's part of a plan.
func (c *Config) server(name string) plan.Server {
	s := c.MCPServers[name]
	return plan.Server{
		Name: name, TaskQueue: s.TaskQueue, Instructions: s.Instructions, Masking: c.resultMasking(name),
		Risk: s.Risk, Idempotent: s.Idempotent, TrustAnnotations: s.trusted(), Trusted: value(s.Trusted),
	}
}

// trusted reports whether the server's annotations count.
func (s *Server) trusted() bool {
	if s.TrustAnnotations != nil {
		return *s.TrustAnnotations
	}
	return s.Transport.Type == "" || s.Transport.Type == TransportStdio
}

// found makes npx run the server's command if the command is not on the PATH. It returns false if neither is there.
func (c *Config) found(s *Server, t *Transport) bool {
	switch {
	case s.NPX == "" || c.onPath(t.Command):
		return true
	case c.onPath("npx"):
		t.Command, t.Args = "npx", append([]string{"-y", s.NPX}, t.Args...)
		return true
	}
	return false
}

func (c *Config) onPath(command string) bool {
	path, _ := c.env("PATH")
	return slices.ContainsFunc(filepath.SplitList(path), func(dir string) bool {
		info, err := os.Stat(filepath.Join(dir, command))
		return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
	})
}

// missing describes the problem of a worker that has neither the command nor npx.
func (s *Server) missing() string {
	return fmt.Sprintf("neither %s nor npx is on the PATH: install %s, or Node.js (nodejs.org), whose npx gets it", s.Transport.Command, s.NPX)
}
