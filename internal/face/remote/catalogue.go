package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/inquest-dev/inquest/internal/knowledge/memory"
	"github.com/inquest-dev/inquest/internal/knowledge/runbook"
	"github.com/inquest-dev/inquest/internal/strict"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/virtual"
)

// Tools lists the tools of the API's worker, and the problems with those that are missing.
func (r *Client) Tools(ctx context.Context, agentName string, kind system.ToolType) (all []system.ToolInfo, troubles []error, err error) {
	found, err := do(ctx, r, system.ListTools, system.ToolsIn{Agent: agentName, Type: string(kind)})
	for _, trouble := range found.Troubles {
		troubles = append(troubles, errors.New(trouble))
	}
	if len(troubles) < found.Troubled {
		troubles = append(troubles, fmt.Errorf("servers or tools that are missing: %d (an operator with access to all projects can see why)",
			found.Troubled))
	}
	return found.Items, troubles, err
}

// RunTool runs a tool on the API's host. The error may be a *tool.Refusal or system.ErrNeedsApproval.
func (r *Client) RunTool(ctx context.Context, name, agentName, arguments string, approved bool) (tool.Result, error) {
	out, err := do(ctx, r, system.RunTool, system.RunToolIn{Name: name, Body: system.RunToolBody{
		Agent: agentName, Arguments: json.RawMessage(arguments), Approved: approved,
	}})
	result := tool.Result{Status: tool.StatusSuccess, Content: out.Content, ErrorType: out.ErrorType}
	if out.IsError {
		result.Status = tool.StatusError
	}
	return result, err
}

// Config returns the configuration in force, as YAML and as a list of values.
func (r *Client) Config(ctx context.Context, chain string) (text string, values []strict.Shown, err error) {
	out, err := do(ctx, r, system.GetConfig, system.ConfigIn{Chain: chain})
	return out.YAML, out.Values, err
}

// Runbooks lists the runbooks of a project's repository, or those that match labels.
func (r *Client) Runbooks(ctx context.Context, project string, labels []string) ([]runbook.Found, error) {
	out, err := do(ctx, r, system.ListRunbooks, system.RunbooksIn{ProjectIn: system.ProjectIn{Project: project}, Labels: labels})
	return out.Items, err
}

// Agents lists the agents of a project, both from the configuration and made at run time.
func (r *Client) Agents(ctx context.Context, project string) ([]system.AgentInfo, error) {
	out, err := do(ctx, r, system.ListAgents, system.ProjectIn{Project: project})
	return out.Items, err
}

// one is the path of an agent.
func one(project, name string) system.OneAgent {
	return system.OneAgent{ProjectIn: system.ProjectIn{Project: project}, Name: name}
}

func (r *Client) VirtualVersions(ctx context.Context, project, name string) (all []virtual.Agent, err error) {
	out, err := do(ctx, r, system.ListAgentVersions, one(project, name))
	for _, version := range out.Items {
		all = append(all, virtualOf(version))
	}
	return all, err
}

func virtualOf(a system.AgentWhole) virtual.Agent {
	out := virtual.Agent{Project: a.Project, Name: a.Name, Version: a.Version, By: a.By, Deleted: a.Deleted, Definition: a.Definition}
	if a.At != nil {
		out.At = *a.At
	}
	return out
}

func (r *Client) CreateAgent(ctx context.Context, e system.AgentEdit, definition []byte) (virtual.Agent, error) {
	out, err := do(ctx, r, system.CreateAgent, system.CreateAgentIn{ProjectIn: system.ProjectIn{Project: e.Project}, Body: definition})
	return virtualOf(out), err
}

func (r *Client) ChangeAgent(ctx context.Context, e system.AgentEdit, definition []byte) (virtual.Agent, error) {
	out, err := do(ctx, r, system.ChangeAgent, system.ChangeAgentIn{OneAgent: one(e.Project, e.Name), Match: match(e), Body: definition})
	return virtualOf(out), err
}

// match restricts a change to one version.
func match(e system.AgentEdit) string {
	if e.After == 0 {
		return ""
	}
	return strconv.Quote(strconv.Itoa(e.After))
}

func (r *Client) CopyAgent(ctx context.Context, e system.AgentEdit, copied system.AgentCopy) (virtual.Agent, error) {
	out, err := do(ctx, r, system.CopyAgent, system.CopyAgentIn{OneAgent: one(e.Project, e.Name), Body: copied})
	return virtualOf(out), err
}

// DeleteAgent deletes an agent and returns the chains that used it.
func (r *Client) DeleteAgent(ctx context.Context, e system.AgentEdit) (chains []string, err error) {
	out, err := do(ctx, r, system.DeleteAgent, system.DeleteAgentIn{OneAgent: one(e.Project, e.Name), Match: match(e)})
	return out.Chains, err
}

// Memory returns everything that an agent remembers. It reads archival entries page by page.
func (r *Client) Memory(ctx context.Context, name string) (out memory.Snapshot, err error) {
	blocks, err := do(ctx, r, system.ListMemoryBlocks, system.AgentIn{Agent: name})
	if err != nil {
		return out, err
	}
	out.Agent, out.Blocks = name, blocks.Items
	for n := 0; ; n++ {
		part, err := do(ctx, r, system.SearchMemory, system.ArchivalIn{AgentIn: system.AgentIn{Agent: name}, Page: n})
		if out.Archival = append(out.Archival, part.Items...); err != nil || len(part.Items) < memory.PageSize {
			return out, err
		}
	}
}

// WriteBlock writes a memory block.
func (r *Client) WriteBlock(ctx context.Context, name, label string, e memory.BlockEdit) error {
	_, err := do(ctx, r, system.WriteMemoryBlock, system.BlockIn{LabelIn: labelled(name, label), Body: e})
	return err
}

// Forget deletes a memory block or, if the label is empty, an archival entry. It returns record.ErrNotFound if there is none.
func (r *Client) Forget(ctx context.Context, name, label string, entry int64) error {
	if label != "" {
		_, err := do(ctx, r, system.DeleteMemoryBlock, labelled(name, label))
		return err
	}
	_, err := do(ctx, r, system.DeleteMemory, system.EntryIn{AgentIn: system.AgentIn{Agent: name}, Entry: entry})
	return err
}

// labelled is the path of a memory block.
func labelled(name, label string) system.LabelIn {
	return system.LabelIn{AgentIn: system.AgentIn{Agent: name}, Label: label}
}
