package faults

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

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

// run is one run of a seed: an investigation or a conversation, from its start to
// its end, by the real workflows, activities and store.
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
	paid     map[[2]any]int // by execution and iteration: how often a model has answered
	times    []time.Time    // of the models' answers, by the environment's clock
	replies  int            // of a conversation

	// says is what the models say; nil = what the seed says.
	says  func(at place) llm.Response
	steps []agent.ToolCall // of the plan, for agents that carry one out; nil = what the seed says
	clock clock
	quick bool // all calls are quick: see quickTools
	rules activities.Rules
	// moment is told of each attempt at an activity, before it, and of each request
	// to a model; nil = nobody is.
	moment func(at place, activity string, req *llm.Request)
	// hears is told of each request, also of one whose attempt has stood still; nil = nobody is.
	hears func(at place, req llm.Request)
}

// newRun makes a run of agents, which work at the same time. The id is unique
// within the store.
func newRun(s *store.Store, id string, seed uint64, p profile) *run {
	f := newFaults(seed, p)
	return &run{
		faults: f, store: s, id: id, start: time.Now(), lab: &lab{faults: f, done: map[string]int{}}, agents: map[string]worker{},
		quick:    chance(0.5, seed, "quick"),
		commands: commands{lines: map[string][]string{}}, paid: map[[2]any]int{},
	}
}

// employ makes the plan: the agents work in parallel, and if there are several a
// synthesis joins what they found. In a conversation there is one, and no task.
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

// Inputs is what the workflow was started with.
func (r *run) Inputs(ctx context.Context, _, _ string) ([][]byte, string, error) {
	inputs, err := reading(ctx, r.faults, "inputs", transcript.Key{}, func() ([][]byte, error) {
		if r.talking {
			return [][]byte{[]byte(`{"agent":"A"}`)}, nil
		}
		return [][]byte{[]byte(`{"chain":"c","data":"what happened?"}`)}, nil
	})
	return inputs, "", err
}

// Message is never asked for: the messages here are short.
func (r *run) Message(context.Context, string, string, string) (string, error) {
	return "", fmt.Errorf("a short message was read from the history")
}

// Plan resolves every request to the run's.
func (r *run) Plan(context.Context, agent.Request, string) (plan.Plan, error) { return r.plan, nil }

// Conversation is the same.
func (r *run) Scoring(context.Context, agent.Request, string) (plan.Stage, error) {
	return *r.plan.Scoring, nil
}

func (r *run) Conversation(context.Context, agent.ConversationRequest) (plan.Plan, error) {
	return r.plan, nil
}

// prepare makes the environment: its clock stands still while activities run, and
// jumps to what comes next when nothing does.
func (r *run) prepare() *activities.Activities {
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	r.env = suite.NewTestWorkflowEnvironment()
	r.env.SetWorkerOptions(temporalworker.Options{
		Interceptors:             []interceptor.WorkerInterceptor{&intercept{run: r}},
		DeadlockDetectionTimeout: time.Minute, // a busy machine is not what is tested
	})
	r.env.SetStartWorkflowOptions(client.StartWorkflowOptions{ID: r.id})
	r.env.SetStartTime(r.start) // no earlier than now: local activities have real deadlines, too
	r.env.SetTestTimeout(time.Minute)
	r.now = r.env.Now
	if r.outage != nil { // all clocks are false ones
		r.env.SetTestTimeout(1000 * time.Hour)
	}
	workflows.Register(r.env)
	act := r.activities()
	r.env.RegisterActivity(act)
	return act
}

// activities are the real ones, over a store, models and tools that fail.
func (r *run) activities() *activities.Activities {
	failing := journal{r.store, r.faults}
	quiet := slog.New(slog.DiscardHandler)
	act := &activities.Activities{
		Requests: r, Planner: r, Models: r, Servers: r.lab, Builtins: workerTools{failing},
		Transcripts: failing, Mail: failing, Records: failing, Blobs: failing, Memories: failing, Limits: r.store, Ledger: failing,
		Rules: r.rules, Policy: tool.NewPolicy(quiet), Logger: quiet, Mocks: map[string]hook.Mock{"planner": r.hand},
		Abandoned: time.Millisecond,
	}
	if r.outage == nil { // what stands still in its worker is attended to by nobody
		act.Quick = time.Hour
	}
	if r.quick {
		act.Times = quickTools{}
	}
	return act
}

// quickTools know of each tool that it is quick, and learn nothing.
type quickTools struct{}

func (quickTools) ToolTimes(context.Context, string) (tool.Times, error) { return tool.Times{10}, nil }
func (quickTools) AddToolTimes(context.Context, string, tool.Times, int) (tool.Times, error) {
	return tool.Times{10}, nil
}

// play runs it to its end, and to that of all that stood still meanwhile.
func (r *run) play() {
	act := r.prepare()
	defer activities.Drain(act, time.Minute) // calls within workflow tasks outlive attempts that were cut
	defer r.wake(func(*straggler) bool { return true })
	if r.talking {
		r.talk()
		return
	}
	r.env.ExecuteWorkflow(workflows.TypeInvestigation, map[string]string{"chain": "c"})
}

// turns are the messages of a conversation; an hour lies between them.
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

// normal is a text without what differs between two runs of one seed.
func (r *run) normal(text string) string { return strings.ReplaceAll(text, r.id, "RUN") }

// executions are the run's, in the order of their names.
func (r *run) executions() (names []string) {
	for name := range r.agents {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
