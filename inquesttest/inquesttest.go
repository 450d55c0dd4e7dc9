// Package inquesttest provides an in-memory world for testing a program's agents, chains and tools without a key, a
// network or a Temporal service. The model is a script. Everything else is real: the workflows and activities, the tool
// policy, masking, and a store that is deleted after the run. Time that a workflow waits passes at once.
package inquesttest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"github.com/inquest-dev/inquest"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/app/inmemory"
	"github.com/inquest-dev/inquest/internal/prompt"
	"github.com/inquest-dev/inquest/internal/tool"
)

// World is the environment of an investigation.
type World struct {
	// Options are the worker's options, except that Temporal and Store have no effect. Models in the options are used;
	// the script replaces all other models.
	Options inquest.Options
	// Script replaces the model. A call that no rule matches is an error.
	Script []Rule
	// Signals are what people do during the investigation, by the clock of the world.
	Signals []Signal
}

// Rule answers calls of the model. The first rule that matches applies.
type Rule struct {
	// Agent is the agent whose calls the rule answers. An empty string matches every agent. The name is read from the
	// system prompt of the agent's type, so an agent with a prompt_key never matches a name.
	Agent string
	// Seen is text that the last message must contain: the task, a tool's result, or a person's message. An empty
	// string matches any message.
	Seen string
	// Calls are the tool calls that the model requests. If the agent has already made them, the rule no longer matches
	// and the next one applies.
	Calls []Call
	// Say is the text of the reply.
	Say string
}

// Call is a call of a tool, by the tool's name or by "server.tool".
type Call struct {
	Tool      string
	Arguments any // as JSON; nil means {}
}

// Signal is an action of a person: "guide", "pause", "resume" or "conclude", with the signal's input as in
// workflows/messages.go.
type Signal struct {
	After time.Duration // since the beginning
	Name  string
	Input any
}

// Result is the result of an investigation.
type Result struct {
	// Status and EndReason are as "starter status" shows them.
	Status, EndReason string
	Report, Error     string
	// Asked are the calls of the model in order, with the messages and tools that it got.
	Asked []inquest.ModelRequest
}

// Run runs an investigation. It returns an error for invalid options and for a request that is refused. A failed
// investigation is reported in the result. The request's WorkflowID has no effect.
func (w World) Run(ctx context.Context, req inquest.Request) (Result, error) {
	return w.run(ctx, req, func(*testsuite.TestWorkflowEnvironment) {})
}

// run is Run with a function that is called with the environment before the investigation starts.
func (w World) run(ctx context.Context, req inquest.Request, prepare func(*testsuite.TestWorkflowEnvironment)) (Result, error) {
	request, err := started(req)
	if err != nil {
		return Result{}, err
	}
	input, err := json.Marshal(request)
	if err != nil {
		return Result{}, err
	}
	server, err := inmemory.Serve(input)
	if err != nil {
		return Result{}, err
	}
	defer server.Stop()
	script := &script{rules: w.Script}
	opts := w.Options
	temporal := server.Client()
	opts.Temporal, opts.Store, opts.Models = &temporal, inquest.MemoryStore, map[string]inquest.Model{"*": script.answer}
	maps.Copy(opts.Models, w.Options.Models)
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	host, err := inquest.NewWorker(ctx, opts)
	if err != nil {
		return Result{}, err
	}
	result, err := w.investigate(ctx, host, opts.Logger, request, prepare)
	result.Asked = script.asked
	return result, errors.Join(err, host.Close())
}

// started returns the request as the workflow receives it.
func started(req inquest.Request) (out agent.Request, err error) {
	body, err := json.Marshal(req)
	if err == nil {
		err = json.Unmarshal(body, &out)
	}
	out.By = cmp.Or(out.By, "test")
	return out, err
}

func (w World) investigate(
	ctx context.Context, host *inquest.Worker, logger *slog.Logger, request any, prepare func(*testsuite.TestWorkflowEnvironment),
) (Result, error) {
	out, err := inmemory.Run{
		Register: func(env worker.Registry) error { return host.Register(ctx, env) }, Request: request, Idle: time.Minute, Logger: logger,
		Prepare: func(env *testsuite.TestWorkflowEnvironment) {
			for _, s := range w.Signals {
				env.RegisterDelayedCallback(func() { env.SignalWorkflow(s.Name, s.Input) }, s.After)
			}
			prepare(env)
		},
	}.Execute()
	failed, ok := errors.AsType[*temporal.ApplicationError](err)
	switch {
	case err == nil:
	case ok && agent.EndReason(failed.Type()).Failure():
		return Result{Status: string(agent.StatusFailed), EndReason: failed.Type(), Error: failed.Message()}, nil
	case temporal.IsCanceledError(err):
		return Result{Status: string(agent.StatusCancelled), EndReason: string(agent.EndCancelled)}, nil
	default:
		return Result{}, err
	}
	return Result{Status: string(out.Status), EndReason: string(out.EndReason), Report: out.Report, Error: out.Error}, nil
}

// script is a model that answers by rules. The answer depends only on the request, so a repeated call gets the same
// answer.
type script struct {
	rules []Rule
	mu    sync.Mutex
	asked []inquest.ModelRequest
}

func (s *script) answer(_ context.Context, req inquest.ModelRequest, emit func(inquest.ModelDelta)) (inquest.ModelReply, error) {
	s.mu.Lock()
	s.asked = append(s.asked, req)
	s.mu.Unlock()
	who, last, made := situation(req)
	for _, rule := range s.rules {
		if rule.Agent != "" && rule.Agent != who || !strings.Contains(last, rule.Seen) {
			continue
		}
		calls, err := rule.calls()
		if err != nil {
			return inquest.ModelReply{}, err
		}
		if len(calls) > 0 && !slices.ContainsFunc(calls, func(c inquest.ModelToolCall) bool { return !slices.Contains(made, c) }) {
			continue
		}
		emit(inquest.ModelDelta{Content: rule.Say})
		return inquest.ModelReply{Content: rule.Say, ToolCalls: calls}, nil
	}
	return inquest.ModelReply{}, &inquest.ModelError{
		Kind: inquest.ErrInvalidRequest, Message: fmt.Sprintf("no rule of the script answers agent %q, whose last message is: %s", who, last),
	}
}

func (r Rule) calls() (calls []inquest.ModelToolCall, err error) {
	for _, c := range r.Calls {
		arguments := []byte("{}")
		if c.Arguments != nil {
			if arguments, err = json.Marshal(c.Arguments); err != nil {
				return nil, fmt.Errorf("%w: arguments of %s: %w", inquest.ErrInvalidRequest, c.Tool, err)
			}
		}
		calls = append(calls, inquest.ModelToolCall{Name: tool.WireName(c.Tool), Arguments: string(arguments)})
	}
	return calls, nil
}

// situation returns the agent that asks, the last message, and the calls made so far.
func situation(req inquest.ModelRequest) (who, last string, made []inquest.ModelToolCall) {
	for _, m := range req.Messages {
		if m.Role == "system" {
			who = prompt.AgentOf(m.Content)
			continue
		}
		last = m.Content
		for _, call := range m.ToolCalls {
			call.ID = ""
			made = append(made, call)
		}
	}
	return who, last, made
}
