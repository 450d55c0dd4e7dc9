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
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/virtual"
)

const (
	agents   = base + "/agents"
	agentOne = agents + "/{name}"
)

// agents registers the operations on agents: those in the configuration, which every project has, and those made at run time, each in one
// project.
func (s *Server) agents() {
	get := func(path, id, summary string) operation {
		return operation{method: http.MethodGet, path: path, id: id, role: config.RoleViewer, summary: summary}
	}
	register(s, get(agents, "list-agents", "List the agents, those made at run time included"), s.listAgents)
	register(s, get(agentOne, "get-agent", "Read an agent's definition"), s.getAgent)
	versions := get(agentOne+"/versions", "list-agent-versions", "List all versions of an agent made at run time, the last one first")
	register(s, versions, s.agentVersions)
	register(s, operation{
		method: http.MethodPost, path: agents, id: "create-agent", role: config.RoleAdmin, status: http.StatusCreated, lenient: true,
		summary: "Make an agent at run time",
	}, s.createAgent)
	register(s, operation{
		method: http.MethodPut, path: agentOne, id: "change-agent", role: config.RoleAdmin, lenient: true,
		summary: "Change an agent that was made at run time; what runs keeps its version",
	}, s.changeAgent)
	register(s, operation{
		method: http.MethodDelete, path: agentOne, id: "delete-agent", role: config.RoleAdmin,
		summary: "Delete an agent that was made at run time; its versions are kept",
	}, s.deleteAgent)
	register(s, operation{
		method: http.MethodPost, path: agentOne + "/copy", id: "copy-agent", role: config.RoleAdmin, status: http.StatusCreated,
		summary: "Make an agent like one that was made at run time",
	}, s.copyAgent)
	register(s, operation{
		method: http.MethodPost, path: agentOne + "/run", id: "run-agent", role: config.RoleOperator, status: http.StatusCreated, body: maxData,
		summary: "Have an agent work by itself: an investigation with nobody else in it",
	}, s.runAgent)
	register(s, get(base+"/runs/{id}", "get-run", "Read what came of an agent's work by itself"), s.getRun)
	item := s.huma.OpenAPI().Paths[agentOne]
	for _, op := range []*huma.Operation{item.Put, item.Delete} {
		op.Responses["412"] = &huma.Response{Description: http.StatusText(http.StatusPreconditionFailed), Content: op.Responses["409"].Content}
	}
}

// AgentInfo is an agent in a list.
type AgentInfo struct {
	Name        string        `json:"name"`
	Type        string        `json:"type"`
	Pattern     agent.Pattern `json:"pattern"`
	Description string        `json:"description,omitempty"`
	Source      string        `json:"source" enum:"config,virtual" doc:"config = the configuration has it, and it is changed there"`
	Version     int           `json:"version,omitempty" doc:"of an agent that was made at run time"`
	Identity    string        `json:"identity" doc:"who keeps its memory: its name; of an agent made at run time, NAME@PROJECT"`
}

// agentWhole is an agent together with its definition.
type agentWhole struct {
	AgentInfo
	Project    string             `json:"project,omitempty"`
	By         string             `json:"by,omitempty" doc:"who has made this version"`
	At         *time.Time         `json:"at,omitempty"`
	Deleted    bool               `json:"deleted,omitempty"`
	Definition virtual.Definition `json:"definition"`
	Chains     []string           `json:"chains" doc:"of the configuration, that it works in"`
}

func infoOf(d virtual.Definition, source string, version int) AgentInfo {
	row, _ := agent.LookupType(d.Type)
	return AgentInfo{d.Name, row.Name, row.Pattern, d.Description, source, version, d.Name}
}

func infoOfMade(a virtual.Agent) AgentInfo {
	info := infoOf(a.Definition, virtual.Source, a.Version)
	info.Identity = a.Identity()
	return info
}

func (s *Server) wholeOf(a virtual.Agent) agentWhole {
	chains := s.opts.Config().ChainsWith(a.Name, a.Project)
	return agentWhole{infoOfMade(a), a.Project, a.By, &a.At, a.Deleted, a.Definition, append([]string{}, chains...)}
}

// ownAgent returns the agent with this name in the configuration, and whether there is one.
func (s *Server) ownAgent(name, project string) (agentWhole, bool) {
	cfg := s.opts.Config()
	d, ok := cfg.EntryOf(name)
	chains := append([]string{}, cfg.ChainsWith(name, project)...)
	return agentWhole{AgentInfo: infoOf(d, "config", 0), Definition: d, Chains: chains}, ok && cfg.Owns(name)
}

func (s *Server) listAgents(ctx context.Context, in *ProjectIn) (*body[page[AgentInfo]], error) {
	project, err := accessOf(ctx).owner(in.Project)
	if err != nil {
		return nil, err
	}
	made, err := s.opts.System.VirtualAgents(ctx, project, false)
	if err != nil {
		return nil, err
	}
	all := AgentInfos(s.opts.Config(), made)
	slices.SortFunc(all, func(a, b AgentInfo) int { return cmp.Compare(a.Name, b.Name) })
	return &body[page[AgentInfo]]{page[AgentInfo]{Items: all}}, nil
}

