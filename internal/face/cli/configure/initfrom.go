package configure

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

	"github.com/inquest-dev/inquest/internal/configuration"
	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/trust/mask"
)

// imported holds the servers in an MCP client's file: Claude Desktop, Claude Code, Cursor and similar clients (mcpServers), or VS Code
// (servers).
type imported struct {
	file      string
	Servers   []serverEntry
	variables map[string]string // secrets in the file, by variable name, for .env
	asked     []string          // variables without a value in the file
	notes     []string          // notes for the user
}

// serverEntry is an entry of mcp_servers.
type serverEntry struct {
	Name, URL, Type, Bearer string
	Command                 string
	Args                    []string
	Env, Headers            []setting

	Comment      string
	Notes        []string // further comments, one line each
	Masking      []string // groups of patterns
	Instructions []string // lines
	Tools        []string // the only tools that agents get; none means those that the server declares as read-only
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
func readClientFile(ctx context.Context, path string) (*imported, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, base.Usagef("%w", err)
	}
	raw = bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf"))
	var file struct {
		MCPServers map[string]clientServer
		Servers    map[string]clientServer
		MCP        struct{ Servers map[string]clientServer }
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		return nil, base.Usagef("%s is not an MCP client's configuration file: %w", path, withoutValues(err))
	}
	all := map[string]clientServer{}
	for _, some := range []map[string]clientServer{file.MCP.Servers, file.Servers, file.MCPServers} {
		maps.Copy(all, some)
	}
	out := &imported{file: path, variables: map[string]string{}}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if all[name].Disabled {
			out.note("server %q is disabled in the file and was not imported", name)
			continue
		}
		out.server(ctx, name, all[name])
	}
	if len(out.Servers) == 0 {
		return nil, base.Usagef("%s has no MCP servers: expected mcpServers, as in claude_desktop_config.json, or servers, "+
			"as in VS Code's mcp.json", path)
	}
	return out, nil
}

// withoutValues removes the values that JSON errors quote, which may be secrets.
func withoutValues(err error) error {
	switch e := err.(type) {
	case *json.SyntaxError:
		return fmt.Errorf("not valid JSON at byte %d", e.Offset)
	case *json.UnmarshalTypeError:
		return fmt.Errorf("%s must not be a JSON %s", e.Field, strings.Fields(e.Value)[0])
	}
	return err
}

func (i *imported) note(format string, args ...any) {
	i.notes = append(i.notes, fmt.Sprintf(format, args...))
}

var notInNames = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

func (i *imported) server(ctx context.Context, name string, from clientServer) {
	to := serverEntry{
		Name: strings.Trim(notInNames.ReplaceAllString(name, "-"), "-_"), Command: from.Command, Comment: "from the file of an MCP client",
	}
	if to.Name == "" || slices.ContainsFunc(i.Servers, func(s serverEntry) bool { return s.Name == to.Name }) {
		to.Name = fmt.Sprintf("server-%d", len(i.Servers)+1)
	}
	if to.Name != name {
		i.note("server %q was imported as %s", name, to.Name)
	}
	for _, key := range from.unknown {
		i.note("%s: the key %s was not imported", to.Name, key)
	}
	if address := cmp.Or(from.URL, from.ServerURL, from.HTTPURL); address != "" {
		to.URL = i.text(ctx, to.Name, "URL", address, true)
		to.Type, to.Command = "http", ""
		if kind := strings.ToLower(cmp.Or(from.Type, from.Transport)); kind == "sse" {
			to.Type = "sse"
		} else if kind == "" {
			i.note("%s: the file gives no transport type: assuming http (the alternative is sse)", to.Name)
		}
		i.note("%s: agents can use a network server's tools only if mcp_servers.%s.risk gives the risk of each tool", to.Name, to.Name)
	}
	before := ""
	for _, arg := range from.Args {
		value := i.text(ctx, to.Name, "ARG", arg, true)
		if said := before + " " + arg; value == arg && strings.HasPrefix(before, "-") && masked(ctx, said) {
			value = i.variable(to.Name, strings.TrimLeft(before, "-"), arg)
		}
		if value != arg && !strings.HasPrefix(arg, "${") {
			i.note("%s: an argument is a secret, and every user of this host can read arguments: use env if the server supports it", to.Name)
		}
		to.Args, before = append(to.Args, value), arg
	}
	for _, key := range slices.Sorted(maps.Keys(from.Env)) {
		to.Env = append(to.Env, setting{key, i.text(ctx, to.Name, key, fmt.Sprint(from.Env[key]), false)})
	}
	for _, key := range slices.Sorted(maps.Keys(from.Headers)) {
		value := fmt.Sprint(from.Headers[key])
		if token, ok := strings.CutPrefix(value, "Bearer "); ok && strings.EqualFold(key, "Authorization") {
			to.Bearer = i.text(ctx, to.Name, "TOKEN", token, false)
			continue
		}
		to.Headers = append(to.Headers, setting{key, i.text(ctx, to.Name, key, value, false)})
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
func (i *imported) text(ctx context.Context, server, key, value string, argument bool) string {
	if reference := input.FindStringSubmatch(value); reference != nil {
		name := strings.Trim(nameParts.ReplaceAllString(strings.ToUpper(reference[1]), "_"), "_")
		if !slices.Contains(i.asked, name) {
			i.asked = append(i.asked, name)
		}
		return "{{." + name + "}}"
	}
	secret := masked(ctx, value) || masked(ctx, key+"="+value) && !argument
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
func masked(ctx context.Context, text string) bool {
	return mask.Shown(ctx, text) != text
}

// dotenv returns the .env file with the secrets, or an empty string if there are none. For the trial, it also writes a .env file
// that sets every variable.
func (i *imported) dotenv(trial string) (string, error) {
	if i == nil || len(i.variables)+len(i.asked) == 0 {
		return "", nil
	}
	all := maps.Clone(i.variables)
	for _, name := range i.asked {
		all[name] = "unknown"
	}
	text, err := configuration.Dotenv(all)
	if err == nil {
		err = os.WriteFile(filepath.Join(trial, ".env"), []byte(text), 0o600)
	}
	if err != nil || len(i.variables) == 0 {
		return "", err
	}
	return configuration.Dotenv(i.variables)
}

// finish writes the secrets and prints the notes.
func (i *imported) finish(c *base.CLI, dir, secrets string) error {
	if i == nil {
		return nil
	}
	if secrets != "" {
		path := filepath.Join(dir, ".env")
		if err := createFile(path, secrets, 0o600); err != nil {
			return err
		}
		c.Say("%s contains the file's secrets (%s) and is readable only by you. Keep it out of version control", path,
			strings.Join(slices.Sorted(maps.Keys(i.variables)), ", "))
	}
	if len(i.asked) > 0 {
		c.Say("set these variables, which the file refers to: %s", strings.Join(i.asked, ", "))
	}
	for _, note := range i.notes {
		c.Say("%s", note)
	}
	return nil
}
