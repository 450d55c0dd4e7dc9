package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/mask"
)

// imported holds the servers in an MCP client's file: Claude Desktop, Claude Code, Cursor and similar clients (mcpServers), or VS Code
// (servers).
type imported struct {
	Servers   []importedServer
	variables map[string]string // secrets in the file, by variable name, for .env
	asked     []string          // variables without a value in the file
	notes     []string          // notes for the user
}

type importedServer struct {
	Name, URL, Type, Bearer string
	Command                 string
	Args                    []string
	Env, Headers            []setting
}

type setting struct{ Name, Value string }

// clientServer is an entry of such a file. Clients have more keys than these.
type clientServer struct {
	Type, Transport         string
	Command                 string
	Args                    []string
	Env, Headers            map[string]any
	URL, ServerURL, HTTPURL string
	Disabled                bool
	unknown                 []string
}

func (s *clientServer) UnmarshalJSON(raw []byte) error {
	type plain clientServer
	if err := json.Unmarshal(raw, (*plain)(s)); err != nil {
		return err
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		return err
	}
	known := []string{"type", "transport", "command", "args", "env", "headers", "url", "serverurl", "httpurl", "disabled"}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if !slices.Contains(known, strings.ToLower(key)) {
			s.unknown = append(s.unknown, key)
		}
	}
	return nil
}

// readClientFile reads the servers in an MCP client's file.
func readClientFile(path string) (*imported, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, usagef("%w", err)
	}
	raw = bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf"))
	var file struct {
		MCPServers map[string]clientServer
		Servers    map[string]clientServer
		MCP        struct{ Servers map[string]clientServer }
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		return nil, usagef("%s is no file of an MCP client: %w", path, withoutValues(err))
	}
	all := map[string]clientServer{}
	for _, some := range []map[string]clientServer{file.MCP.Servers, file.Servers, file.MCPServers} {
		maps.Copy(all, some)
	}
	out := &imported{variables: map[string]string{}}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if all[name].Disabled {
			out.note("%s is disabled in the file and not imported", name)
			continue
		}
		out.server(name, all[name])
	}
	if len(out.Servers) == 0 {
		return nil, usagef("%s has no MCP server: it needs mcpServers, as in claude_desktop_config.json, or servers, as in VS Code's mcp.json",
			path)
	}
	return out, nil
}

// withoutValues removes the values that JSON errors quote, which may be secrets.
func withoutValues(err error) error {
	switch e := err.(type) {
	case *json.SyntaxError:
		return fmt.Errorf("it is not JSON, at byte %d", e.Offset)
	case *json.UnmarshalTypeError:
		return fmt.Errorf("%s must not be a JSON %s", e.Field, strings.Fields(e.Value)[0])
	}
	return err
}

func (i *imported) note(format string, args ...any) {
	i.notes = append(i.notes, fmt.Sprintf(format, args...))
}

var notInNames = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

func (i *imported) server(name string, from clientServer) {
	to := importedServer{Name: strings.Trim(notInNames.ReplaceAllString(name, "-"), "-_"), Command: from.Command}
	if to.Name == "" || slices.ContainsFunc(i.Servers, func(s importedServer) bool { return s.Name == to.Name }) {
		to.Name = fmt.Sprintf("server-%d", len(i.Servers)+1)
	}
	if to.Name != name {
		i.note("the server %q is called %s here", name, to.Name)
	}
	for _, key := range from.unknown {
		i.note("%s: the key %s is not imported", to.Name, key)
	}
	if address := cmp.Or(from.URL, from.ServerURL, from.HTTPURL); address != "" {
		to.URL = i.text(to.Name, "URL", address, true)
		to.Type, to.Command = "http", ""
		if kind := strings.ToLower(cmp.Or(from.Type, from.Transport)); kind == "sse" {
			to.Type = "sse"
		} else if kind == "" {
			i.note("%s: the file does not say its type: http is assumed, the other one is sse", to.Name)
		}
		i.note("%s: agents are offered the tools of a server on the network only if mcp_servers.%s.risk says what each does", to.Name, to.Name)
	}
	before := ""
	for _, arg := range from.Args {
		value := i.text(to.Name, "ARG", arg, true)
		if said := before + " " + arg; value == arg && strings.HasPrefix(before, "-") && masked(said) {
			value = i.variable(to.Name, strings.TrimLeft(before, "-"), arg)
		}
		if value != arg && !strings.HasPrefix(arg, "${") {
			i.note("%s: an argument is a secret, which everybody on the host can read: use env if the server can", to.Name)
		}
		to.Args, before = append(to.Args, value), arg
	}
	for _, key := range slices.Sorted(maps.Keys(from.Env)) {
		to.Env = append(to.Env, setting{key, i.text(to.Name, key, fmt.Sprint(from.Env[key]), false)})
	}
	for _, key := range slices.Sorted(maps.Keys(from.Headers)) {
		value := fmt.Sprint(from.Headers[key])
		if token, ok := strings.CutPrefix(value, "Bearer "); ok && strings.EqualFold(key, "Authorization") {
			to.Bearer = i.text(to.Name, "TOKEN", token, false)
			continue
		}
		to.Headers = append(to.Headers, setting{key, i.text(to.Name, key, value, false)})
	}
	i.Servers = append(i.Servers, to)
}