// AgentInfos lists the agents in a configuration, followed by the agents made at run time. The result is never nil.
func AgentInfos(cfg *config.Config, made []virtual.Agent) []AgentInfo {
	all := []AgentInfo{}
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

// OneAgent is the path of an agent in a project.
type OneAgent struct {
	ProjectIn
	Name string `path:"name" maxLength:"200"`
}

// agentOut is an agent with its version as the ETag.
type agentOut struct {
	ETag string `header:"ETag"`
	Body agentWhole
}

func (s *Server) shownAgent(a virtual.Agent, err error) (*agentOut, error) {
	if err != nil {
		return nil, err
	}
	return &agentOut{strconv.Quote(strconv.Itoa(a.Version)), s.wholeOf(a)}, nil
}

func (s *Server) getAgent(ctx context.Context, in *OneAgent) (*agentOut, error) {
	project, err := accessOf(ctx).owner(in.Project)
	if err != nil {
		return nil, err
	}
	if own, ok := s.ownAgent(in.Name, project); ok {
		return &agentOut{Body: own}, nil
	}
	return s.shownAgent(s.opts.System.VirtualAgent(ctx, project, in.Name))
}

func (s *Server) agentVersions(ctx context.Context, in *OneAgent) (*body[page[agentWhole]], error) {
	project, err := accessOf(ctx).owner(in.Project)
	if err != nil {
		return nil, err
	}
	all, err := s.opts.System.VirtualVersions(ctx, project, in.Name)
	if err == nil && len(all) == 0 {
		err = errHidden
	}
	out := page[agentWhole]{Items: []agentWhole{}}
	for _, a := range all {
		out.Items = append(out.Items, s.wholeOf(a))
	}
	return &body[page[agentWhole]]{out}, err
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
	Name         string `json:"name,omitempty" maxLength:"64" doc:"needed to make an agent"`
	Type         string `json:"type,omitempty" doc:"absent = default"`
	Description  string `json:"description,omitempty"`
	SystemPrompt string `json:"system_prompt,omitempty" doc:"in the place of the type's own"`
	Config       struct {
		AgentSource  string   `json:"agent_source,omitempty" enum:"virtual"`
		DefaultModel string   `json:"default_model" minLength:"1" doc:"entry of llm_providers, provider:model, OpenAI's model, or selector:NAME"`
		MCPServers   []string `json:"mcp_servers,omitempty" doc:"servers whose tools it is offered, besides those of enabled_tools"`
		ToolConfig   struct {
			EnabledTools  []string `json:"enabled_tools,omitempty" doc:"the only tools that it has; their servers are attached"`
			DisabledTools []string `json:"disabled_tools,omitempty"`
			// Keyed by tool, with the keys max_results, rate_limit_per_minute, timeout_seconds, requires_approval and
			// allowed_PARAMETER_patterns.
			ToolPermissions map[string]map[string]any `json:"tool_permissions,omitempty" doc:"by tool; the keys are those of the configuration"`
		} `json:"tool_config,omitempty"`
	} `json:"config"`
}

// edit returns the edit that a request makes to an agent. It asks the tool servers for their tools only if the definition names any.
func (s *Server) edit(ctx context.Context, project, name, match string, namesTools bool) (e client.AgentEdit, err error) {
	who := accessOf(ctx)
	e = client.AgentEdit{Name: name, By: who.name, Channel: who.channel, Rules: s.opts.Config()}
	if e.Project, err = who.owner(project); err != nil {
		return e, err
	}
	if match = strings.Trim(strings.TrimPrefix(match, "W/"), `"`); match != "" && match != "*" {
		if e.After, err = strconv.Atoi(match); err != nil || e.After < 1 {
			return e, fmt.Errorf("%w: give the ETag as If-Match", virtual.ErrChanged)
		}
	}
	if s.opts.Config().Owns(name) && name != "" {
		return e, huma.Error409Conflict("the agent is the configuration's: it is changed there")
	}
	if !namesTools {
		return e, nil
	}
	box, err := s.toolbox(ctx)
	if err != nil {
		return e, err
	}
	e.Tools, err = box.Names(ctx)
	return e, err
}

type createAgentIn struct {
	ProjectIn
	Body definitionBody
}

func (s *Server) createAgent(ctx context.Context, in *createAgentIn) (*agentOut, error) {
	e, err := s.edit(ctx, in.Project, "", "", namesTools(in.Body.raw))
	if err != nil {
		return nil, err
	}
	return s.shownAgent(s.opts.System.CreateAgent(ctx, e, in.Body.raw))
}

func namesTools(raw json.RawMessage) bool {
	d, _ := virtual.Parse(raw) // other problems are reported later
	return len(d.Tools()) > 0
}

type changeAgentIn struct {
	OneAgent
	Match string `header:"If-Match" maxLength:"100" doc:"the ETag of the version that is changed; absent = the last one, whichever it is"`
	Body  definitionBody
}

func (s *Server) changeAgent(ctx context.Context, in *changeAgentIn) (*agentOut, error) {
	e, err := s.edit(ctx, in.Project, in.Name, in.Match, namesTools(in.Body.raw))
	if err != nil {
		return nil, err
	}
	return s.shownAgent(s.opts.System.ChangeAgent(ctx, e, in.Body.raw))
}

type deleteAgentIn struct {
	OneAgent
	Match string `header:"If-Match" maxLength:"100" doc:"the ETag of the version that is deleted; absent = the last one, whichever it is"`
}

// deletedAgent is the result of deleting an agent.
type deletedAgent struct {
	Name   string   `json:"name"`
	Chains []string `json:"chains" doc:"of the configuration, that it worked in: until there is one of its name again, they are refused"`
}

func (s *Server) deleteAgent(ctx context.Context, in *deleteAgentIn) (*body[deletedAgent], error) {
	e, err := s.edit(ctx, in.Project, in.Name, in.Match, false)
	if err == nil {
		err = s.opts.System.DeleteAgent(ctx, e)
	}
	return &body[deletedAgent]{deletedAgent{in.Name, append([]string{}, s.opts.Config().ChainsWith(in.Name, e.Project)...)}}, err
}

type copyAgentIn struct {
	OneAgent
	Body client.AgentCopy
}

func (s *Server) copyAgent(ctx context.Context, in *copyAgentIn) (*agentOut, error) {
	e, err := s.edit(ctx, in.Project, in.Name, "", true)
	if err != nil {
		return nil, err
	}
	return s.shownAgent(s.opts.System.CopyAgent(ctx, e, in.Body))
}

type runAgentIn struct {
	Name string `path:"name" maxLength:"200"`
	Key  string `header:"Idempotency-Key" maxLength:"255" doc:"the same key and body again give the run that was started"`
	Body struct {
		Project  string            `json:"project,omitempty" maxLength:"63" doc:"whose it is; absent = default, or the only one of the token"`
		Data     json.RawMessage   `json:"data" doc:"what the agent is to work on: text, or any JSON"`
		Provider string            `json:"provider,omitempty" maxLength:"500" doc:"in the place of its model"`
		Metadata map[string]string `json:"metadata,omitempty" doc:"facts of the caller's own"`
	}
}

func (s *Server) runAgent(ctx context.Context, in *runAgentIn) (*startOut, error) {
	project, err := accessOf(ctx).owner(in.Body.Project)
	if err == nil {
		err = s.knownAgent(ctx, project, in.Name)
	}
	if err != nil {
		return nil, err
	}
	b := startBody{Chain: config.OfAgent + in.Name, Project: project, Data: in.Body.Data, Metadata: in.Body.Metadata}
	b.Provider = in.Body.Provider
	out, err := s.start(ctx, &startIn{in.Key, b})
	if err == nil {
		out.Location = base + "/runs/" + out.Body.ID
	}
	return out, err
}

// knownAgent returns nil if a project has an agent, either from the configuration or made at run time.
func (s *Server) knownAgent(ctx context.Context, project, name string) error {
	if s.opts.Config().Owns(name) {
		return nil
	}
	_, err := s.opts.System.VirtualAgent(ctx, project, name)
	return err
}

// agentRun is a run of one agent by itself.
type agentRun struct {
	ID        string       `json:"id" doc:"of the investigation that it is"`
	Agent     string       `json:"agent"`
	Project   string       `json:"project"`
	Status    agent.Status `json:"status"`
	Result    string       `json:"result,omitempty"`
	Error     string       `json:"error,omitempty"`
	StartedAt *time.Time   `json:"started_at,omitempty"`
	EndedAt   *time.Time   `json:"ended_at,omitempty"`
}

func (s *Server) getRun(ctx context.Context, in *ByID) (*body[agentRun], error) {
	found, err := s.getInvestigation(ctx, in)
	if err != nil {
		return nil, err
	}
	r := found.Body.Investigation
	name, alone := strings.CutPrefix(r.Chain, config.OfAgent)
	if r.Chain != "" && !alone { // a run without a record has no chain name
		return nil, record.ErrNotFound
	}
	out := agentRun{ID: r.ID, Agent: name, Project: r.Project, Status: r.Status, Result: r.Report, Error: r.Error, EndedAt: r.EndedAt}
	if !r.StartedAt.IsZero() {
		out.StartedAt = &r.StartedAt
	}
	return &body[agentRun]{out}, nil
}

// wrongDefinition is the error message that precedes the list of problems.
const wrongDefinition = "the definition of the agent is wrong"

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
	return huma.Error400BadRequest(wrongDefinition, details...)
}
