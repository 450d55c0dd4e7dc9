package workflows

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/knowledge/learning"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/internal/trust/audit"
)

// fake answers the activities by script. Scripts only cover replies of models and
// tools; everything else is the behaviour of the workflows.
type fake struct {
	mu sync.Mutex
	// model answers a Generate; the default says "done".
	model func(in activities.GenerateIn) (activities.GenerateOut, error)
	tool  func(in activities.CallToolIn) (activities.CallToolOut, error)
	list  func(in activities.ListToolsIn) (activities.ListToolsOut, error)
	plan  plan.Plan
	// ownTools answers the calls that touch only our own store.
	ownTools func(in activities.CallOwnToolsIn) (activities.CallOwnToolsOut, error)
	// output returns a stage's output.
	output  func(stage string) activities.SaveStageOut
	saveErr func(activities.SaveStageIn) error
	// hook answers a RunHook; planned holds the calls of a plan.
	hook    func(in activities.RunHookIn) (activities.RunHookOut, error)
	planned []activities.Call
	// speaker is the agent of a conversation.
	speaker    plan.AgentSkeleton
	cannotOpen error
	resolve    func(context.Context) error

	own        []activities.CallOwnToolsIn
	local      []bool // of own
	generated  []activities.GenerateIn
	inTask     []bool // of generated: within the workflow task
	called     []activities.CallToolIn
	quickly    []bool // of called: within the workflow task
	saved      []activities.SaveStageIn
	finished   []activities.FinishIn
	extended   []activities.ExtendBudgetIn
	hooked     []activities.RunHookIn
	mocked     []activities.RunMockIn
	served     int
	joined     []activities.PlanResultIn
	reopened   []activities.ReopenIn
	posted     []activities.PostIn
	noticed    []activities.NoticeIn
	unanswered []activities.UnansweredIn
	decided    []activities.Input // that RecordDecided wrote
	subs       []activities.SaveExecutionIn
	unread     []string // what Finish finds in the mail
	noStatus   func(local bool) error
	scored     []activities.SaveScoreIn
	learns     []activities.SaveLearningsIn // nil: nothing is learned
	listed     bool                         // there are search attributes
	level      activities.Level
	mail       func() bool       // whether an execution has some
	looked     int               // how often it was asked
	turns      []activities.Turn // that a conversation has recorded
	ended      int               // how often its end was recorded
	tidings
}

// tidings are the writes to the store about the status and about acts of people.
type tidings struct {
	received []agent.Status
	writes   []int          // of told, their numbers
	waits    []record.Waits // of told
	acts     []audit.Act
}

// untilNow returns the writes so far. When a workflow has ended, its last write may still be in flight.
func (f *fake) untilNow() tidings {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.tidings
}

func (f *fake) Reopen(_ context.Context, in activities.ReopenIn) error {
	f.reopened = append(f.reopened, in)
	return nil
}

func (f *fake) Post(_ context.Context, in activities.PostIn) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.posted = append(f.posted, in)
	return nil
}

func (f *fake) HasMail(context.Context, activities.HasMailIn) (activities.HasMailOut, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.looked++
	return activities.HasMailOut{Unread: f.mail()}, nil
}

func (f *fake) Tell(_ context.Context, in activities.TellIn) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.acts = append(f.acts, in.Acts...)
	return nil
}

func (f *fake) Notice(_ context.Context, in activities.NoticeIn) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.noticed = append(f.noticed, in)
	return nil
}

func (f *fake) RecordDecided(_ context.Context, in activities.DecidedIn) (activities.DecidedOut, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.decided = append(f.decided, in.Results...)
	return activities.DecidedOut{Seen: []transcript.Mark{{Seq: 99}}}, nil
}

func (f *fake) Unanswered(_ context.Context, in activities.UnansweredIn) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.unanswered = append(f.unanswered, in)
	return nil
}

func (f *fake) ExtendBudget(_ context.Context, in activities.ExtendBudgetIn) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.extended = append(f.extended, in)
	return nil
}

func (f *fake) Generate(ctx context.Context, in activities.GenerateIn) (activities.GenerateOut, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.generated = append(f.generated, in)
	f.inTask = append(f.inTask, activity.GetInfo(ctx).IsLocalActivity)
	if f.model == nil {
		return say("done"), nil
	}
	return f.model(in)
}

