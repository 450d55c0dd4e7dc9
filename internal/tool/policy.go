package tool

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
)

// Policy is the one decision about tools. It is made when tools are offered to
// a model and again when a call is executed, so that a forbidden call is never
// run (spec: tools, "Policy").
type Policy struct {
	// Logger is told of tools that are left out of an offer; nil discards.
	Logger *slog.Logger
}

// Effective returns the tools that an agent is offered: the built-in tools of
// its type, then the tools of its attached servers, in the plan's order and by
// name within a server. The order depends on nothing else, so two offers from
// the same catalogues are the same. Names are unique, in both spellings.
func (p Policy) Effective(typ agent.Type, plan agent.AgentPlan, catalogues []Catalogue, builtins []Spec) []Spec {
	offer := offer{log: p.log(), taken: map[string]bool{}}
	for _, name := range typ.Tools {
		if name == agent.ToolShell && plan.Shell == nil {
			continue // off unless the configuration switches it on
		}
		offer.builtin(name, builtins)
	}
	for _, server := range plan.Servers {
		offer.server(server.Name, catalogues)
	}
	return offer.specs
}

// Decide finds the tool that a call names, in its own spelling or in that of
// the wire, among those that were offered. The error is a *Refusal.
func (p Policy) Decide(offered []Spec, name string) (Spec, error) {
	for _, spec := range offered {
		if spec.Name == name || WireName(spec.Name) == name {
			return spec, nil
		}
	}
	if slices.Contains(builtinNames(), name) {
		return Spec{}, &Refusal{ErrorPermissionDenied, fmt.Sprintf("Tool %s is not allowed for this agent.", name)}
	}
	return Spec{}, &Refusal{ErrorUnknownTool, unknown(offered, name)}
}

func (p Policy) log() *slog.Logger {
	if p.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return p.Logger
}

// Refusal says why a call is not run, in words for the model.
type Refusal struct {
	// Type is one of the error types of results.
	Type    string
	Message string
}

func (r *Refusal) Error() string { return r.Message }

// Result is the refusal as the model is shown it.
func (r *Refusal) Result() Result { return Failure(r.Type, r.Message) }

// builtinNames are the tools that exist even where they are not offered.
func builtinNames() []string { return []string{agent.ToolShell} }

func unknown(offered []Spec, name string) string {
	shown := Clip(ValidText(name), maxNameShown)
	if len(offered) == 0 {
		return fmt.Sprintf("Unknown tool %q: no tools are available to this agent.", shown)
	}
	var names []string
	for _, spec := range offered {
		names = append(names, spec.Name)
	}
	if near := closest(name, names); len(near) > 0 {
		return fmt.Sprintf("Unknown tool %q. Did you mean %s?", shown, strings.Join(near, ", "))
	}
	return fmt.Sprintf("Unknown tool %q. Call only the tools that were offered.", shown)
}
