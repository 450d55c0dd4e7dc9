package doctor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/app"
	"github.com/inquest-dev/inquest/internal/configuration"
	"github.com/inquest-dev/inquest/internal/kit/ratelimit"
	"github.com/inquest-dev/inquest/internal/kit/reveal"
	"github.com/inquest-dev/inquest/internal/outgoing"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/tool/builtin"
	"github.com/inquest-dev/inquest/internal/tool/mcp"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/internal/trust/audit"
	"github.com/inquest-dev/inquest/internal/trust/mask"
)

// ToolboxOptions configures a Toolbox.
type ToolboxOptions struct {
	Config *configuration.Config
	// Shared is the state that calls here share with the workers' calls; nil means none.
	Shared Shared
	// Keeper is described in app.Settings.
	Keeper []string
	// Elsewhere are tools of the workers' program, which cannot run here.
	Elsewhere []tool.Spec
	Logger    *slog.Logger
}

// Shared is state in the workers' store. *store.Store implements it.
type Shared interface {
	// LastOffer returns the tools that a server offered when an execution last asked it.
	LastOffer(ctx context.Context, server string) (tool.Catalogue, error)
	// Reserve takes a place in the sliding window of an agent and a tool, or returns how long to wait before asking again.
	Reserve(ctx context.Context, r ratelimit.Reservation) (wait time.Duration, err error)
	// Audit adds acts of calls to the audit trail.
	Audit(ctx context.Context, acts ...audit.Act) error
}

// Toolbox lists and runs tools outside investigations, for people and programs, with the same policy. It is safe for concurrent
// use.
type Toolbox struct {
	opts     ToolboxOptions
	pool     *mcp.Pool
	policy   *tool.Policy
	builtins app.Builtins
}

// NewToolbox returns a toolbox that has not connected to any server yet. Close it after use.
func NewToolbox(opts ToolboxOptions) *Toolbox {
	return &Toolbox{
		opts: opts, policy: tool.NewPolicy(opts.Logger),
		builtins: app.Builtins{Results: noResults{}, Code: elsewhere(opts.Elsewhere), Keeper: opts.Keeper},
		pool:     mcp.New(mcp.Options{Transport: app.Transports(opts.Config), Logger: opts.Logger}),
	}
}

// With returns a toolbox for the agents of another configuration with the same servers. It shares the sessions and is closed with
// this toolbox.
func (b *Toolbox) With(cfg *configuration.Config) *Toolbox {
	out := *b
	out.opts.Config = cfg
	return &out
}

// elsewhere returns tools whose result says where they can run.
func elsewhere(specs []tool.Spec) (tools []builtin.Tool) {
	for _, spec := range specs {
		text := fmt.Sprintf("%s is a function of the workers' program: agents can call it, but this command cannot.", spec.Name)
		tools = append(tools, builtin.Tool{Spec: spec, Run: func(context.Context, tool.Call) tool.Result {
			return tool.Failure(tool.ErrorUnavailable, text)
		}})
	}
	return tools
}

// Close ends the sessions of the servers.
func (b *Toolbox) Close() { b.pool.Close() }

// noResults replaces an execution's results when there is no execution.
type noResults struct{}

var errNoResults = errors.New("this call belongs to no execution, so there are no earlier results")

func (noResults) Entries(context.Context, transcript.Scope) ([]transcript.Entry, error) {
	return nil, errNoResults
}

func (noResults) Blob(context.Context, string) ([]byte, error) { return nil, errNoResults }

func (noResults) Request(context.Context, string) ([]byte, error) { return nil, errNoResults }

// user is the caller of tools: a defined agent, or an anonymous caller, who may use all tools that the configuration enables.
type user struct {
	row  agent.Type
	plan plan.Agent
}

