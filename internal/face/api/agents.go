package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/configuration"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/virtual"
)

// agents serves the agents: those in the configuration, which every project has, and those made at run time, each in one project.
type agents struct {
	base
	tools *tools
	runs  investigations
}

func (h agents) routes(to *Server) {
	register(to, system.ListAgents, h.listAgents)
	add(to, system.GetAgent.Operation, h.getAgent)
	register(to, system.ListAgentVersions, h.agentVersions)
	addWith(to, operation{Operation: system.CreateAgent.Operation, lenient: true}, h.createAgent)
	addWith(to, operation{Operation: system.ChangeAgent.Operation, lenient: true}, h.changeAgent)
	register(to, system.DeleteAgent, h.deleteAgent)
	add(to, system.CopyAgent.Operation, h.copyAgent)
	add(to, system.RunAgent.Operation, h.runAgent)
	register(to, system.GetRun, h.getRun)
	item := to.huma.OpenAPI().Paths[system.GetAgent.Path]
	for _, op := range []*huma.Operation{item.Put, item.Delete} {
		op.Responses["412"] = &huma.Response{Description: http.StatusText(http.StatusPreconditionFailed), Content: op.Responses["409"].Content}
	}
}

func infoOf(d virtual.Definition, source string, version int) system.AgentInfo {
	row, _ := agent.LookupType(d.Type)
	return system.AgentInfo{
		Name: d.Name, Type: row.Name, Pattern: row.Pattern, Description: d.Description, Source: source, Version: version, Identity: d.Name,
	}
}

func infoOfMade(a virtual.Agent) system.AgentInfo {
	info := infoOf(a.Definition, virtual.Source, a.Version)
	info.Identity = a.Identity()
	return info
}

func (h agents) wholeOf(a virtual.Agent) system.AgentWhole {
	chains := h.opts.Config().ChainsWith(a.Name, a.Project)
	return system.AgentWhole{
		AgentInfo: infoOfMade(a), Project: a.Project, By: a.By, At: &a.At, Deleted: a.Deleted, Definition: a.Definition,
		Chains: append([]string{}, chains...),
	}
}

// ownAgent returns the agent with this name in the configuration, and whether there is one.
func (h agents) ownAgent(name, project string) (system.AgentWhole, bool) {
	cfg := h.opts.Config()
	d, ok := cfg.EntryOf(name)
	chains := append([]string{}, cfg.ChainsWith(name, project)...)
	return system.AgentWhole{AgentInfo: infoOf(d, "config", 0), Definition: d, Chains: chains}, ok && cfg.Owns(name)
}

func (h agents) listAgents(ctx context.Context, in *system.ProjectIn) (*body[system.Page[system.AgentInfo]], error) {
	project, err := accessOf(ctx).owner(in.Project)
	if err != nil {
		return nil, err
	}
	made, err := h.opts.System.VirtualAgents(ctx, project, false)
	if err != nil {
		return nil, err
	}
	all := AgentInfos(h.opts.Config(), made)
	slices.SortFunc(all, func(a, b system.AgentInfo) int { return cmp.Compare(a.Name, b.Name) })
	return reply(system.Page[system.AgentInfo]{Items: all}), nil
}

// AgentInfos lists the agents in a configuration, followed by the agents made at run time. The result is never nil.
func AgentInfos(cfg *configuration.Config, made []virtual.Agent) []system.AgentInfo {
	all := []system.AgentInfo{}
	for _, d := range cfg.AgentDefinitions() {
		all = append(all, infoOf(d, "config", 0))
	}
	for _, a := range made {
		if !cfg.Owns(a.Name) {
			all = append(all, infoOfMade(a))
		}
	}
	return all
}

// agentOut is an agent with its version as the ETag.
type agentOut struct {
	ETag string `header:"ETag"`
	Body system.AgentWhole
}

func (h agents) shownAgent(a virtual.Agent, err error) (*agentOut, error) {
	if err != nil {
		return nil, err
	}
	return &agentOut{strconv.Quote(strconv.Itoa(a.Version)), h.wholeOf(a)}, nil
}