func (f *fake) CallTool(ctx context.Context, in activities.CallToolIn) (activities.CallToolOut, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.called = append(f.called, in)
	f.quickly = append(f.quickly, activity.GetInfo(ctx).IsLocalActivity)
	if f.tool == nil {
		return activities.CallToolOut{Status: "success"}, nil
	}
	return f.tool(in)
}

func (f *fake) ListTools(_ context.Context, in activities.ListToolsIn) (activities.ListToolsOut, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.list == nil {
		return activities.ListToolsOut{Tools: 1}, nil
	}
	return f.list(in)
}

func (f *fake) Resolve(ctx context.Context, _ activities.ResolveIn) (activities.ResolveOut, error) {
	if f.resolve != nil {
		return activities.ResolveOut{}, f.resolve(ctx)
	}
	return activities.ResolveOut{Plan: "plan", Skeleton: f.plan.Skeleton(), SearchAttributes: f.listed, Level: f.level}, nil
}

func (f *fake) SaveStage(_ context.Context, in activities.SaveStageIn) (activities.SaveStageOut, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.saved = append(f.saved, in)
	if f.saveErr != nil {
		if err := f.saveErr(in); err != nil {
			return activities.SaveStageOut{}, err
		}
	}
	if f.output == nil {
		return activities.SaveStageOut{}, nil
	}
	return f.output(in.Stage.Name), nil
}

func (f *fake) SaveExecution(_ context.Context, in activities.SaveExecutionIn) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.subs = append(f.subs, in)
	return nil
}

func (f *fake) SaveStatus(ctx context.Context, in activities.SaveStatusIn) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.received, f.writes, f.waits = append(f.received, in.Status), append(f.writes, in.Seq), append(f.waits, in.Waits)
	f.acts = append(f.acts, in.Acts...)
	if f.noStatus != nil {
		return f.noStatus(activity.GetInfo(ctx).IsLocalActivity)
	}
	return nil
}

func (f *fake) Finish(_ context.Context, in activities.FinishIn) (activities.FinishOut, error) {
	f.finished = append(f.finished, in)
	return activities.FinishOut{Report: fmt.Sprint(in.Results), Undelivered: f.unread}, nil
}

func (f *fake) BeginScore(_ context.Context, in activities.BeginScoreIn) (activities.BeginScoreOut, error) {
	return activities.BeginScoreOut{
		N: 1, Ref: activities.Ref{Investigation: in.Investigation, Execution: ":score/Judge", Plan: "plan", Stage: plan.ScoringStage},
		Agent: f.plan.Skeleton().Scoring.Agents[0], Prior: []activities.Source{{Stage: "s1", Execution: "s1/A"}}, Chain: "chain",
		SearchAttributes: f.listed, PlanVersion: f.plan.Version,
		Learns: f.learns != nil,
	}, nil
}

func (f *fake) BeginLearning(_ context.Context, in activities.BeginLearningIn) (activities.BeginLearningOut, error) {
	return activities.BeginLearningOut{
		Learns: f.learns != nil, Agent: plan.AgentSkeleton{Name: "R", Pattern: agent.SingleShot, MaxIterations: 1, Models: []string{"m"}},
		Ref: activities.Ref{Investigation: in.Investigation, Execution: ":learn/R", Plan: "plan", Stage: plan.LearningStage},
	}, nil
}

func (f *fake) SaveLearnings(_ context.Context, in activities.SaveLearningsIn) (learning.Outcome, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.learns = append(f.learns, in)
	return learning.Outcome{}, nil
}

func (f *fake) SaveScore(_ context.Context, in activities.SaveScoreIn) (record.Score, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.scored = append(f.scored, in)
	out := record.Score{Investigation: in.Judge.Ref.Investigation, N: in.N, Status: in.Judge.Status}
	if out.Status == agent.StatusCompleted {
		out.Score = new(87)
	}
	out.Error = in.Judge.Error
	return out, nil
}

func (f *fake) CallOwnTools(ctx context.Context, in activities.CallOwnToolsIn) (activities.CallOwnToolsOut, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.own = append(f.own, in)
	f.local = append(f.local, activity.GetInfo(ctx).IsLocalActivity)
	if f.ownTools == nil {
		return activities.CallOwnToolsOut{}, nil
	}
	return f.ownTools(in)
}

