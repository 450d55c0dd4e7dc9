package cli

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	enumspb "go.temporal.io/api/enums/v1"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/face/cli/local"
	"github.com/inquest-dev/inquest/internal/face/clitest"
	"github.com/inquest-dev/inquest/internal/knowledge/learning"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/workflows"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"starter": func() { Main(context.Background(), local.Full()) }, "toolserver": toolserver})
}

// TestScripts runs the command line as users do. Each script starts with a fake Temporal and without a store. "fill PATH" makes one.
func TestScripts(t *testing.T) {
	t.Parallel()
	params := scripts(false, func(env *testscript.Env, fake *fakeTemporal) {
		env.Setenv("TEMPORAL_ADDRESS", fake.address)
		env.Setenv("INQUEST_STORE", filepath.Join(env.WorkDir, "inquest.db"))
	})
	params.Dir = "testdata"
	testscript.Run(t, params)
}

// scripts returns the parameters for scripts that each have their own system. reach tells the commands where it is. server selects its
// API.
func scripts(server bool, reach func(env *testscript.Env, fake *fakeTemporal)) testscript.Params {
	return testscript.Params{
		Setup: func(env *testscript.Env) error {
			fake := newFakeTemporal(env.T().(testing.TB))
			fake.add(&fakeRun{id: "a-stage", typeName: "Stage", status: enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING})
			env.Values["fake"] = fake
			env.Setenv("TEMPORAL_CONFIG_FILE", filepath.Join(env.WorkDir, "temporal.toml"))
			env.Setenv("XDG_STATE_HOME", filepath.Join(env.WorkDir, "state"))
			env.Setenv("GORACE", "atexit_sleep_ms=0") // else every command takes a second to exit
			reach(env, fake)
			return nil
		},
		Condition: func(string) (bool, error) { return server, nil }, // the only condition
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "fill": fill, "signals": signals, "large": large, "attach": attach, "cite": cite, "tamper": tamper, "past": past,
			"teach": teach, "receive": receive, "empty": empty,
			"begin": beginRun,
		},
	}
}

// exits CODE COMMAND... runs a command that must end with the exit code.
func exits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		got = failed.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// fill PATH [WORKFLOW[=STATUS]] makes a store with investigations. The investigation of the workflow is open; it has one charged reply
// with two calls.
func fill(ts *testscript.TestScript, _ bool, args []string) {
	ctx := context.Background()
	st, err := store.Open(ctx, store.Options{Path: ts.MkAbs(args[0])})
	ts.Check(err)
	if _, known := st.FindInvestigation(ctx, "lost"); known != nil { // ended investigations do not begin again
		ts.Check(errors.Join(
			save(ctx, st, "done", agent.StatusCompleted, agent.EndCompleted, ""),
			st.SaveProgramTools(ctx, []tool.Spec{{Name: "open_ticket", Description: "Opens a ticket", Risk: agent.RiskWrite}}),
			save(ctx, st, "lost", agent.StatusFailed, agent.EndLLMFailed, "no model answered"),
		))
	}
	for _, arg := range args[1:] {
		workflowID, status, _ := strings.Cut(arg, "=")
		ts.Check(begin(ctx, st, workflowID, agent.Status(cmp.Or(status, string(agent.StatusRunning)))))
	}
	ts.Check(st.Close())
}

// empty PATH makes a store without investigations.
func empty(ts *testscript.TestScript, _ bool, args []string) {
	st, err := store.Open(context.Background(), store.Options{Path: ts.MkAbs(args[0])})
	ts.Check(err)
	ts.Check(st.Close())
}

// tamper PATH changes the author of an act in a store.
func tamper(ts *testscript.TestScript, _ bool, args []string) {
	db, err := sql.Open("sqlite", ts.MkAbs(args[0]))
	ts.Check(err)
	_, err = db.Exec(`UPDATE audit SET who = 'Mallory' WHERE n = 1 AND investigation <> ''`)
	ts.Check(errors.Join(err, db.Close()))
}

// past PATH WORKFLOW TOOL ARGUMENTS writes a call that was made.
func past(ts *testscript.TestScript, _ bool, args []string) {
	ctx := context.Background()
	st, err := store.Open(ctx, store.Options{Path: ts.MkAbs(args[0])})
	ts.Check(err)
	call := transcript.Call{ID: "c7_0", Name: args[2], Risk: agent.RiskWrite, Arguments: args[3]}
	_, err = st.Append(ctx, transcript.Step{
		Scope:  transcript.Scope{Investigation: workflows.InvestigationID(args[1], runID), Execution: "collect/LogAgent"},
		Writer: transcript.Writer{RunID: runID, ActivityID: "3"},
		Rows:   []transcript.Row{{Key: transcript.CallKey(7, 0), Kind: transcript.KindCall, Body: transcript.Body{Call: &call}}},
	})
	ts.Check(errors.Join(err, st.Close()))
}