func (h agents) getAgent(ctx context.Context, in *system.OneAgent) (*agentOut, error) {
	project, err := accessOf(ctx).owner(in.Project)
	if err != nil {
		return nil, err
	}
	if own, ok := h.ownAgent(in.Name, project); ok {
		return &agentOut{Body: own}, nil
	}
	return h.shownAgent(h.opts.System.VirtualAgent(ctx, project, in.Name))
}

func (h agents) agentVersions(ctx context.Context, in *system.OneAgent) (*body[system.Page[system.AgentWhole]], error) {
	project, err := accessOf(ctx).owner(in.Project)
	if err != nil {
		return nil, err
	}
	all, err := h.opts.System.VirtualVersions(ctx, project, in.Name)
	if err == nil && len(all) == 0 {
		err = errHidden
	}
	out := system.Page[system.AgentWhole]{Items: []system.AgentWhole{}}
	for _, a := range all {
		out.Items = append(out.Items, h.wholeOf(a))
	}
	return reply(out), err
}

// definitionBody is a definition in its original form. All its problems are reported at once, in the words of the spec.
type definitionBody struct{ raw json.RawMessage }

// UnmarshalJSON keeps the raw text.
func (b *definitionBody) UnmarshalJSON(raw []byte) error {
	b.raw = slices.Clone(raw)
	return nil
}

// Schema returns the schema of a definition.
func (definitionBody) Schema(r huma.Registry) *huma.Schema {
	return huma.SchemaFromType(r, reflect.TypeFor[definitionDoc]())
}

// definitionDoc documents what virtual.Parse accepts.
type definitionDoc struct {
	Name         string `json:"name,omitempty" maxLength:"64" doc:"name of the agent; required to create one"`
	Type         string `json:"type,omitempty" doc:"agent type (default: the type named default)"`
	Description  string `json:"description,omitempty"`
	SystemPrompt string `json:"system_prompt,omitempty" doc:"system prompt to use instead of the agent type's"`
	Config       struct {
		AgentSource  string   `json:"agent_source,omitempty" enum:"virtual"`
		DefaultModel string   `json:"default_model" minLength:"1" doc:"entry of llm_providers, PROVIDER:MODEL, an OpenAI model, or selector:NAME"`
		MCPServers   []string `json:"mcp_servers,omitempty" doc:"servers whose tools the agent may use; enabled_tools restricts them"`
		ToolConfig   struct {
			EnabledTools  []string `json:"enabled_tools,omitempty" doc:"the only tools the agent may use; mcp_servers need not list their servers"`
			DisabledTools []string `json:"disabled_tools,omitempty"`
			// Keyed by tool, with the keys max_results, rate_limit_per_minute, timeout_seconds, requires_approval and
			// allowed_PARAMETER_patterns.
			ToolPermissions map[string]map[string]any `json:"tool_permissions,omitempty" doc:"permissions by tool, with the configuration's keys"`
		} `json:"tool_config,omitempty"`
	} `json:"config"`
}

// edit returns the edit that a request makes to an agent. It asks the tool servers for their tools only if the definition names any.
func (h agents) edit(ctx context.Context, project, name, match string, namesTools bool) (e system.AgentEdit, err error) {
	who := accessOf(ctx)
	e = system.AgentEdit{Name: name, By: who.name, Channel: who.channel, Rules: h.opts.Config()}
	if e.Project, err = who.owner(project); err != nil {
		return e, err
	}
	if match = strings.Trim(strings.TrimPrefix(match, "W/"), `"`); match != "" && match != "*" {
		if e.After, err = strconv.Atoi(match); err != nil || e.After < 1 {
			return e, fmt.Errorf("%w: read the agent again and send its ETag as If-Match", virtual.ErrChanged)
		}
	}
	if h.opts.Config().Owns(name) && name != "" {
		return e, huma.Error409Conflict("this agent is defined in the configuration: change it there")
	}
	if !namesTools {
		return e, nil
	}
	box, err := h.tools.box(ctx)
	if err != nil {
		return e, err
	}
	e.Tools, err = box.Names(ctx)
	return e, err
}

