package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"slices"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/app"
	"github.com/inquest-dev/inquest/internal/chaindraw"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/strict"
	"github.com/inquest-dev/inquest/internal/tool"
)

func (s *Server) catalogue() {
	get := func(path, id, summary string) operation {
		return operation{method: http.MethodGet, path: base + path, id: id, summary: summary, role: config.RoleViewer}
	}
	register(s, get("/chains", "list-chains", "List the chains that a project may run"), s.chains)
	register(s, get("/chains/{name}", "get-chain", "Read a chain as a plan, all that is inherited included"), s.chain)
	register(s, get("/chains/{name}/graph", "get-chain-graph", "Draw a chain: its stages and ways, as Mermaid, or as a picture"), s.graph)
	s.huma.OpenAPI().Paths[base+"/chains/{name}/graph"].Get.Responses["200"] = &huma.Response{
		Description: http.StatusText(http.StatusOK), Content: map[string]*huma.MediaType{
			"application/json": {Schema: s.huma.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[drawn](), true, "")},
			"image/svg+xml":    {Schema: &huma.Schema{Type: huma.TypeString}},
		},
	}
	register(s, get("/agent-types", "list-agent-types", "List the types of agents, and what each is able to do"), s.agentTypes)
	register(s, get("/tools", "list-tools", "List tools: those of MCP servers, built-in ones, and those of programs"), s.tools)
	run := get("/tools/{name}/run", "run-tool", "Run a tool by the policy that agents are under")
	run.method, run.role, run.everywhere = http.MethodPost, config.RoleAdmin, true
	register(s, run, s.runTool)
	show := get("/config", "get-config", "Read the configuration in force, and where each value is from; secrets are not in it")
	show.role, show.everywhere = config.RoleAdmin, true
	register(s, show, s.configuration)
}

type ProjectIn struct {
	Project string `query:"project" doc:"absent = default, or the only one of the token"`
}

func (s *Server) chains(ctx context.Context, in *ProjectIn) (*body[page[config.ChainInfo]], error) {
	project, err := accessOf(ctx).owner(in.Project)
	if err != nil {
		return nil, err
	}
	cfg := s.opts.Config()
	all := slices.DeleteFunc(cfg.Chains(), func(c config.ChainInfo) bool { return !cfg.ChainIn(c.Name, project) })
	return &body[page[config.ChainInfo]]{page[config.ChainInfo]{Items: append([]config.ChainInfo{}, all...)}}, nil
}

// ChainIn is the path of a chain.
type ChainIn struct {
	ProjectIn
	Name string `path:"name" maxLength:"200"`
}

// chainOf returns the name of a chain if the request's project may run it.
func (s *Server) chainOf(ctx context.Context, in *ChainIn) (*config.Config, string, error) {
	project, err := accessOf(ctx).owner(in.Project)
	cfg := s.opts.Config()
	if err == nil && !cfg.ChainIn(in.Name, project) {
		err = errHidden
	}
	return cfg, project, err
}

func (s *Server) chain(ctx context.Context, in *ChainIn) (*body[plan.Plan], error) {
	cfg, project, err := s.chainOf(ctx, in)
	if err != nil {
		return nil, err
	}
	p, err := s.plan(ctx, cfg, agent.Request{Chain: in.Name, Labels: agent.Labels{Project: project}})
	return &body[plan.Plan]{p}, err
}

// drawn is a chain drawn as a graph.
type drawn struct {
	Graph   config.Graph `json:"graph"`
	Mermaid string       `json:"mermaid"`
}

type graphIn struct {
	ChainIn
	Format string `query:"format" enum:"json,svg" doc:"svg = a picture"`
}

