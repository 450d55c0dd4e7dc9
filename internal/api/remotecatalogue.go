package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/inquest-dev/inquest/internal/app"
	"github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/internal/memory"
	"github.com/inquest-dev/inquest/internal/strict"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/virtual"
)

// query appends parameters to a path. It leaves out empty ones.
func query(path string, pairs ...string) string {
	asked := url.Values{}
	for n := 0; n < len(pairs); n += 2 {
		if pairs[n+1] != "" {
			asked.Set(pairs[n], pairs[n+1])
		}
	}
	if len(asked) == 0 {
		return path
	}
	return path + "?" + asked.Encode()
}

// Tools lists the tools of the API's worker, and the problems with those that are missing.
func (r *Remote) Tools(ctx context.Context, agentName string, kind app.ToolType) (all []app.ToolInfo, troubles []error, err error) {
	found, err := call[toolList](ctx, r, http.MethodGet, query(base+"/tools", "agent", agentName, "type", string(kind)), nil)
	for _, trouble := range found.Troubles {
		troubles = append(troubles, errors.New(trouble))
	}
	if len(troubles) < found.Troubled {
		troubles = append(troubles, fmt.Errorf("%d servers or tools are missing: operators of all projects are told why", found.Troubled))
	}
	return found.Items, troubles, err
}

// ErrNeedsApproval means that the call needs a person's approval.
var ErrNeedsApproval = errors.New("the call needs a person's word")

// RunTool runs a tool on the API's host. The error may be a *tool.Refusal or ErrNeedsApproval.
func (r *Remote) RunTool(ctx context.Context, name, agentName, arguments string, approved bool) (tool.Result, error) {
	out, err := call[toolResult](ctx, r, http.MethodPost, base+"/tools/"+url.PathEscape(name)+"/run", runToolBody{
		Agent: agentName, Arguments: json.RawMessage(arguments), Approved: approved,
	})
	result := tool.Result{Status: tool.StatusSuccess, Content: out.Content, ErrorType: out.ErrorType}
	if out.IsError {
		result.Status = tool.StatusError
	}
	return result, err
}

// Config returns the configuration in force, as YAML and as a list of values.
func (r *Remote) Config(ctx context.Context, chain string) (text string, values []strict.Shown, err error) {
	out, err := call[inForce](ctx, r, http.MethodGet, query(base+"/config", "chain", chain), nil)
	return out.YAML, out.Values, err
}

// Agents lists the agents of a project, both from the configuration and made at run time.
func (r *Remote) Agents(ctx context.Context, project string) ([]AgentInfo, error) {
	out, err := call[page[AgentInfo]](ctx, r, http.MethodGet, query(agents, "project", project), nil)
	return out.Items, err
}

func agentPath(e client.AgentEdit, path string) string {
	return query(agents+"/"+url.PathEscape(e.Name)+path, "project", e.Project)
}

func (r *Remote) VirtualVersions(ctx context.Context, project, name string) (all []virtual.Agent, err error) {
	out, err := call[page[agentWhole]](ctx, r, http.MethodGet, agentPath(client.AgentEdit{Project: project, Name: name}, "/versions"), nil)
	for _, one := range out.Items {
		all = append(all, virtualOf(one))
	}
	return all, err
}

func virtualOf(a agentWhole) virtual.Agent {
	out := virtual.Agent{Project: a.Project, Name: a.Name, Version: a.Version, By: a.By, Deleted: a.Deleted, Definition: a.Definition}
	if a.At != nil {
		out.At = *a.At
	}
	return out
}

func (r *Remote) CreateAgent(ctx context.Context, e client.AgentEdit, definition []byte) (virtual.Agent, error) {
	out, err := call[agentWhole](ctx, r, http.MethodPost, query(agents, "project", e.Project), json.RawMessage(definition))
	return virtualOf(out), err
}

func (r *Remote) ChangeAgent(ctx context.Context, e client.AgentEdit, definition []byte) (virtual.Agent, error) {
	out, err := callWithin[agentWhole](ctx, r, remoteTimeout, http.MethodPut, agentPath(e, ""), json.RawMessage(definition), ifMatch(e))
	return virtualOf(out), err
}

// ifMatch restricts a change to one version.
func ifMatch(e client.AgentEdit) http.Header {
	if e.After == 0 {
		return nil
	}
	return http.Header{"If-Match": {strconv.Quote(strconv.Itoa(e.After))}}
}

func (r *Remote) CopyAgent(ctx context.Context, e client.AgentEdit, copied client.AgentCopy) (virtual.Agent, error) {
	out, err := call[agentWhole](ctx, r, http.MethodPost, agentPath(e, "/copy"), copied)
	return virtualOf(out), err
}

// DeleteAgent deletes an agent and returns the chains that used it.
func (r *Remote) DeleteAgent(ctx context.Context, e client.AgentEdit) (chains []string, err error) {
	out, err := callWithin[deletedAgent](ctx, r, remoteTimeout, http.MethodDelete, agentPath(e, ""), nil, ifMatch(e))
	return out.Chains, err
}

// Memory returns everything that an agent remembers. It reads archival entries page by page.
func (r *Remote) Memory(ctx context.Context, name string) (out memory.Snapshot, err error) {
	blocks, err := of[page[memory.Block]](ctx, r, http.MethodGet, "memory", name, "/blocks", nil)
	if err != nil {
		return out, err
	}
	out.Agent, out.Blocks = name, blocks.Items
	for n := 0; ; n++ {
		part, err := of[page[memory.Entry]](ctx, r, http.MethodGet, "memory", name, fmt.Sprintf("/archival?page=%d", n), nil)
		if out.Archival = append(out.Archival, part.Items...); err != nil || len(part.Items) < memory.PageSize {
			return out, err
		}
	}
}

// WriteBlock writes a memory block.
func (r *Remote) WriteBlock(ctx context.Context, name, label string, e memory.BlockEdit) error {
	_, err := of[memory.Block](ctx, r, http.MethodPut, "memory", name, "/blocks/"+url.PathEscape(label), e)
	return err
}

// Forget deletes a memory block or, if the label is empty, an archival entry. It returns record.ErrNotFound if there is none.
func (r *Remote) Forget(ctx context.Context, name, label string, entry int64) error {
	path := fmt.Sprintf("/archival/%d", entry)
	if label != "" {
		path = "/blocks/" + url.PathEscape(label)
	}
	_, err := of[named](ctx, r, http.MethodDelete, "memory", name, path, nil)
	return err
}
