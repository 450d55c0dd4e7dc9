// Package inquesttest is a world in memory, in which a program tests its agents, chains
// and tools: no key, no network, no Temporal service. The model is a script. All else is
// real: the workflows and activities, the policy of tools, masking, and a store that ends
// with the run. Time that a workflow waits passes at once.
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

	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"github.com/inquest-dev/inquest"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/prompt"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/workflows"
)

// World is what an investigation runs in.
type World struct {
	// Options are those of the worker; Temporal and Store do not count. Models that they
	// name are asked, and the script in place of all others.
	Options inquest.Options
	// Script is the model. It says nothing of a call that no rule fits: that is an error.
	Script []Rule
	// Signals are what people do meanwhile, by the clock of the world.
	Signals []Signal
}

// Rule answers calls of the model. The first that fits is taken.
type Rule struct {
	// Agent is whose calls it answers; "" = everybody's. It is read from the system prompt of the
	// agent's type: one with a prompt_key of its own is nobody's by name.
	Agent string
	// Seen is what the last message has to have in it, which is the task, a tool's result,
	// or what a person said; "" = anything.
	Seen string
	// Calls are the tool calls that it asks for. An agent that has made them is not asked
	// to make them again: the next rule is.
	Calls []Call
	// Say is its text.
	Say string
}

// Call is a call of a tool: by its own name, or "server.tool".
type Call struct {
	Tool      string
	Arguments any // as JSON; nil = {}
}

// Signal is what a person does: "guide", "pause", "resume" or "conclude", with the input
// that workflows/messages.go has for it.
type Signal struct {
	After time.Duration // since the beginning
	Name  string
	Input any
}

// Result is what came of an investigation.
type Result struct {
	// Status and EndReason are the words of starter status.
	Status, EndReason string
	Report, Error     string
	// Asked are the calls of the model, in their order: what it was shown, and offered.
	Asked []inquest.ModelRequest
}

// Run investigates. The error is for options that are wrong, and for a request that is
// refused; how the investigation ended is in the result. The request's WorkflowID does not count.
func (w World) Run(ctx context.Context, req inquest.Request) (Result, error) {
	request, err := started(req)
	if err != nil {
		return Result{}, err
	}
	input, err := json.Marshal(request)
	if err != nil {
		return Result{}, err
	}
	server, err := serve(input)
	if err != nil {
		return Result{}, err
	}
	defer server.Stop()
	script := &script{rules: w.Script}
	opts := w.Options
	opts.Temporal, opts.Store, opts.Models = server.client(), inquest.MemoryStore, map[string]inquest.Model{"*": script.answer}
	maps.Copy(opts.Models, w.Options.Models)
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	host, err := inquest.NewWorker(ctx, opts)
	if err != nil {
		return Result{}, err
	}
	result, err := w.investigate(ctx, host, opts.Logger, request)
	result.Asked = script.asked
	return result, errors.Join(err, host.Close())
}

// started is the request as the workflow is given it.
func started(req inquest.Request) (out agent.Request, err error) {
	body, err := json.Marshal(req)
	if err == nil {
		err = json.Unmarshal(body, &out)
	}
	out.By = cmp.Or(out.By, "test")
	return out, err
}

func (w World) investigate(ctx context.Context, host *inquest.Worker, logger *slog.Logger, request any) (Result, error) {
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(sdklog.NewStructuredLogger(logger))
	env := suite.NewTestWorkflowEnvironment()
	env.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: time.Minute}) // the machine may be busy
	env.SetTestTimeout(time.Minute)
	if err := host.Register(ctx, env); err != nil {
		return Result{}, err
	}
	for _, s := range w.Signals {
		env.RegisterDelayedCallback(func() { env.SignalWorkflow(s.Name, s.Input) }, s.After)
	}
	env.ExecuteWorkflow(workflows.TypeInvestigation, request)
	var out workflows.InvestigationResult
	err := env.GetWorkflowResult(&out)
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

// script is a model that answers by rules: by the request alone, so that a call which is
// made again has the same answer.
type script struct {
	rules []Rule
	mu    sync.Mutex
	asked []inquest.ModelRequest
}

func (s *script) answer(_ context.Context, req inquest.ModelRequest, tell func(inquest.ModelDelta)) (inquest.ModelReply, error) {
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
		tell(inquest.ModelDelta{Content: rule.Say})
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

// situation is who asks, what was said last, and which calls were made.
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
