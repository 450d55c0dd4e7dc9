package configure

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/inquest-dev/inquest/internal/configuration"
	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/kit/braces"
	"github.com/inquest-dev/inquest/internal/trust/mask"
)

// imported holds the servers in an MCP client's file: Claude Desktop, Claude Code, Cursor and similar clients (mcpServers), or VS Code
// (servers).
type imported struct {
	file      string
	Servers   []serverEntry
	variables map[string]string // secrets in the file and defaults of its references, by variable name, for .env
	named     []string          // variables that the file refers to
	used      []string          // those that the configuration refers to
	notes     []string          // notes for the user
	refused   []error           // values that are no values of settings
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
	Args                    []json.RawMessage
	Env, Headers            map[string]json.RawMessage
	URL, ServerURL, HTTPURL string
	Disabled                bool
	Enabled                 *bool // nil means true
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
	known := []string{"type", "transport", "command", "args", "env", "headers", "url", "serverurl", "httpurl", "disabled", "enabled"}
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
	raw, err = hujson.Standardize(bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf"))) // comments and trailing commas, as VS Code has them
	if err != nil {
		// The cause quotes the file, which may hold secrets.
		place := strings.TrimPrefix(strings.TrimSuffix(err.Error(), fmt.Sprintf(": %v", errors.Unwrap(err))), "hujson: ")
		return nil, base.Usagef("%s is not an MCP client's configuration file: not valid JSON at %s", path, place)
	}
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
		if server := all[name]; server.Disabled || server.Enabled != nil && !*server.Enabled {
			out.note("server %q is disabled in the file and was not imported", name)
			delete(all, name)
			continue
		}
		out.names(all[name])
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out.server(ctx, name, all[name])
	}
	switch {
	case len(out.refused) > 0:
		return nil, base.Usagef("%s cannot be imported:\n%w", path, errors.Join(out.refused...))
	case len(out.Servers) == 0 && len(out.notes) > 0:
		return nil, base.Usagef("all MCP servers in %s are disabled", path)
	case len(out.Servers) == 0:
		return nil, base.Usagef("%s has no MCP servers: expected mcpServers, as in claude_desktop_config.json, or servers, "+
			"as in VS Code's mcp.json", path)
	}
	return out, nil
}

// names collects the variables that a server's values refer to. It runs first for all servers, so that no secret of another server gets
// the name of one.
func (i *imported) names(of clientServer) {
	texts := append([]json.RawMessage{}, of.Args...)
	texts = slices.AppendSeq(slices.AppendSeq(texts, maps.Values(of.Env)), maps.Values(of.Headers))
	for _, text := range append(texts, []byte(of.URL), []byte(of.ServerURL), []byte(of.HTTPURL)) {
		for _, f := range braces.ForeignIn(strings.Trim(string(text), `"`)) {
			i.named = append(i.named, f.Name)
		}
	}
}

// value returns a value as a text, with numbers as they are written. It returns false for null, and refuses lists and objects.
func (i *imported) value(server, key string, raw json.RawMessage) (string, bool) {
	switch raw[0] {
	case 'n':
		return "", false
	case '[', '{':
		kind := map[byte]string{'[': "a list", '{': "an object"}[raw[0]]
		i.refused = append(i.refused, fmt.Errorf("server %q: %s is %s: expected a string, a number, true or false", server, key, kind))
		return "", false
	case '"':
		var text string
		err := json.Unmarshal(raw, &text)
		return text, err == nil
	}
	return string(raw), true
}

// values returns the values of env or headers, without those that are null.
func (i *imported) values(server, section string, all map[string]json.RawMessage) map[string]string {
	texts := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if text, ok := i.value(server, section+" "+key, all[key]); ok {
			texts[key] = text
		}
	}
	return texts
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
		i.note("%s: agents get a network server's tools only if mcp_servers.%s.risk lists them as read_only", to.Name, to.Name)
	}
	env, headers := i.values(name, "env", from.Env), i.values(name, "headers", from.Headers)
	i.args(ctx, &to, i.arguments(name, from.Args), env)
	for _, key := range slices.Sorted(maps.Keys(env)) {
		to.Env = append(to.Env, setting{key, i.text(ctx, to.Name, key, env[key], false)})
	}
	for _, key := range slices.Sorted(maps.Keys(headers)) {
		if token, ok := strings.CutPrefix(headers[key], "Bearer "); ok && strings.EqualFold(key, "Authorization") {
			to.Bearer = i.text(ctx, to.Name, "TOKEN", token, false)
			continue
		}
		to.Headers = append(to.Headers, setting{key, i.text(ctx, to.Name, key, headers[key], false)})
	}
	i.Servers = append(i.Servers, to)
}

