package api

import (
	"context"
	"errors"
	"reflect"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/app"
	"github.com/inquest-dev/inquest/internal/configuration"
	"github.com/inquest-dev/inquest/internal/doctor"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/tool"
)

// Tools lists and runs the tools of a configuration. *doctor.Toolbox implements it.
type Tools interface {
	List(ctx context.Context, agentName string, kind system.ToolType) (tools []system.ToolInfo, troubles []error, err error)
	Prepare(ctx context.Context, agentName, name, arguments string) (*doctor.ToolCall, error)
	// Names returns the names of all tools. It leaves out those of servers that did not answer.
	Names(ctx context.Context) ([]string, error)
	// With returns a toolbox for the agents of another configuration. It is closed together with this one.
	With(cfg *configuration.Config) *doctor.Toolbox
	Close()
}

// tools serves the tools. It keeps the sessions with the tool servers for as long as the configuration and the program's own tools stay
// the same.
type tools struct {
	base
	mu   sync.Mutex
	of   *configuration.Config
	own  []tool.Spec // registered by the workers' program
	last Tools
}

func (h *tools) routes(to *Server) {
	register(to, system.ListTools, h.list)
	register(to, system.RunTool, h.runTool)
}

// toolsOf returns the tools for an agent of a project, from the configuration or made at run time. An empty name means no particular
// agent.
func (h *tools) toolsOf(ctx context.Context, project, name string) (Tools, error) {
	box, err := h.box(ctx)
	cfg := h.opts.Config()
	names := cfg.VirtualOf(configuration.OfAgent + name)
	if err != nil || name == "" || len(names) == 0 {
		return box, err
	}
	if project, err = accessOf(ctx).owner(project); err != nil {
		return nil, err
	}
	with, err := app.WithMade(ctx, cfg, made{h.base}, project, names...)
	if err != nil {
		return nil, err
	}
	return box.With(with), nil
}

// box returns the toolbox of the configuration in force.
func (h *tools) box(ctx context.Context) (Tools, error) {
	cfg := h.opts.Config()
	var own []tool.Spec
	st, err := h.opts.System.Store(ctx)
	if err == nil && st != nil {
		own, err = st.ProgramTools(ctx)
	}
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.of == cfg && reflect.DeepEqual(h.own, own) {
		return h.last, nil
	}
	box, err := h.opts.Tools(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if h.last != nil {
		h.last.Close()
	}
	h.of, h.own, h.last = cfg, own, box
	return box, nil
}

func (h *tools) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.last != nil {
		h.last.Close()
	}
	h.of, h.own, h.last = nil, nil, nil
}

func (h *tools) list(ctx context.Context, in *system.ToolsIn) (*body[system.ToolList], error) {
	box, err := h.toolsOf(ctx, in.Project, in.Agent)
	if err != nil {
		return nil, err
	}
	found, troubles, err := box.List(ctx, in.Agent, system.ToolType(in.Type))
	out := system.ToolList{Items: append([]system.ToolInfo{}, system.Matching(found, in.Search)...)}
	out.Troubled = len(troubles)
	if accessOf(ctx).grants[config.AllProjects] < rank[config.RoleOperator] { // troubles quote whatever the servers say
		troubles = nil
	}
	for _, trouble := range troubles {
		out.Troubles = append(out.Troubles, trouble.Error())
	}
	return reply(out), err
}

func (h *tools) runTool(ctx context.Context, in *system.RunToolIn) (*body[system.ToolResult], error) {
	box, err := h.toolsOf(ctx, in.Body.Project, in.Body.Agent)
	if err != nil {
		return nil, err
	}
	call, err := box.Prepare(ctx, in.Body.Agent, in.Name, string(in.Body.Arguments))
	switch {
	case errors.As(err, new(*configuration.PlanError)), errors.As(err, new(*tool.Refusal)), ctx.Err() != nil:
		return nil, err
	case err != nil: // from a tool server
		return nil, huma.Error503ServiceUnavailable(err.Error())
	}
	if call.NeedsApproval {
		if !in.Body.Approved {
			return nil, system.ErrNeedsApproval
		}
		if err := call.MayApprove(accessOf(ctx).checked(config.AllProjects)); err != nil {
			return nil, huma.Error403Forbidden(err.Error())
		}
	}
	who := accessOf(ctx)
	result, err := call.Make(ctx, &agent.Identity{Name: who.name, Channel: who.channel})
	return reply(system.ToolResult{Content: result.Content, IsError: result.Status == tool.StatusError, ErrorType: result.ErrorType}), err
}
