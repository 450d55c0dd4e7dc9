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
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/virtual"
)

// VirtualAgents returns the agents of a project by name, optionally including deleted ones.
func (c *Client) VirtualAgents(ctx context.Context, project string, deleted bool) ([]virtual.Agent, error) {
	st, err := c.needStore(ctx)
	if err != nil {
		return nil, err
	}
	all, err := st.VirtualAgents(ctx, project)
	return slices.DeleteFunc(all, func(a virtual.Agent) bool { return a.Deleted && !deleted }), err
}

// VirtualAgent returns the last version of an agent, or record.ErrNotFound.
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

// VirtualVersions returns all versions of an agent, newest first.
func (c *Client) VirtualVersions(ctx context.Context, project, name string) ([]virtual.Agent, error) {
	st, err := c.needStore(ctx)
	if err != nil {
		return nil, err
	}
	return st.VirtualVersions(ctx, project, name)
}

// CreateAgent creates an agent from its definition, which includes the name. It returns virtual.Problems if the definition is wrong, and
// virtual.ErrTaken if the name is in use, in the configuration or otherwise.
func (c *Client) CreateAgent(ctx context.Context, e system.AgentEdit, definition []byte) (virtual.Agent, error) {
	d, err := virtual.Parse(definition)
	e.Name = d.Name
	return c.saveAgent(ctx, e, d, err, 0)
}

// ChangeAgent replaces the definition of an agent. It may also return virtual.ErrChanged.
func (c *Client) ChangeAgent(ctx context.Context, e system.AgentEdit, definition []byte) (virtual.Agent, error) {
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

// saveAgent saves a definition as the successor of a version, unless it is wrong.
func (c *Client) saveAgent(ctx context.Context, e system.AgentEdit, d virtual.Definition, wrong error, after int) (virtual.Agent, error) {
	a := virtual.Agent{Project: cmp.Or(e.Project, agent.DefaultProject), Name: d.Name, By: e.By, Channel: e.Channel, Definition: d}
	var problems virtual.Problems
	switch errors.As(wrong, &problems); {
	case problems == nil && e.Rules.Owns(a.Name):
		return a, virtual.ErrTaken
	case problems == nil:
		problems = e.Rules.CheckVirtual(a, e.Tools)
	case a.Name != "": // report all problems at once
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

// CopyAgent copies an agent that was made at run time. It returns record.ErrNotFound if there is none.
func (c *Client) CopyAgent(ctx context.Context, e system.AgentEdit, copied system.AgentCopy) (virtual.Agent, error) {
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

// DeleteAgent deletes an agent. Its versions are kept, and running work keeps the version that it has.
func (c *Client) DeleteAgent(ctx context.Context, e system.AgentEdit) error {
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