// arguments returns the arguments of a server, without those that are null.
func (i *imported) arguments(server string, all []json.RawMessage) (args []string) {
	for n, raw := range all {
		if text, ok := i.value(server, fmt.Sprintf("args[%d]", n), raw); ok {
			args = append(args, text)
		}
	}
	return args
}

// args adds the arguments of a server.
func (i *imported) args(ctx context.Context, to *serverEntry, args []string, env map[string]string) {
	before := ""
	for n, arg := range args {
		value, references := arg, len(braces.ForeignIn(arg))
		refers := len(braces.ForeignInArgument(to.Command, args, n, env)) > 0
		if refers || references == 0 { // the program expands other references itself
			value = i.text(ctx, to.Name, "ARG", arg, true)
		}
		if references == 0 && value == arg && strings.HasPrefix(before, "-") && masked(ctx, before+" "+arg) {
			value = i.variable(to.Name, strings.TrimLeft(before, "-"), arg)
		}
		if value != arg && !refers {
			i.note("%s: an argument is a secret, and every user of this host can read arguments: use env if the server supports it", to.Name)
		}
		to.Args, before = append(to.Args, value), arg
	}
}

var (
	// harmless matches values that cannot be secrets.
	harmless = regexp.MustCompile(`^(?:true|false|[0-9]{0,6}|https?://[^@?\s]+|[./~][A-Za-z0-9_./ -]*|[a-z]{1,12}(?:-[a-z]{1,12}){0,3}|` +
		`[a-z]{2,10}://[^@?:\s]+(?::[0-9]+)?[^@?\s]*)$`)
	nameParts = regexp.MustCompile(`[^A-Z0-9]+`)
)

// text converts a value for the configuration: references to variables become ours, and secrets become variables. An argument counts as a
// secret only if it is known to be one, because most are not. A value in env or headers counts as a secret unless it cannot be one.
func (i *imported) text(ctx context.Context, server, key, value string, argument bool) string {
	secret := func(text string) bool { return masked(ctx, text) || masked(ctx, key+"="+text) && !argument }
	if all := braces.ForeignIn(value); len(all) > 0 {
		rest := braces.ReplaceForeign(value, func(braces.Foreign) string { return " " })
		mixed := masked(ctx, rest) || slices.ContainsFunc(strings.Fields(rest), func(word string) bool {
			return secret(word) && !harmless.MatchString(strings.ToLower(word))
		})
		if !mixed && !slices.ContainsFunc(all, func(f braces.Foreign) bool { return f.Name == "" }) {
			return braces.ReplaceForeign(value, i.reference)
		}
		for _, f := range all {
			i.note("%s: %s in %s was not imported: the server gets it as literal text, unless you replace it with {{.VARIABLE}}",
				server, f.Text, key)
		}
	}
	if !secret(value) && (argument && !strings.Contains(value, "{{") || harmless.MatchString(value)) {
		return value
	}
	return i.variable(server, key, value)
}

// reference converts a reference to a variable. Its default goes to .env, which never overrides the environment.
func (i *imported) reference(f braces.Foreign) string {
	i.used = append(i.used, f.Name)
	if f.Default != nil {
		if had, taken := i.variables[f.Name]; taken && had != *f.Default {
			i.note("the file has several defaults for %s: .env has the first", f.Name)
		} else {
			i.variables[f.Name] = *f.Default
		}
	}
	return f.Ours()
}

// asked returns the variables that the user has to set, sorted.
func (i *imported) asked() []string {
	names := slices.DeleteFunc(slices.Clone(i.used), func(name string) bool {
		_, set := i.variables[name]
		return set
	})
	slices.Sort(names)
	return slices.Compact(names)
}

// variable replaces a value with a variable.
func (i *imported) variable(server, key, value string) string {
	upper := func(text string) string {
		return strings.Trim(nameParts.ReplaceAllString(strings.ToUpper(text), "_"), "_")
	}
	name := upper(key)
	general := []string{"URL", "ARG", "TOKEN", "AUTHORIZATION", "PATH", "HOME"}
	taken := func(name string) bool {
		had, set := i.variables[name]
		return set && had != value || slices.Contains(i.named, name)
	}
	if taken(name) || name == "" || name[0] <= '9' || slices.Contains(general, name) {
		name = "MCP_" + upper(server) + "_" + name
	}
	for n, base := 2, name; taken(name); n++ {
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
	if i == nil || len(i.variables)+len(i.asked()) == 0 {
		return "", nil
	}
	all := maps.Clone(i.variables)
	for _, name := range i.asked() {
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
		c.Say("%s contains the file's secrets and defaults (%s) and is readable only by you. Keep it out of version control", path,
			strings.Join(slices.Sorted(maps.Keys(i.variables)), ", "))
	}
	if asked := i.asked(); len(asked) > 0 {
		c.Say("set these variables, which the file refers to: %s", strings.Join(asked, ", "))
	}
	for _, note := range i.notes {
		c.Say("%s", note)
	}
	return nil
}