type createAgentIn struct {
	system.ProjectIn
	Body definitionBody
}

func (h agents) createAgent(ctx context.Context, in *createAgentIn) (*agentOut, error) {
	e, err := h.edit(ctx, in.Project, "", "", namesTools(in.Body.raw))
	if err != nil {
		return nil, err
	}
	return h.shownAgent(h.opts.System.CreateAgent(ctx, e, in.Body.raw))
}

func namesTools(raw json.RawMessage) bool {
	d, _ := virtual.Parse(raw) // other problems are reported later
	return len(d.Tools()) > 0
}

type changeAgentIn struct {
	system.OneAgent
	Match string `header:"If-Match" maxLength:"100" doc:"ETag of the version to change; absent means the latest version"`
	Body  definitionBody
}

func (h agents) changeAgent(ctx context.Context, in *changeAgentIn) (*agentOut, error) {
	e, err := h.edit(ctx, in.Project, in.Name, in.Match, namesTools(in.Body.raw))
	if err != nil {
		return nil, err
	}
	return h.shownAgent(h.opts.System.ChangeAgent(ctx, e, in.Body.raw))
}

func (h agents) deleteAgent(ctx context.Context, in *system.DeleteAgentIn) (*body[system.DeletedAgent], error) {
	e, err := h.edit(ctx, in.Project, in.Name, in.Match, false)
	if err == nil {
		err = h.opts.System.DeleteAgent(ctx, e)
	}
	return reply(system.DeletedAgent{Name: in.Name, Chains: append([]string{}, h.opts.Config().ChainsWith(in.Name, e.Project)...)}), err
}

func (h agents) copyAgent(ctx context.Context, in *system.CopyAgentIn) (*agentOut, error) {
	e, err := h.edit(ctx, in.Project, in.Name, "", true)
	if err != nil {
		return nil, err
	}
	return h.shownAgent(h.opts.System.CopyAgent(ctx, e, in.Body))
}

func (h agents) runAgent(ctx context.Context, in *system.RunAgentIn) (*startOut, error) {
	project, err := accessOf(ctx).owner(in.Body.Project)
	if err == nil {
		err = h.knownAgent(ctx, project, in.Name)
	}
	if err != nil {
		return nil, err
	}
	b := system.StartBody{Chain: configuration.OfAgent + in.Name, Project: project, Data: in.Body.Data, Metadata: in.Body.Metadata}
	b.Provider = in.Body.Provider
	out, err := h.runs.start(ctx, &system.StartIn{Key: in.Key, Body: b})
	if err == nil {
		out.Location = system.Base + "/runs/" + out.Body.ID
	}
	return out, err
}

func (h agents) getRun(ctx context.Context, in *system.ByID) (*body[system.AgentRun], error) {
	found, err := h.runs.getInvestigation(ctx, in)
	if err != nil {
		return nil, err
	}
	r := found.Body.Investigation
	name, alone := strings.CutPrefix(r.Chain, configuration.OfAgent)
	if r.Chain != "" && !alone { // a run without a record has no chain name
		return nil, record.ErrNotFound
	}
	out := system.AgentRun{
		ID: r.ID, Agent: name, Project: r.Project, Status: r.Status, EndReason: r.EndReason, Caveats: r.Envelope.Caveats(),
		Result: r.Report, Error: r.Error, EndedAt: r.EndedAt,
	}
	if !r.StartedAt.IsZero() {
		out.StartedAt = &r.StartedAt
	}
	return reply(out), nil
}

// problemsOf returns the problems with an agent's definition as an HTTP error, or nil if err is something else.
func problemsOf(err error) error {
	problems, ok := errors.AsType[virtual.Problems](err)
	if !ok {
		return nil
	}
	var details []error
	for _, problem := range problems {
		details = append(details, &huma.ErrorDetail{Message: problem, Location: "body"})
	}
	return huma.Error400BadRequest(system.WrongDefinition, details...)
}
