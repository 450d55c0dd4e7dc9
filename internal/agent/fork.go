package agent

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Fork is a request to continue a copy of an investigation, perhaps with parts replaced.
type Fork struct {
	// Of is the ID of an investigation in the same project.
	Of string `json:"of" minLength:"1" doc:"ID of an investigation in the same project, or its workflow ID"`
	// At is the first step that the fork runs itself: see fork.Cut. An empty string means the end, or the first reply that read one of
	// the replaced results.
	At string `json:"at,omitempty" doc:"first own step: a row, a stage, or AGENT/ITERATION; absent: the end, or where results are read"`
	// Guide is guidance for the agents that go on from there. An empty string means none.
	Guide string `json:"guide,omitempty" doc:"guidance for the agents of the stage in which the fork begins"`
	// Results are texts that replace shared results of tools, by the row of the result or the ID of its call (see fork.Cut).
	Results map[string]string `json:"results,omitempty" doc:"texts that replace results of tools, by the result's row or the call's ID"`
	// Prompts replace the prompts of agents that share no reply, by the agent's name or STAGE/AGENT: the system_prompt of the
	// configuration or, if the agent has none, its custom_instructions. An empty name means the only agent that goes on from the place.
	Prompts map[string]string `json:"prompts,omitempty" doc:"prompts for agents that share no reply, by AGENT or STAGE/AGENT; for admins"`
	// LeaveOut is what no agent gets: results of tools by row or the call's ID, with those of all equal calls, agents that work beside
	// others (STAGE/AGENT), and learnings in prompts (L17). The fork begins before the first reply that had read one, so At and Results
	// must be empty, and Tools must be ForkTape.
	LeaveOut []string `json:"leave_out,omitempty" doc:"what agents do not get: a result's row, STAGE/AGENT, L17; only with the tools tape"`
	// Tools is ForkTape, ForkLive, or empty: all tool calls are made.
	Tools string `json:"tools,omitempty" enum:"tape,live" doc:"tape: only the other investigation's results; live: those, then real tools"`
}

// How a fork answers tool calls.
const (
	ForkTape = "tape" // from the results of the other investigation; no other call is made
	ForkLive = "live" // from the results of the other investigation; other calls are made
)

// Coverage counts tool calls by the origin of their results.
type Coverage struct {
	Hits   int `json:"hits"`   // recorded earlier
	Misses int `json:"misses"` // not recorded, and the call was not made
	Live   int `json:"live"`   // not recorded, so the real tool was called
}

// Add returns the sum of two counts.
func (c Coverage) Add(other Coverage) Coverage {
	return Coverage{c.Hits + other.Hits, c.Misses + other.Misses, c.Live + other.Live}
}

// String returns the share of calls with a recorded result: "12/14", or "12/14, 2 live".
func (c Coverage) String() string {
	text := fmt.Sprintf("%d/%d", c.Hits, c.Hits+c.Misses+c.Live)
	if c.Live > 0 {
		text += fmt.Sprintf(", %d live", c.Live)
	}
	return text
}

// ForkedFrom is the key of a fork's metadata with the ID of the investigation that it was forked from.
const ForkedFrom = "forked_from"

// Masked returns a copy whose texts are masked.
func (f Fork) Masked(mask func(text string) (string, error)) (Fork, error) {
	var errs []error
	masked := func(what, text string) string {
		if text == "" {
			return ""
		}
		text, err := mask(text)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", what, err))
		}
		return text
	}
	f.Guide = masked("the guidance", f.Guide)
	f.Results, f.Prompts = maps.Clone(f.Results), maps.Clone(f.Prompts)
	for _, key := range slices.Sorted(maps.Keys(f.Results)) {
		f.Results[key] = masked("the result "+key, f.Results[key])
	}
	for _, key := range slices.Sorted(maps.Keys(f.Prompts)) {
		f.Prompts[key] = masked("the prompt of "+key, f.Prompts[key])
	}
	return f, errors.Join(errs...)
}

// Limits of a fork's texts. The request as a whole must fit into the history of a workflow.
const (
	MaxGuide  = 16 << 10  // bytes of guidance for agents
	maxTexts  = 50        // results, and as many prompts
	maxPrompt = 64 << 10  // bytes of a prompt
	maxResult = 512 << 10 // bytes of a result
)

func (r Request) validateFork() (errs []error) {
	if r.Fork.Of == "" {
		errs = append(errs, errors.New(`"fork" has no "of": the ID of the investigation to fork`))
	}
	given := []struct {
		name string
		set  bool
	}{
		{"chain", r.Chain != ""}, {"alert_type", r.AlertType != ""}, {"data", len(r.Data) > 0 || r.DataRef != ""}, {"runbook", r.Runbook != ""},
		{"use_mock", r.UseMock}, {"fingerprint", r.Fingerprint != ""}, {"schedule", r.Schedule != nil},
		{"mcp", len(r.MCP.Servers) > 0 || r.MCP.NativeTools != NativeTools{}}, {"budgets", r.Budgets != Budgets{}},
	}
	for _, f := range given {
		if f.set {
			errs = append(errs, fmt.Errorf(`%q cannot be set in the request of a fork`, f.name))
		}
	}
	return append(errs, r.Fork.validate()...)
}

func (f Fork) validate() (errs []error) {
	if len(f.Guide) > MaxGuide {
		errs = append(errs, fmt.Errorf(`"guide" is longer than %d bytes`, MaxGuide))
	}
	errs = append(errs, checkTexts("results", f.Results, maxResult)...)
	errs = append(errs, checkTexts("prompts", f.Prompts, maxPrompt)...)
	for _, name := range slices.Sorted(maps.Keys(f.Prompts)) {
		if blank(f.Prompts[name]) {
			errs = append(errs, fmt.Errorf(`"prompts": the text for %.*q is empty`, maxField, name))
		}
	}
	if f.Tools != "" && f.Tools != ForkTape && f.Tools != ForkLive {
		errs = append(errs, fmt.Errorf(`"tools" must be %q or %q, or absent: all calls are made`, ForkTape, ForkLive))
	}
	if len(f.LeaveOut) > 0 && (f.At != "" || len(f.Results) > 0 || f.Tools != ForkTape) {
		errs = append(errs, fmt.Errorf(
			`"leave_out" needs "tools": %q, and neither "at" nor "results": the fork begins where what is left out was read`, ForkTape))
	}
	if n := len(f.LeaveOut); n > maxTexts {
		errs = append(errs, fmt.Errorf(`"leave_out" has %d names; the maximum is %d`, n, maxTexts))
	}
	for _, name := range f.LeaveOut {
		errs = append(errs, tooLong(field{"leave_out", name})...)
	}
	return append(errs, tooLong(field{"of", f.Of}, field{"at", f.At})...)
}

// checkTexts returns an error for each text that is longer than limit, in bytes.
func checkTexts(what string, texts map[string]string, limit int) (errs []error) {
	if len(texts) > maxTexts {
		errs = append(errs, fmt.Errorf("%q has %d texts; the maximum is %d", what, len(texts), maxTexts))
	}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		errs = append(errs, tooLong(field{what, name})...)
		if len(texts[name]) > limit {
			errs = append(errs, fmt.Errorf("%q: the text for %.*q is longer than %d bytes", what, maxField, name, limit))
		}
	}
	return errs
}
