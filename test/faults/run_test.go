package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stretchr/testify/mock"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
	temporalworker "go.temporal.io/sdk/worker"

	"go.temporal.io/sdk/interceptor"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/hook"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/workflows"
)

// run is one run of a seed: an investigation or a conversation, from start to end, with the real workflows,
// activities and store.
type run struct {
	*faults
	store   *store.Store
	lab     *lab
	id      string    // of the workflow
	start   time.Time // by the environment's clock
	plan    plan.Plan
	talking bool
	agents  map[string]worker // by execution
	commands
	env *testsuite.TestWorkflowEnvironment

	mu       sync.Mutex
	problems []string
	paid     map[[2]any]int // by execution and iteration: number of the model's answers
	times    []time.Time    // times of the models' answers, by the environment's clock
	replies  int            // of a conversation

	fork  *agent.Fork // nil: it is none
	trial bool        // of a fork
	// says returns the models' replies; if nil, the seed chooses them.
	says  func(at place) llm.Response
	steps []agent.ToolCall // of the plan, for agents that carry one out; if nil, the seed chooses them
	clock clock
	quick bool // all calls are quick: see quickTools
	rules activities.Rules
	// moment is called before each attempt at an activity and for each model request; may be nil.
	moment func(at place, activity string, req *llm.Request)
	// onRequest is called for each request, even if its attempt has stalled; may be nil.
	onRequest func(at place, req llm.Request)
}

// newRun makes a run of agents that work in parallel. The ID must be unique within the store.
func newRun(s *store.Store, id string, seed uint64, p profile) *run {
	f := newFaults(seed, p)
	return &run{
		faults: f, store: s, id: id, start: time.Now(), lab: &lab{faults: f, done: map[string]int{}}, agents: map[string]worker{},
		quick:    chance(0.5, seed, "quick"),
		commands: commands{lines: map[string][]string{}}, paid: map[[2]any]int{},
	}
}

// employ makes the plan: the agents work in parallel, and a synthesis joins the findings of several. A
// conversation has one agent and no task.
func (r *run) employ(workers ...worker) {
	stage := plan.Stage{Name: "work", SuccessPolicy: plan.SuccessAny}
	if r.talking {
		stage.Name = workflows.ConversationStage
	}
	for n := range workers {
		w := workers[n]
		r.agents[stage.Name+"/"+w.plan.Name] = w
		if w.row.Name == "synthesis" && len(workers) > 1 {
			stage.Synthesis = &w.plan
			continue
		}
		stage.Agents = append(stage.Agents, w.plan)
	}
	r.plan = plan.Plan{Chain: "c", Conversation: r.talking, Stages: []plan.Stage{stage}}
	r.together = len(stage.Agents) > 1
	if slices.ContainsFunc(workers, worker.carriesOut) {
		r.plan.Stages = []plan.Stage{planning, stage}
	}
}

func (r *run) problem(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.problems = append(r.problems, fmt.Sprintf(format, args...))
}

func (r *run) investigation() string {
	return workflows.InvestigationID(r.id, "") // the environment has no first run id
}

func (r *run) scope(execution string) transcript.Scope {
	return transcript.Scope{Investigation: r.investigation(), Execution: execution}
}

// Inputs returns the workflow's input.
func (r *run) Inputs(ctx context.Context, _, _ string) ([][]byte, string, error) {
	inputs, err := reading(ctx, r.faults, "inputs", transcript.Key{}, func() ([][]byte, error) {
		if r.talking {
			return [][]byte{[]byte(`{"agent":"A"}`)}, nil
		}
		if r.fork != nil {
			body, err := json.Marshal(agent.Request{Fork: r.fork, Trial: r.trial})
			return [][]byte{body}, err
		}
		return [][]byte{[]byte(`{"chain":"c","data":"what happened?"}`)}, nil
	})
	return inputs, "", err
}

// Message is never called: the messages here are short.
func (r *run) Message(context.Context, string, string, string) (string, error) {
	return "", fmt.Errorf("a short message was read from the history")
}

// Plan resolves every request to the run's.
func (r *run) Plan(context.Context, agent.Request, string) (plan.Plan, error) { return r.plan, nil }