func (f *fake) OpenConversation(context.Context, activities.OpenConversationIn) (activities.OpenConversationOut, error) {
	return activities.OpenConversationOut{Plan: "plan", Agent: f.speaker, Level: f.level, PlanVersion: f.plan.Version}, f.cannotOpen
}

func (f *fake) FindTurn(_ context.Context, in activities.FindTurnIn) (out activities.FindTurnOut, err error) {
	for _, turn := range f.turns {
		if turn.Message == in.Message {
			out.Turn = &turn
		}
	}
	return out, nil
}

func (f *fake) EndConversation(context.Context, activities.EndConversationIn) error {
	f.ended++
	return nil
}

func (f *fake) ReadReply(_ context.Context, in activities.ReadReplyIn) (activities.ReadReplyOut, error) {
	if in.Turn != nil {
		f.turns = append(f.turns, *in.Turn)
	}
	return activities.ReadReplyOut{Text: fmt.Sprintf("reply %d", in.Iteration)}, nil
}

// inputs lists the kinds of all inputs that reached the model, call by call.
func (f *fake) inputs() string {
	var calls []string
	for _, in := range f.generated {
		var kinds []string
		for _, input := range in.Inputs {
			kinds = append(kinds, string(input.Kind))
		}
		calls = append(calls, strings.Join(kinds, "+"))
	}
	return strings.Join(calls, ",")
}

// newEnv returns an environment with all workflows. The server refuses to cancel a child that has just ended.
func newEnv(t *testing.T, f *fake) *testsuite.TestWorkflowEnvironment {
	t.Helper()
	env := newEnvFor(t, f)
	env.OnRequestCancelExternalWorkflow(mock.Anything, mock.Anything, mock.Anything).
		Return(serviceerror.NewNotFound("the workflow has ended")).Maybe()
	return env
}

// newEnvFor returns an environment in which the test can register its own workflows, which must not follow mocks.
func newEnvFor(t *testing.T, f *fake) *testsuite.TestWorkflowEnvironment {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	env := suite.NewTestWorkflowEnvironment()
	env.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: time.Minute}) // the machine may be busy
	env.SetTestTimeout(time.Minute)                                             // the same
	Register(env)
	env.RegisterActivity(f)
	return env
}

func say(text string) activities.GenerateOut {
	return activities.GenerateOut{Preview: text, Finish: "stop", Model: "m",
		Usage: agent.Usage{InputTokens: 10, OutputTokens: 5, ModelCalls: 1}}
}

func ask(tools ...string) activities.GenerateOut {
	out := say("")
	for _, name := range tools {
		out.Calls = append(out.Calls, activities.Call{Name: name})
	}
	return out
}

var empty = activities.GenerateOut{Empty: true, Model: "m", Usage: agent.Usage{ModelCalls: 1}}

// script answers the n-th model call with the n-th reply, and all later calls with the last one.
func script(replies ...activities.GenerateOut) func(activities.GenerateIn) (activities.GenerateOut, error) {
	n := 0
	return func(activities.GenerateIn) (activities.GenerateOut, error) {
		reply := replies[min(n, len(replies)-1)]
		n++
		return reply, nil
	}
}

func agentInput(pattern agent.Pattern, iterations int) AgentInput {
	return AgentInput{
		Ref:   activities.Ref{Investigation: "inv", Execution: "stage/A", Plan: "plan"},
		Agent: plan.AgentSkeleton{Name: "A", Pattern: pattern, Models: []string{"m"}, MaxIterations: iterations},
	}
}

// planOf is a plan with one stage for each list of agent types.
func planOf(stages ...[]string) plan.Plan {
	p := plan.Plan{Chain: "chain"}
	for i, types := range stages {
		stage := plan.Stage{Name: fmt.Sprintf("s%d", i+1), SuccessPolicy: plan.SuccessAny}
		for n, typ := range types {
			a := plan.Agent{Name: string(rune('A' + n)), Type: typ, MaxIterations: 3, Providers: []plan.Provider{{Model: "m"}}}
			if typ == "synthesis" {
				a.Name = "Syn"
				stage.Synthesis = &a
				continue
			}
			stage.Agents = append(stage.Agents, a)
		}
		p.Stages = append(p.Stages, stage)
	}
	return p
}