var (
	// input matches a client's reference to a variable or a prompt: ${env:NAME}, ${NAME}, ${input:id}.
	input = regexp.MustCompile(`^\$\{(?:env:|input:)?([A-Za-z_][A-Za-z0-9_.-]*)\}$`)
	// harmless matches values that cannot be secrets.
	harmless = regexp.MustCompile(`^(?:true|false|[0-9]{0,6}|https?://[^@?\s]+|[./~][A-Za-z0-9_./ -]*|[a-z]{1,12}(?:-[a-z]{1,12}){0,3}|` +
		`[a-z]{2,10}://[^@?:\s]+(?::[0-9]+)?[^@?\s]*)$`)
	nameParts = regexp.MustCompile(`[^A-Z0-9]+`)
)

// text converts a value for the configuration and replaces secrets with variables. An argument counts as a secret only if it is known to
// be one, because most are not. A value in env or headers counts as a secret unless it cannot be one.
func (i *imported) text(server, key, value string, argument bool) string {
	if reference := input.FindStringSubmatch(value); reference != nil {
		name := strings.Trim(nameParts.ReplaceAllString(strings.ToUpper(reference[1]), "_"), "_")
		if !slices.Contains(i.asked, name) {
			i.asked = append(i.asked, name)
		}
		return "{{." + name + "}}"
	}
	secret := masked(value) || masked(key+"="+value) && !argument
	if !secret && (argument && !strings.Contains(value, "{{") || harmless.MatchString(value)) {
		return value
	}
	return i.variable(server, key, value)
}

// variable replaces a value with a variable.
func (i *imported) variable(server, key, value string) string {
	upper := func(text string) string {
		return strings.Trim(nameParts.ReplaceAllString(strings.ToUpper(text), "_"), "_")
	}
	name := upper(key)
	general := []string{"URL", "ARG", "TOKEN", "AUTHORIZATION", "PATH", "HOME"}
	if had, taken := i.variables[name]; taken && had != value || name == "" || name[0] <= '9' || slices.Contains(general, name) {
		name = "MCP_" + upper(server) + "_" + name
	}
	for n, base := 2, name; ; n++ {
		if had, taken := i.variables[name]; !taken || had == value {
			break
		}
		name = fmt.Sprintf("%s_%d", base, n)
	}
	i.variables[name] = value
	return "{{." + name + "}}"
}

// masked reports whether masking finds a secret in a text.
func masked(text string) bool {
	return mask.Shown(context.Background(), text) != text
}

// dotenv returns the .env file with the secrets, or an empty string if there are none. It also writes one with a value for every variable
// for the trial.
func (i *imported) dotenv(trial string) (string, error) {
	if i == nil || len(i.variables)+len(i.asked) == 0 {
		return "", nil
	}
	all := maps.Clone(i.variables)
	for _, name := range i.asked {
		all[name] = "unknown"
	}
	text, err := config.Dotenv(all)
	if err == nil {
		err = os.WriteFile(filepath.Join(trial, ".env"), []byte(text), 0o600)
	}
	if err != nil || len(i.variables) == 0 {
		return "", err
	}
	return config.Dotenv(i.variables)
}

// finish writes the secrets and prints the notes.
func (i *imported) finish(c *cli, dir, secrets string) error {
	if i == nil {
		return nil
	}
	if secrets != "" {
		path := filepath.Join(dir, ".env")
		if err := createFile(path, secrets, 0o600); err != nil {
			return err
		}
		c.say("%s has the secrets of the file, readable by you alone: %s. Keep it out of version control", path,
			strings.Join(slices.Sorted(maps.Keys(i.variables)), ", "))
	}
	if len(i.asked) > 0 {
		c.say("set these variables, which the file only refers to: %s", strings.Join(i.asked, ", "))
	}
	for _, note := range i.notes {
		c.say("%s", note)
	}
	return nil
}
