package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/virtual"
)

// AgentRules are the rules of a configuration for agents that are made at run time.
type AgentRules interface {
	// Owns reports whether the name is that of an agent of the configuration.
	Owns(name string) bool
	CheckVirtual(a virtual.Agent, knownTools []string) virtual.Problems
}

// AgentEdit is what somebody does to an agent of a project.
type AgentEdit struct {
	Project, Name, By string
	// Channel is what By came by, for the audit trail.
	Channel string
	// After is the version that is changed; 0 = the last one, whichever it is.
	After int
	Rules AgentRules
	// Tools are the names of those that there are, as far as servers could be asked.
	Tools []string
}

// VirtualAgents are the agents of a project, by name, with or without the deleted ones.
func (c *Client) VirtualAgents(ctx context.Context, project string, deleted bool) ([]virtual.Agent, error) {
	st, err := c.needStore(ctx)
	if err != nil {
		return nil, err
	}
	all, err := st.VirtualAgents(ctx, project)
	return slices.DeleteFunc(all, func(a virtual.Agent) bool { return a.Deleted && !deleted }), err
}

// VirtualAgent is the last version of an agent; record.ErrNotFound if there is none.
func (c *Client) VirtualAgent(ctx context.Context, project, name string) (a virtual.Agent, err error) {
	st, err := c.needStore(ctx)
	if err != nil {
		return a, err
	}
	found, err := st.VirtualAgents(ctx, project, name)
	if err != nil || len(found) == 0 || found[0].Deleted {
		return a, cmp.Or(err, record.ErrNotFound)
	}
	return found[0], nil
}

// VirtualVersions are all versions of an agent, the last one first.
func (c *Client) VirtualVersions(ctx context.Context, project, name string) ([]virtual.Agent, error) {
	st, err := c.needStore(ctx)
	if err != nil {
		return nil, err
	}
	return st.VirtualVersions(ctx, project, name)
}

// CreateAgent makes an agent by its definition, which has its name. The error is virtual.Problems if it is wrong, and
// virtual.ErrTaken where there is one of that name, also of the configuration.
func (c *Client) CreateAgent(ctx context.Context, e AgentEdit, definition []byte) (virtual.Agent, error) {
	d, err := virtual.Parse(definition)
	e.Name = d.Name
	return c.saveAgent(ctx, e, d, err, 0)
}

// ChangeAgent puts a definition in the place of the one that an agent has. The error may be virtual.ErrChanged, too.
func (c *Client) ChangeAgent(ctx context.Context, e AgentEdit, definition []byte) (virtual.Agent, error) {
	last, err := c.VirtualAgent(ctx, e.Project, e.Name)
	if err != nil {
		return last, err
	}
	d, err := virtual.Parse(definition)
	if err == nil && d.Name != "" && d.Name != e.Name {
		err = virtual.Problems{"the agent is named " + e.Name + ": copy it to give it another name"}
	}
	d.Name = e.Name
	return c.saveAgent(ctx, e, d, err, cmp.Or(e.After, last.Version))
}

// saveAgent saves a definition after a version, unless it is wrong.
func (c *Client) saveAgent(ctx context.Context, e AgentEdit, d virtual.Definition, wrong error, after int) (virtual.Agent, error) {
	a := virtual.Agent{Project: cmp.Or(e.Project, agent.DefaultProject), Name: d.Name, By: e.By, Channel: e.Channel, Definition: d}
	var problems virtual.Problems
	switch errors.As(wrong, &problems); {
	case problems == nil && e.Rules.Owns(a.Name):
		return a, virtual.ErrTaken
	case problems == nil:
		problems = e.Rules.CheckVirtual(a, e.Tools)
	case a.Name != "": // all that is wrong is said at once
		a.Definition = d.Sound(problems)
		for _, also := range e.Rules.CheckVirtual(a, e.Tools) {
			if !slices.Contains(problems, also) {
				problems = append(problems, also)
			}
		}
	}
	if len(problems) > 0 {
		return a, problems
	}
	st, err := c.needStore(ctx)
	if err != nil {
		return a, err
	}
	return st.SaveVirtualAgent(ctx, a, after)
}

// AgentCopy is what a copy changes; a field that is absent stays as it is in the original.
type AgentCopy struct {
	NewName      string          `json:"new_name" minLength:"1" maxLength:"64"`
	Description  string          `json:"description,omitempty" maxLength:"10000" doc:"absent = Copy of …"`
	SystemPrompt string          `json:"system_prompt,omitempty" maxLength:"100000"`
	Model        string          `json:"model,omitempty" maxLength:"500"`
	ToolConfig   json.RawMessage `json:"tool_config,omitempty" doc:"in the place of the whole tool_config"`
}

// CopyAgent makes an agent like another one that was made at run time: record.ErrNotFound if there is none.
func (c *Client) CopyAgent(ctx context.Context, e AgentEdit, copied AgentCopy) (virtual.Agent, error) {
	source, err := c.VirtualAgent(ctx, e.Project, e.Name)
	if err != nil {
		return source, err
	}
	d := source.Definition
	d.Name, d.Description = copied.NewName, cmp.Or(copied.Description, "Copy of "+e.Name)
	d.SystemPrompt, d.Config.DefaultModel = cmp.Or(copied.SystemPrompt, d.SystemPrompt), cmp.Or(copied.Model, d.Config.DefaultModel)
	text, err := json.Marshal(d)
	if err == nil && len(copied.ToolConfig) > 0 {
		text, err = d.WithTools(copied.ToolConfig)
	}
	if err != nil {
		return source, err
	}
	return c.CreateAgent(ctx, e, text)
}

// DeleteAgent ends an agent. Its versions are kept, and what runs goes on with the one that it has.
func (c *Client) DeleteAgent(ctx context.Context, e AgentEdit) error {
	last, err := c.VirtualAgent(ctx, e.Project, e.Name)
	if err != nil {
		return err
	}
	st, err := c.needStore(ctx)
	if err != nil {
		return err
	}
	after := cmp.Or(e.After, last.Version)
	last.By, last.Channel, last.At, last.Deleted = e.By, e.Channel, time.Time{}, true
	_, err = st.SaveVirtualAgent(ctx, last, after)
	return err
}