// teach PATH WORKFLOW PROJECT TEXT... makes an investigation of a project teach texts. Another investigation got the first one.
func teach(ts *testscript.TestScript, _ bool, args []string) {
	ctx := context.Background()
	st, err := store.Open(ctx, store.Options{Path: ts.MkAbs(args[0])})
	ts.Check(err)
	r, err := st.FindInvestigation(ctx, args[1])
	ts.Check(err)
	taught := learning.Taught{Investigation: r.ID, At: time.Now()}
	for _, text := range args[3:] {
		taught.New = append(taught.New, learning.Learning{
			Kind: learning.Semantic, Polarity: learning.Neutral, Text: text, Confidence: learning.Initial, Rows: []int64{1},
		})
	}
	out, err := st.Learn(ctx, args[2], taught)
	ts.Check(err)
	read := learning.Read{Learning: out.Created[0], Investigation: "reader", How: learning.Shown, At: time.Now()}
	ts.Check(errors.Join(st.NoteReads(ctx, args[2], []learning.Read{read}), st.Close()))
}

// receive PATH PROJECT LEARNING COUNT makes that many other investigations receive a learning: reader-1, reader-2 and so on.
func receive(ts *testscript.TestScript, _ bool, args []string) {
	ctx := context.Background()
	st, err := store.Open(ctx, store.Options{Path: ts.MkAbs(args[0])})
	ts.Check(err)
	id, err := learning.ParseName(args[2])
	ts.Check(err)
	count, err := strconv.Atoi(args[3])
	ts.Check(err)
	reads, start := make([]learning.Read, count), time.Now()
	for n := range reads {
		at := start.Add(time.Duration(n) * time.Millisecond)
		reads[n] = learning.Read{Learning: id, Investigation: fmt.Sprint("reader-", n+1), How: learning.Recalled, At: at}
	}
	ts.Check(errors.Join(st.NoteReads(ctx, args[1], reads), st.Close()))
}

// signals WORKFLOW prints the signals that the investigation received.
func signals(ts *testscript.TestScript, _ bool, args []string) {
	fake := ts.Value("fake").(*fakeTemporal)
	fake.mu.Lock()
	defer fake.mu.Unlock()
	_, err := ts.Stdout().Write([]byte(strings.Join(fake.runs[args[0]].signals, "\n") + "\n"))
	ts.Check(err)
}

// large FILE BYTES writes a text of that size.
func large(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	ts.Check(writeFile(ts.MkAbs(args[0]), strings.Repeat("x", n)))
}

// attach PATH WORKFLOW makes a tool of an investigation return an image, a text that is dangerous for a terminal, and structured data.
func attach(ts *testscript.TestScript, _ bool, args []string) {
	ctx := context.Background()
	st, err := store.Open(ctx, store.Options{Path: ts.MkAbs(args[0])})
	ts.Check(err)
	result := transcript.Result{}
	for _, a := range []tool.Artifact{
		{MIMEType: "image/png", Data: []byte("\x89PNG\x00")}, {MIMEType: "text/plain", Name: "file:///var/log/../app.log",
			Data: []byte("\x1b[31mred\n")},
		{MIMEType: "application/json", Name: "structuredContent", JSON: []byte(`{"pods":2}`)},
	} {
		body, err := json.Marshal(a)
		ts.Check(err)
		hash, err := st.PutBlob(ctx, body)
		ts.Check(err)
		result.Artifacts = append(result.Artifacts, hash)
	}
	_, err = st.Append(ctx, transcript.Step{
		Scope:  transcript.Scope{Investigation: workflows.InvestigationID(args[1], runID), Execution: "collect/LogAgent"},
		Writer: transcript.Writer{RunID: runID, ActivityID: "2"},
		Rows: []transcript.Row{{Key: transcript.ResultKey(1, 0), Kind: transcript.KindResult, Body: transcript.Body{
			Text: "Three things.", Call: &transcript.Call{ID: "1", Name: "lab.look"}, Status: "success", Result: result,
		}}},
	})
	ts.Check(errors.Join(err, st.Close()))
}