func (s *Server) graph(ctx context.Context, in *graphIn) (*huma.StreamResponse, error) {
	cfg, _, err := s.chainOf(ctx, &in.ChainIn)
	if err != nil {
		return nil, err
	}
	graph, err := config.GraphOf(cfg, in.Name)
	if err != nil {
		return nil, err
	}
	d := chaindraw.New(graph, chaindraw.UnattendedOf(cfg, in.Name))
	kind, text := "image/svg+xml", []byte(d.SVG())
	if in.Format != "svg" {
		kind = "application/json"
		if text, err = json.Marshal(drawn{graph, d.Mermaid()}); err != nil {
			return nil, err
		}
	}
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		hc.SetHeader("Content-Type", kind)
		_, _ = hc.BodyWriter().Write(text) // an error means that the client has left
	}}, nil
}

// agentType describes an agent type and what its agents can do.
type agentType struct {
	Type          string        `json:"type"`
	Aliases       []string      `json:"aliases,omitempty"`
	Pattern       agent.Pattern `json:"pattern"`
	AllowedTools  []string      `json:"allowed_tools"`
	Heartbeats    bool          `json:"supports_heartbeats"`
	Prompt        string        `json:"system_prompt_template"`
	MaxIterations int           `json:"max_iterations"`
}

func (s *Server) agentTypes(context.Context, *struct{}) (*body[page[agentType]], error) {
	out := page[agentType]{Items: []agentType{}}
	standard := cmp.Or(s.opts.Config().Defaults.MaxIterations, new(int))
	for _, t := range agent.Types() {
		out.Items = append(out.Items, agentType{
			t.Name, t.Aliases, t.Pattern, append([]string{}, t.Tools...), t.Heartbeats, t.Prompt, cmp.Or(t.MaxIterations, *standard),
		})
	}
	return &body[page[agentType]]{out}, nil
}

// Tools lists and runs the tools of a configuration. *app.Toolbox implements it.
type Tools interface {
	List(ctx context.Context, agentName string, kind app.ToolType) (tools []app.ToolInfo, troubles []error, err error)
	Prepare(ctx context.Context, agentName, name, arguments string) (*app.ToolCall, error)
	// Names returns the names of all tools. It leaves out those of servers that did not answer.
	Names(ctx context.Context) ([]string, error)
	// With returns a toolbox for the agents of another configuration. It is closed together with this one.
	With(cfg *config.Config) *app.Toolbox
	Close()
}

// toolsOf returns the tools for an agent of a project, from the configuration or made at run time. An empty name means no particular
// agent.
func (s *Server) toolsOf(ctx context.Context, project, name string) (Tools, error) {
	box, err := s.toolbox(ctx)
	cfg := s.opts.Config()
	names := cfg.VirtualOf(config.OfAgent + name)
	if err != nil || name == "" || len(names) == 0 {
		return box, err
	}
	if project, err = accessOf(ctx).owner(project); err != nil {
		return nil, err
	}
	with, err := app.WithMade(ctx, cfg, made{s}, project, names...)
	if err != nil {
		return nil, err
	}
	return box.With(with), nil
}

// toolCache keeps the sessions with the tool servers for as long as the configuration and the program's own tools stay the same.
type toolCache struct {
	mu  sync.Mutex
	of  *config.Config
	own []tool.Spec // registered by the workers' program
	box Tools
}

func (s *Server) toolbox(ctx context.Context) (Tools, error) {
	c, cfg := &s.box, s.opts.Config()
	var own []tool.Spec
	st, err := s.opts.System.Store(ctx)
	if err == nil && st != nil {
		own, err = st.ProgramTools(ctx)
	}
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == cfg && reflect.DeepEqual(c.own, own) {
		return c.box, nil
	}
	box, err := s.opts.Tools(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if c.box != nil {
		c.box.Close()
	}
	c.of, c.own, c.box = cfg, own, box
	return box, nil
}

func (c *toolCache) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.box != nil {
		c.box.Close()
	}
	c.of, c.own, c.box = nil, nil, nil
}

type toolsIn struct {
	ProjectIn
	Agent  string `query:"agent" maxLength:"200" doc:"only what this agent is offered"`
	Type   string `query:"type" enum:"mcp,code" doc:"only those of MCP servers, or in Go"`
	Search string `query:"q" maxLength:"200" doc:"only those with this text in their name or description"`
}

