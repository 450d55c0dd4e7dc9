// Package virtual defines agents that are made at run time and not by a configuration (spec: tools, "Virtual agents"):
// the form of a definition, and its versions. The configuration decides which servers, tools and models it may name.
package virtual

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
)

// Agent is one version of an agent. Every version is kept, and the last one is current.
type Agent struct {
	Project string    `json:"project"`
	Name    string    `json:"name"`
	Version int       `json:"version"` // from 1
	By      string    `json:"by"`
	Channel string    `json:"-"` // the channel that By used, for the audit trail; not read back
	At      time.Time `json:"at"`
	// Deleted marks a version that deletes the agent. It keeps the definition of the previous version.
	Deleted    bool       `json:"deleted,omitempty"`
	Definition Definition `json:"definition"`
}

// The kinds of errors that callers distinguish.
var (
	// ErrTaken means that an agent of that name exists.
	ErrTaken = errors.New("an agent with that name exists")
	// ErrChanged means that the agent was changed concurrently.
	ErrChanged = errors.New("the agent has changed since you read it")
)

// Source is the value of agent_source for agents that are made at run time.
const Source = "virtual"

// Definition is the author's definition of an agent.
type Definition struct {
	Name         string `json:"name"`
	Type         string `json:"type,omitempty"`
	Description  string `json:"description,omitempty"`
	SystemPrompt string `json:"system_prompt,omitempty"`
	Config       Config `json:"config"`
}

// Config holds the agent's settings.
type Config struct {
	AgentSource  string   `json:"agent_source"`
	DefaultModel string   `json:"default_model"`
	MCPServers   []string `json:"mcp_servers,omitempty"`
	// ToolConfig is kept in its original form, because some of its keys contain names of parameters.
	ToolConfig map[string]any `json:"tool_config,omitempty"`
}

// Identity is the key for memory and rate limits. Agents of two projects, or of a project and the configuration, share
// nothing.
func (a Agent) Identity() string { return a.Name + "@" + projectOf(a.Project) }

func projectOf(name string) string {
	if name == "" {
		return agent.DefaultProject
	}
	return name
}

// Tools returns the names of all tools that a definition mentions, by the key of the list.
func (d Definition) Tools() map[string][]string {
	out := map[string][]string{}
	for _, key := range []string{enabledTools, disabledTools} {
		list, _ := d.Config.ToolConfig[key].([]any)
		for _, name := range list {
			if text, ok := name.(string); ok {
				out[key] = append(out[key], text)
			}
		}
	}
	permissions, _ := d.Config.ToolConfig[toolPermissions].(map[string]any)
	for name := range permissions {
		out[toolPermissions] = append(out[toolPermissions], name)
	}
	return out
}

// WithTools returns the definition as JSON with another tool_config of any form.
func (d Definition) WithTools(config json.RawMessage) ([]byte, error) {
	d.Config.ToolConfig = nil
	text, err := json.Marshal(d)
	var whole, own map[string]json.RawMessage
	if err == nil {
		err = errors.Join(json.Unmarshal(text, &whole), json.Unmarshal(whole["config"], &own))
	}
	if err != nil {
		return nil, err
	}
	own["tool_config"] = config
	if whole["config"], err = json.Marshal(own); err != nil {
		return nil, err
	}
	return json.Marshal(whole)
}

// Sound returns the definition without the parts of tool_config in which Parse has found a problem.
func (d Definition) Sound(problems Problems) Definition {
	d.Config.ToolConfig = maps.Clone(d.Config.ToolConfig)
	for key := range d.Config.ToolConfig {
		at := "tool_config." + key
		if slices.ContainsFunc(problems, func(text string) bool { return strings.HasPrefix(text, at) }) {
			delete(d.Config.ToolConfig, key)
		}
	}
	return d
}

// Entry returns the definition as an entry of a configuration.
func (d Definition) Entry() (json.RawMessage, error) {
	entry := map[string]any{"default_model": d.Config.DefaultModel}
	for key, text := range map[string]string{"type": d.Type, "description": d.Description, "system_prompt": d.SystemPrompt} {
		if text != "" {
			entry[key] = text
		}
	}
	if len(d.Config.MCPServers) > 0 {
		entry["mcp_servers"] = d.Config.MCPServers
	}
	if len(d.Config.ToolConfig) > 0 {
		entry["tool_config"] = d.Config.ToolConfig
	}
	return json.Marshal(entry)
}