// begin writes a running investigation.
func begin(ctx context.Context, st *store.Store, workflowID string, status agent.Status) error {
	r := record.Investigation{
		ID: workflows.InvestigationID(workflowID, runID), WorkflowID: workflowID, RunID: runID, Status: agent.StatusRunning,
		StartedAt: time.Now(),
	}
	e := record.Execution{
		Investigation: r.ID, Name: "collect/LogAgent", Stage: "collect", Agent: "LogAgent", Model: "gpt-4o",
		Status: agent.StatusRunning, StartedAt: r.StartedAt,
	}
	reply := transcript.Row{Key: transcript.Key{Iteration: 1}, Kind: transcript.KindReply, Body: transcript.Body{
		Text: "I look.", Calls: []transcript.Call{{ID: "c1_0", Name: "k8s.restart", Arguments: `{"pod":"db-1"}`}, {}},
		Answer: transcript.Answer{Usage: &agent.Usage{InputTokens: 700, OutputTokens: 9, ModelCalls: 1, CostUSD: 0.012}},
	}}
	waiting := record.Waiting{Investigation: r.ID, WorkflowID: workflowID, RunID: runID, Seq: 1, Status: status}
	switch status {
	case agent.StatusWaitingApproval:
		waiting.Approvals = clitest.Risky(r.ID)
	case agent.StatusWaitingAnswer:
		waiting.Questions = clitest.Asking()
	}
	begun := errors.Join(st.StartInvestigation(ctx, r), st.StartExecution(ctx, e, ""), st.SetWaiting(ctx, waiting))
	_, err := st.Append(ctx, transcript.Step{
		Scope:  transcript.Scope{Investigation: r.ID, Execution: e.Name},
		Writer: transcript.Writer{RunID: runID, ActivityID: "1"}, Rows: []transcript.Row{reply},
	})
	return errors.Join(begun, err)
}

// save writes an investigation as workers do: while it runs, and its end.
func save(ctx context.Context, st *store.Store, workflowID string, status agent.Status, reason agent.EndReason, message string) error {
	started := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	over := started.Add(90 * time.Second)
	r := record.Investigation{
		ID: workflows.InvestigationID(workflowID, runID), WorkflowID: workflowID, RunID: runID, Chain: "chain-of-" + workflowID,
		AlertType: "slow", Status: agent.StatusRunning, StartedAt: started,
	}
	data, err := st.PutBlob(ctx, []byte(`{"title": "checkout is slow"}`))
	if err != nil {
		return err
	}
	r.DataHash = data
	text, err := json.Marshal(plan.Plan{Version: 1, Chain: r.Chain, Stages: []plan.Stage{{Name: "collect"}, {Name: "tell"}}})
	if err == nil {
		r.PlanHash, err = st.PutBlob(ctx, text)
	}
	if err != nil {
		return err
	}
	e := record.Execution{
		Investigation: r.ID, Name: "collect/LogAgent", Stage: "collect", Agent: "LogAgent", Model: "gpt-4o",
		Status: agent.StatusRunning, StartedAt: started,
	}
	reply := transcript.Body{
		Text:   "The pool is exhausted.",
		Answer: transcript.Answer{Model: "gpt-4o", Finish: "stop", Usage: &agent.Usage{InputTokens: 1200, OutputTokens: 34, ModelCalls: 1}},
	}
	step := transcript.Step{
		Scope:  transcript.Scope{Investigation: r.ID, Execution: e.Name},
		Writer: transcript.Writer{RunID: runID, ActivityID: "1"},
		Rows: []transcript.Row{
			{Key: transcript.Key{Iteration: 1}, Kind: transcript.KindSystem, Body: transcript.Body{Text: "You investigate."}},
			{Key: transcript.Key{Iteration: 1, Position: 1}, Kind: transcript.KindReply, Body: reply},
		},
	}
	begun := errors.Join(st.StartInvestigation(ctx, r), st.StartExecution(ctx, e, ""))
	_, err = st.Append(ctx, step)
	e.Status, e.EndedAt, e.Iterations, e.Usage = status, &over, 1, *reply.Usage
	stage := record.Stage{Investigation: r.ID, Name: "collect", Status: status, StartedAt: started, EndedAt: &over}
	r.Status, r.EndReason, r.Error, r.EndedAt, r.Usage = status, reason, message, &over, e.Usage
	r.Report = "# Found\nThe pool.\n\n## Root cause\nThe pool was cut.\n\n" +
		"## Next steps\n1. Undo the rollout.\n2. Watch <errors>.\n\n**Confidence:** high"
	r.Envelope.Undelivered = []string{`guide by Ada: no model call followed: "be brief"`}
	return errors.Join(begun, err, st.SaveStage(ctx, stage, []record.Execution{e}, nil), st.FinishInvestigation(ctx, r))
}