// user finds an agent by name. An empty name means the anonymous caller. The error is a *configuration.PlanError.
func (b *Toolbox) user(name string) (user, error) {
	if name == "" {
		p := b.opts.Config.ToolPlan()
		row := agent.Type{Tools: []string{agent.ToolShell}}
		for _, t := range b.builtins.Code {
			row.Tools = append(row.Tools, t.Spec.Name)
		}
		return user{row, p}, nil
	}
	p, err := b.opts.Config.AgentPlan(name)
	row, _ := agent.LookupType(p.Type)
	return user{row, p}, err
}

// List returns the tools that the policy offers to an agent (empty means all tools) of one type (empty means both). troubles
// contains servers that could not be asked, tools that cannot be used, and changes in a server's descriptions.
func (b *Toolbox) List(ctx context.Context, agentName string, kind system.ToolType) (tools []system.ToolInfo, troubles []error, err error) {
	u, err := b.user(agentName)
	if err != nil {
		return nil, nil, err
	}
	var catalogues []tool.Catalogue
	if kind != system.ToolCode {
		catalogues, troubles = b.catalogues(ctx, u.plan.Servers)
		troubles = append(troubles, b.troubles(ctx, catalogues)...)
	}
	if ctx.Err() != nil {
		return nil, nil, ctx.Err()
	}
	if agentName == "" { // all tools, whichever agent has them
		u.row.Tools = nil
		for _, spec := range b.builtins.Specs(u.plan) {
			u.row.Tools = append(u.row.Tools, spec.Name)
		}
	}
	set := b.set(u, catalogues)
	for _, why := range set.LeftOut() {
		troubles = append(troubles, errors.New(why))
	}
	for _, spec := range set.Offered() {
		if info := describe(spec); kind == "" || info.Type == kind {
			if b.ofProgram(spec.Name) {
				info.Module = programModule
			}
			info.NeedsApproval = set.NeedsApproval(spec.Name)
			tools = append(tools, info)
		}
	}
	return tools, troubles, nil
}

// ofProgram reports whether a tool is a function of the workers' program.
func (b *Toolbox) ofProgram(name string) bool {
	return slices.ContainsFunc(b.builtins.Code, func(t builtin.Tool) bool { return t.Spec.Name == name })
}

// Names returns the names of all tools, including those that the policy offers to no agent. Tools of servers that could not be
// asked are missing.
func (b *Toolbox) Names(ctx context.Context) (names []string, err error) {
	u, err := b.user("")
	if err != nil {
		return nil, err
	}
	for _, spec := range b.builtins.Specs(u.plan) {
		names = append(names, spec.Name)
	}
	catalogues, _ := b.catalogues(ctx, u.plan.Servers)
	for _, c := range catalogues {
		for _, spec := range c.Tools {
			names = append(names, spec.Name)
		}
	}
	return names, ctx.Err()
}

// troubles returns what people should know about the listed tools.
func (b *Toolbox) troubles(ctx context.Context, catalogues []tool.Catalogue) (all []error) {
	for _, c := range catalogues {
		for _, spec := range c.Tools {
			if spec.Unusable != "" {
				all = append(all, fmt.Errorf("tool %s cannot be used: %s", reveal.Name(spec.Name), spec.Unusable))
			} else if _, _, err := outgoing.Schema(spec.Schema, agent.SchemaJSON); err != nil {
				all = append(all, fmt.Errorf("tool %s is not offered to models: %w", reveal.Name(spec.Name), err))
			}
		}
		if b.opts.Shared == nil || c.Error != "" {
			continue
		}
		last, err := b.opts.Shared.LastOffer(ctx, c.Server)
		if err != nil {
			all = append(all, fmt.Errorf("read the last tool list of server %s: %w", c.Server, err))
		}
		for _, line := range tool.Changes(last, c) {
			all = append(all, fmt.Errorf("server %s has changed its tools since an execution last listed them: %s",
				c.Server, reveal.Text(line)))
		}
	}
	return all
}

