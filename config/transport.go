package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// TransportStdio is the transport of a server that is a local process.
const TransportStdio = "stdio"

// Transport says how to reach an MCP server, its env expanded from the
// environment as it is now. An error names the variable and the server, never a value.
func (c *Config) Transport(server string) (Transport, error) {
	s, ok := c.MCPServers[server]
	if !ok {
		return Transport{}, fmt.Errorf("no MCP server named %q; there are: %s", server, list(c.MCPServers))
	}
	for _, u := range c.report.unset {
		if u.path.entry == entryPath("mcp_servers", server).text {
			return Transport{}, fmt.Errorf("MCP server %q: %s: variable %s is not set", server, u.path.text, u.name)
		}
	}
	t := s.Transport
	if t.Type == "" {
		t.Type = TransportStdio
	}
	t.Args = slices.Clone(t.Args)
	t.Env = make(map[string]string, len(s.Transport.Env))
	for _, name := range slices.Sorted(maps.Keys(s.Transport.Env)) {
		value, missing, err := expand(s.Transport.Env[name], c.env)
		switch {
		case err != nil:
			return Transport{}, fmt.Errorf("MCP server %q: env %s: %w", server, name, err)
		case len(missing) > 0:
			return Transport{}, fmt.Errorf("MCP server %q: env %s: variable %s is not set", server, name, strings.Join(missing, ", "))
		}
		t.Env[name] = value
	}
	return t, nil
}

// list names what a map holds, for messages.
func list[T any](m map[string]T) string {
	if len(m) == 0 {
		return "none"
	}
	return strings.Join(slices.Sorted(maps.Keys(m)), ", ")
}