// toolList is a list of tools and of the problems with those that are missing.
type toolList struct {
	Items    []app.ToolInfo `json:"items"`
	Troubles []string       `json:"troubles,omitempty" doc:"what is wrong with servers and tools; for operators of all projects"`
	Troubled int            `json:"troubled,omitempty" doc:"how many troubles there are"`
}

func (s *Server) tools(ctx context.Context, in *toolsIn) (*body[toolList], error) {
	box, err := s.toolsOf(ctx, in.Project, in.Agent)
	if err != nil {
		return nil, err
	}
	tools, troubles, err := box.List(ctx, in.Agent, app.ToolType(in.Type))
	out := toolList{Items: append([]app.ToolInfo{}, app.Matching(tools, in.Search)...)}
	out.Troubled = len(troubles)
	if accessOf(ctx).grants[config.AllProjects] < rank[config.RoleOperator] { // troubles quote whatever the servers say
		troubles = nil
	}
	for _, trouble := range troubles {
		out.Troubles = append(out.Troubles, trouble.Error())
	}
	return &body[toolList]{out}, err
}

type runToolIn struct {
	Name string `path:"name" maxLength:"200"`
	Body runToolBody
}

type runToolBody struct {
	Agent     string          `json:"agent,omitempty" maxLength:"200" doc:"by whose policy; absent = nobody's in particular"`
	Project   string          `json:"project,omitempty" maxLength:"63" doc:"whose agent it is, of one that was made at run time"`
	Arguments json.RawMessage `json:"arguments,omitempty" doc:"an object; absent = an empty one"`
	Approved  bool            `json:"approved,omitempty" doc:"make the call though it needs a person's word: yours"`
}

// toolResult is the result of a tool call.
type toolResult struct {
	Content   string `json:"content"`
	IsError   bool   `json:"is_error,omitempty"`
	ErrorType string `json:"error_type,omitempty"`
}

func (s *Server) runTool(ctx context.Context, in *runToolIn) (*body[toolResult], error) {
	box, err := s.toolsOf(ctx, in.Body.Project, in.Body.Agent)
	if err != nil {
		return nil, err
	}
	call, err := box.Prepare(ctx, in.Body.Agent, in.Name, string(in.Body.Arguments))
	switch {
	case errors.As(err, new(*config.PlanError)), errors.As(err, new(*tool.Refusal)), ctx.Err() != nil:
		return nil, err
	case err != nil: // from a tool server
		return nil, huma.Error503ServiceUnavailable(err.Error())
	}
	if call.NeedsApproval {
		if !in.Body.Approved {
			return nil, ErrNeedsApproval
		}
		if err := call.MayApprove(accessOf(ctx).checked(config.AllProjects)); err != nil {
			return nil, huma.Error403Forbidden(err.Error())
		}
	}
	who := accessOf(ctx)
	result, err := call.Make(ctx, &agent.Identity{Name: who.name, Channel: who.channel})
	return &body[toolResult]{toolResult{result.Content, result.Status == tool.StatusError, result.ErrorType}}, err
}

// inForce is the configuration in force.
type inForce struct {
	YAML     string          `json:"yaml"`
	Values   []strict.Shown  `json:"values"`
	Findings config.Findings `json:"findings" doc:"what is dangerous or worth a look in the whole of it"`
}

type configIn struct {
	Chain string `query:"chain" maxLength:"200" doc:"only this chain and what it uses"`
}

func (s *Server) configuration(_ context.Context, in *configIn) (*body[inForce], error) {
	cfg := s.opts.Config()
	if _, ok := cfg.AgentChains[in.Chain]; !ok && in.Chain != "" {
		return nil, errHidden
	}
	text, values, err := config.Show(cfg, config.ShowOptions{Chain: in.Chain})
	return &body[inForce]{inForce{string(text), append([]strict.Shown{}, values...), append(config.Findings{}, cfg.Warnings()...)}}, err
}