// Scoring returns the run's scoring stage.
func (r *run) Scoring(context.Context, agent.Request, string) (plan.Stage, error) {
	return *r.plan.Scoring, nil
}

func (r *run) Conversation(context.Context, agent.ConversationRequest) (plan.Plan, error) {
	return r.plan, nil
}

// prepare makes the environment: its clock stops while activities run, and jumps to the next event when none
// does.
func (r *run) prepare() *activities.Activities {
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	r.env = suite.NewTestWorkflowEnvironment()
	r.env.SetWorkerOptions(temporalworker.Options{
		Interceptors:             []interceptor.WorkerInterceptor{&intercept{run: r}},
		DeadlockDetectionTimeout: time.Minute, // a busy machine must not fail the test
	})
	r.env.SetStartWorkflowOptions(client.StartWorkflowOptions{ID: r.id})
	r.env.SetStartTime(r.start) // no earlier than now: local activities have real deadlines, too
	r.env.SetTestTimeout(time.Minute)
	r.now = r.env.Now
	if r.outage != nil { // all clocks are simulated
		r.env.SetTestTimeout(1000 * time.Hour)
	}
	workflows.Register(r.env)
	act := r.activities()
	r.env.RegisterActivity(act)
	// The server refuses to cancel a child that has just ended.
	r.env.OnRequestCancelExternalWorkflow(mock.Anything, mock.Anything, mock.Anything).
		Return(serviceerror.NewNotFound("the workflow has ended")).Maybe()
	return act
}

// activities returns the real activities, over a store, models and tools that fail.
func (r *run) activities() *activities.Activities {
	failing := journal{r.store, r.faults}
	quiet := slog.New(slog.DiscardHandler)
	act := &activities.Activities{
		Requests: r, Planner: r, Models: r, Servers: r.lab, Builtins: workerTools{failing},
		Transcripts: failing, Mail: failing, Records: failing, Blobs: failing, Memories: failing, Limits: r.store, Ledger: failing,
		Rules: r.rules, Policy: tool.NewPolicy(quiet), Logger: quiet, Mocks: map[string]hook.Mock{"planner": r.hand},
		Abandoned: time.Millisecond,
	}
	if r.outage == nil { // nothing looks after a call that stalls in its worker
		act.Quick = time.Hour
	}
	if r.quick {
		act.Times = quickTools{}
	}
	return act
}

// quickTools reports each tool as quick and records nothing.
type quickTools struct{}

func (quickTools) ToolTimes(context.Context, string) (tool.Times, error) { return tool.Times{10}, nil }
func (quickTools) AddToolTimes(context.Context, string, tool.Times, int) (tool.Times, error) {
	return tool.Times{10}, nil
}

// play runs the workflow to its end, and then all attempts that stalled.
func (r *run) play() {
	act := r.prepare()
	defer activities.Drain(act, time.Minute) // calls within workflow tasks outlive attempts that were cut off
	defer r.wake(func(*straggler) bool { return true })
	if r.talking {
		r.talk()
		return
	}
	r.env.ExecuteWorkflow(workflows.TypeInvestigation, map[string]string{"chain": "c"})
}

// turns is the number of messages in a conversation, an hour apart.
const turns = 3

func (r *run) talk() {
	for n := range turns {
		r.env.RegisterDelayedCallback(func() {
			r.env.UpdateWorkflow(workflows.UpdateSend, fmt.Sprintf("turn %d", n), &testsuite.TestUpdateCallback{
				OnAccept:   func() {},
				OnReject:   func(err error) { r.problem("turn %d is refused: %v", n, err) },
				OnComplete: func(any, error) { r.replies++ },
			}, workflows.Message{Text: fmt.Sprintf("message %d", n), Author: "Ada"})
		}, time.Duration(n)*time.Hour)
	}
	r.env.RegisterDelayedCallback(func() { r.env.SignalWorkflow(workflows.SignalClose, nil) }, turns*time.Hour)
	r.env.ExecuteWorkflow(workflows.TypeConversation, map[string]string{"agent": "A"})
}

// normal removes the difference between two runs of one seed from a text.
func (r *run) normal(text string) string { return strings.ReplaceAll(text, r.id, "RUN") }

// executions returns the run's executions, sorted by name.
func (r *run) executions() (names []string) {
	for name := range r.agents {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
