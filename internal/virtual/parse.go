package virtual

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/kit/spell"
)

// The keys of tool_config that a virtual agent may set. All others, such as confirm_destructive, belong to the
// deployment.
const (
	enabledTools    = "enabled_tools"
	disabledTools   = "disabled_tools"
	toolPermissions = "tool_permissions"
)

// MaxSize is the maximum size of a definition, in bytes of JSON.
const MaxSize = 256 << 10

// Problems lists everything that is wrong with a definition.
type Problems []string

func (p Problems) Error() string { return strings.Join(p, "\n") }

// Parse parses a definition strictly. The error is Problems, with the wording of the spec if it has any. The parts that
// could be parsed are returned with the error, so that they can be checked further.
func Parse(raw []byte) (Definition, error) {
	var d Definition
	if len(raw) > MaxSize {
		return d, Problems{fmt.Sprintf("a definition can have at most %d bytes", MaxSize)}
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var all map[string]any
	if err := decoder.Decode(&all); err != nil || all == nil {
		return d, Problems{"a definition must be a JSON object"}
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return d, Problems{"unexpected text after the definition"}
	}
	var p parser
	p.keys("", all, "name", "type", "description", "system_prompt", "config")
	d.Name, d.Type = p.text("name", all["name"]), p.text("type", all["type"])
	d.Description, d.SystemPrompt = p.text("description", all["description"]), p.text("system_prompt", all["system_prompt"])
	d.Config = p.config(all["config"])
	if len(p.problems) > 0 {
		return d, p.problems
	}
	return d, nil
}

type parser struct{ problems Problems }

func (p *parser) say(format string, args ...any) {
	p.problems = append(p.problems, fmt.Sprintf(format, args...))
}

// places maps keys to their right places, for keys that people put elsewhere because entries of a configuration have
// them there.
var places = map[string]string{
	"name": "name", "type": "type", "description": "description", "system_prompt": "system_prompt", "agent_source": "config.agent_source",
	"default_model": "config.default_model", "mcp_servers": "config.mcp_servers", "tool_config": "config.tool_config",
	enabledTools: "config.tool_config.enabled_tools", disabledTools: "config.tool_config.disabled_tools",
	toolPermissions: "config.tool_config.tool_permissions", "custom_instructions": "system_prompt",
}

// keys reports unknown keys at a place that ends with a dot.
func (p *parser) keys(at string, all map[string]any, known ...string) {
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if slices.Contains(known, key) {
			continue
		}
		hint := spell.DidYouMean(key, known)
		if place, ok := places[key]; ok {
			hint = "; it belongs at " + place
		}
		p.say("%s%s is not known%s", at, key, hint)
	}
}

func (p *parser) text(at string, value any) string {
	text, ok := value.(string)
	if !ok && value != nil {
		p.say("%s must be a string", at)
	}
	return text
}

// texts returns a list of texts, or nil if there is none.
func (p *parser) texts(at string, value any) (out []string) {
	list, ok := value.([]any)
	if !ok && value != nil {
		p.say("%s must be a list", at)
	}
	for n, one := range list {
		out = append(out, p.text(fmt.Sprintf("%s[%d]", at, n), one))
	}
	return out
}

func (p *parser) object(at string, value any) map[string]any {
	object, ok := value.(map[string]any)
	if !ok && value != nil {
		p.say("%s must be a dictionary", at)
	}
	return object
}

func (p *parser) config(value any) (c Config) {
	all := p.object("config", value)
	p.keys("config.", all, "agent_source", "default_model", "mcp_servers", "tool_config")
	c.AgentSource = Source
	if source := p.text("config.agent_source", all["agent_source"]); source != Source && source != "" {
		p.say("config.agent_source must be %q", Source)
	}
	if c.DefaultModel = p.text("config.default_model", all["default_model"]); strings.TrimSpace(c.DefaultModel) == "" {
		p.say("Virtual agents must specify a default_model")
	}
	c.MCPServers = p.texts("config.mcp_servers", all["mcp_servers"])
	c.ToolConfig = p.object("tool_config", all["tool_config"])
	p.toolConfig(c.ToolConfig)
	return c
}

func (p *parser) toolConfig(all map[string]any) {
	const at = "tool_config."
	p.keys(at, all, enabledTools, disabledTools, toolPermissions)
	p.texts(at+enabledTools, all[enabledTools])
	p.texts(at+disabledTools, all[disabledTools])
	permissions := p.object(at+toolPermissions, all[toolPermissions])
	for _, tool := range slices.Sorted(maps.Keys(permissions)) {
		p.permission(at+toolPermissions+"."+tool, permissions[tool])
	}
}

func (p *parser) permission(at string, value any) {
	if value == nil {
		p.say("%s must be a dictionary", at)
	}
	limits := p.object(at, value)
	for _, key := range slices.Sorted(maps.Keys(limits)) {
		_, isFlag := limits[key].(bool)
		switch {
		case slices.Contains([]string{"max_results", "rate_limit_per_minute", "rate_limit", "timeout_seconds"}, key):
			if !isInteger(limits[key]) {
				p.say("%s.%s must be an integer", at, key)
			}
		case strings.HasPrefix(key, "allowed_") && strings.HasSuffix(key, "_patterns"):
			p.texts(at+"."+key, limits[key])
		case key == "requires_approval":
			if !isFlag {
				p.say("%s.%s must be a boolean", at, key)
			}
		default:
			p.say("%s.%s is not known", at, key)
		}
	}
}

func isInteger(value any) bool {
	number, ok := value.(json.Number)
	if !ok {
		return false
	}
	_, err := number.Int64()
	return err == nil
}