// LeftOut lists the tools that agents do not get because models would see two tools with the same name. It uses the servers'
// last offers and asks no server.
func (b *Toolbox) LeftOut(ctx context.Context) (said []string, err error) {
	if b.opts.Shared == nil {
		return nil, nil
	}
	for _, name := range slices.Sorted(maps.Keys(b.opts.Config.Agents)) {
		u, err := b.user(name)
		if err != nil {
			continue // the configuration reports errors of the agent
		}
		var catalogues []tool.Catalogue
		for _, server := range u.plan.Servers {
			last, err := b.opts.Shared.LastOffer(ctx, server.Name)
			if err != nil {
				return nil, err
			}
			catalogues = append(catalogues, last)
		}
		for _, why := range b.set(u, catalogues).LeftOut() {
			said = append(said, fmt.Sprintf("agent %s: %s", name, why))
		}
	}
	return said, nil
}

func (b *Toolbox) set(u user, catalogues []tool.Catalogue) *tool.Set {
	return b.policy.Tools(u.row, u.plan, catalogues, b.builtins.Specs(u.plan))
}

// askPatience is the timeout for listing a server's tools.
const askPatience = 30 * time.Second

// catalogues asks servers for their tools concurrently.
func (b *Toolbox) catalogues(ctx context.Context, servers []plan.Server) (all []tool.Catalogue, unreached []error) {
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	all, errs := make([]tool.Catalogue, len(servers)), make([]error, len(servers))
	var group sync.WaitGroup
	for n, server := range servers {
		group.Go(func() {
			all[n].Server = server.Name
			all[n].Tools, errs[n] = b.list(ctx, server)
			switch {
			case errs[n] == nil:
			case partial(errs[n]):
				all[n].Partial = errs[n].Error()
			default:
				all[n].Error = errs[n].Error()
			}
		})
	}
	group.Wait()
	return all, slices.DeleteFunc(errs, func(err error) bool { return err == nil })
}

// list asks a server for its tools, as tool.Caller does. Descriptions are masked in the same way as results.
func (b *Toolbox) list(ctx context.Context, server plan.Server) ([]tool.Spec, error) {
	masker, err := mask.Of(server.Masking)
	if err != nil {
		return nil, err
	}
	specs, err := b.pool.List(ctx, server, "")
	if failed, ok := errors.AsType[*tool.ServerError](err); ok {
		masked := *failed
		said := func(text string) string { return activities.MaskWords(ctx, masker, text) }
		masked.Err, err = fmt.Errorf("MCP server %s %s", server.Name, unlisted(*failed, said)), &masked
	}
	activities.MaskTools(ctx, masker, specs)
	return specs, err
}

// unlisted describes why a server's list of tools is missing or not complete. said masks what others wrote.
func unlisted(failed tool.ServerError, said func(string) string) string {
	switch {
	case failed.Partial:
		return fmt.Sprintf("may have more tools than it lists: %s. Error: %s", failed.Why, said(failed.Error()))
	case failed.Pending == 0:
		return fmt.Sprintf("is not available: %s. Error: %s", failed.Why, said(failed.Error()))
	}
	text := "is still starting"
	if failed.Running {
		text = "has not listed its tools"
	}
	text += fmt.Sprintf(" after %s", failed.Pending.Round(time.Second))
	if failed.Output != "" {
		text += "; last output: " + said(failed.Output)
	}
	return text
}

// partial reports whether an error of list comes with a part of the server's tools.
func partial(err error) bool {
	failed, ok := errors.AsType[*tool.ServerError](err)
	return ok && failed.Partial
}

// serverOf finds the server of a tool among those of a user, in either spelling of the tool's name.
func (u user) serverOf(name string) (plan.Server, bool) {
	for _, s := range u.plan.Servers {
		if strings.HasPrefix(name, s.Name+".") || strings.HasPrefix(name, tool.WireName(s.Name+".")) {
			return s, true
		}
	}
	return plan.Server{}, false
}
