package activities_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/knowledge/learning"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/internal/trust/audit"
)

// recalling plans with memory.
type recalling struct {
	inbox
	embedding *plan.Embedding
}

func (r recalling) Plan(context.Context, agent.Request, string) (plan.Plan, error) {
	provider := []plan.Provider{{Name: "p", Model: "gpt-4o"}}
	digger := plan.Agent{Name: "A", Definition: "A", Type: "default", MaxIterations: 5, Recalls: true, Providers: provider,
		Tools: plan.ToolConfig{TaintedWrites: "writing"}}
	reflector := plan.Agent{Name: "ReflectorAgent", Definition: "ReflectorAgent", Type: "reflector", MaxIterations: 1, Providers: provider,
		Contract: plan.Contract{JSON: true, Schema: learning.Schema}}
	return plan.Plan{
		Chain: "lab", AlertType: "incident", Stages: []plan.Stage{{Name: "s", Agents: []plan.Agent{digger}}},
		AlertMasking: &plan.Masking{Custom: []plan.MaskPattern{{Pattern: "hunter.", Replacement: "[MASKED]"}}},
		Memory:       &plan.Memory{MaxInject: 2, MaxKnown: 5, Embedding: r.embedding},
		Learning:     &plan.Stage{Name: plan.LearningName, Agents: []plan.Agent{reflector}},
	}, nil
}

// recallBuiltins are the tools for earlier investigations.
type recallBuiltins struct{ noBuiltins }

func (recallBuiltins) Specs(plan.Agent) []tool.Spec { return learning.Specs() }

// embedder returns vectors of two numbers, or an error.
type embedder struct {
	texts [][]string
	err   error
}

func (e *embedder) Embed(_ context.Context, _ plan.Embedding, _ bool, texts []string) (all [][]float32, err error) {
	e.texts = append(e.texts, texts)
	for range texts {
		all = append(all, []float32{1, 0.5})
	}
	return all, e.err
}

func newRecallBench(t *testing.T, embedding *plan.Embedding) (*bench, *embedder) {
	b, e := newBench(t), &embedder{}
	b.act.Learnings, b.act.Builtins, b.act.Embeddings, b.act.Validator = b.learnings(), recallBuiltins{}, e, tool.NewValidator()
	b.act.Requests = inbox(`{"chain":"lab","data":"the pool of payments is full","project":"shop"}`)
	b.act.Planner = recalling{embedding: embedding}
	return b, e
}

func (b *bench) learnings() *store.Store { return b.store }

func (b *bench) teach(project, investigation string, texts ...string) {
	b.t.Helper()
	taught := learning.Taught{Investigation: investigation, At: time.Now()}
	for _, text := range texts {
		taught.New = append(taught.New, learning.Learning{
			Kind: learning.Semantic, Polarity: learning.Neutral, Text: text, Confidence: learning.Initial,
		})
	}
	if _, err := b.learnings().Learn(b.t.Context(), project, taught); err != nil {
		b.t.Fatal(err)
	}
}

// resolved plans investigation w:1.
func (b *bench) resolved() plan.Plan {
	b.t.Helper()
	return b.resolvedAs("w:1")
}

func (b *bench) resolvedAs(id string) (p plan.Plan) {
	b.t.Helper()
	var out activities.ResolveOut
	value, err := b.env.ExecuteActivity(b.act.Resolve, activities.ResolveIn{Investigation: id, RunID: "run"})
	if err == nil {
		err = value.Get(&out)
	}
	if err != nil {
		b.t.Fatal(err)
	}
	body, err := b.store.Blob(b.t.Context(), out.Plan)
	if err = errors.Join(err, json.Unmarshal(body, &p)); err != nil {
		b.t.Fatal(err)
	}
	b.ref = activities.Ref{Investigation: id, Execution: "s/A", Plan: out.Plan, Data: out.Data}
	return p
}

func (b *bench) entries(execution string) []transcript.Entry {
	b.t.Helper()
	entries, err := b.store.Entries(b.t.Context(), transcript.Scope{Investigation: "w:1", Execution: execution})
	if err != nil {
		b.t.Fatal(err)
	}
	return entries
}

// TestLearningsInPrompts: agents get the learnings of their project, marked as data, and are tainted by them. Which ones they
// got is on record.
func TestLearningsInPrompts(t *testing.T) {
	t.Parallel()
	b, _ := newRecallBench(t, nil)
	b.teach("shop", "old",
		"The pool of payments has 20 connections.", "Kafka lags on Mondays.", "The full pool of payments empties by itself.",
		"A pool of payments is full at noon.")
	b.teach("other", "foreign", "The pool of payments is full of secrets.")
	p := b.resolved()
	if len(p.Memory.Shown) != 2 || p.Version != plan.Version && p.Memory.Shown[0].From != "old" {
		t.Fatalf("chosen: %+v", p.Memory)
	}
	b.asks(agent.ToolCall{Name: "recall_past_investigations", Arguments: `{"query":"pool kafka secrets"}`})
	system := b.requests[0].Messages[0].Content
	for text, want := range map[string]bool{
		"# Learned from earlier investigations": true, "from old): The": true, "Kafka": false, "secrets": false, "<learnings-": true,
	} {
		if strings.Contains(system, text) != want {
			t.Errorf("the prompt has %q: %t\n%s", text, !want, system)
		}
	}
	if got := b.entries("s/A")[0].Untrusted; !slices.Contains(got, "learnings from earlier investigations") {
		t.Errorf("the agent is tainted by %q", got)
	}
	if _, err := b.callTool(1, 0); err != nil {
		t.Fatal(err)
	}
	entries := b.entries("s/A")
	result := entries[len(entries)-1]
	if !strings.Contains(result.Text, "Kafka lags") || strings.Contains(result.Text, "secrets") ||
		!slices.Equal(result.Untrusted, []string{"recall_past_investigations"}) {
		t.Errorf("recalled: %+v", result.Body)
	}
	for _, shown := range p.Memory.Shown {
		if strings.Contains(result.Text, learning.Name(shown.ID)+" ") {
			t.Errorf("recalled what the prompt has: %s", result.Text)
		}
	}
	reads, _, err := b.learnings().LearningReads(t.Context(), learning.ReadFilter{Project: "shop", Investigation: "w:1"})
	how := map[learning.How]int{}
	for _, r := range reads {
		how[r.How]++
	}
	if diff := cmp.Diff(map[learning.How]int{learning.Shown: 2, learning.Recalled: 2}, how); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

// TestWithdrawnLearnings: learnings withdrawn or deleted after the plan was made are neither in a prompt nor in a result.
func TestWithdrawnLearnings(t *testing.T) {
	t.Parallel()
	b, _ := newRecallBench(t, nil)
	b.teach("shop", "wrong", "The pool of payments is empty.")
	b.teach("shop", "right", "The full pool of payments has 20 connections.", "The pool of payments is slow.")
	if p := b.resolved(); len(p.Memory.Shown) != 2 {
		t.Fatalf("chosen: %+v", p.Memory.Shown)
	}
	var left []int64
	for _, id := range []int64{1, 2, 3} {
		used, err := b.store.LearningsInUse(t.Context(), "shop", []int64{id})
		if err != nil {
			t.Fatal(err)
		}
		left = append(left, used...)
	}
	if !slices.Equal(left, []int64{1, 2, 3}) {
		t.Fatalf("in use: %v", left)
	}
	by := learning.Withdrawn{By: "ada", At: time.Now(), Why: "it was the network"}
	for _, from := range []string{"wrong", "right"} {
		if _, err := b.store.WithdrawLearnings(t.Context(), "shop", from, by, audit.Act{Who: "ada"}); err != nil {
			t.Fatal(err)
		}
	}
	b.asks(agent.ToolCall{Name: "recall_past_investigations", Arguments: `{"query":"pool payments"}`})
	system := b.requests[0].Messages[0].Content
	if strings.Contains(system, "pool of payments is") || strings.Contains(system, "connections") {
		t.Errorf("the prompt has a withdrawn learning\n%s", system)
	}
	if _, err := b.callTool(1, 0); err != nil {
		t.Fatal(err)
	}
	entries := b.entries("s/A")
	if text := entries[len(entries)-1].Text; !strings.Contains(text, "No learnings match") {
		t.Errorf("recalled: %s", text)
	}
}

// TestSearchPastSessions: agents find ended investigations of their project that are no trials.
func TestSearchPastSessions(t *testing.T) {
	t.Parallel()
	b, _ := newRecallBench(t, nil)
	now := time.Now()
	for n, project := range []string{"shop", "other", "shop", "shop"} {
		id := fmt.Sprint("past-", n)
		r := record.Investigation{ID: id, WorkflowID: id, RunID: "r", Chain: "lab", AlertType: "incident", PlanHash: "p", StartedAt: now,
			Labels: agent.Labels{Project: project}, Status: agent.StatusRunning}
		if err := b.store.StartInvestigation(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		r.Envelope.Trial = n == 3
		if r.EndedAt, r.Status, r.Report = &now, agent.StatusCompleted, "checkout-7 ran out of memory"; n != 2 {
			if err := b.store.FinishInvestigation(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
	}
	b.resolved()
	b.asks(agent.ToolCall{Name: "search_past_sessions", Arguments: `{"query":"checkout-7"}`},
		agent.ToolCall{Name: "search_past_sessions", Arguments: `{"query":"checkout-8","days_back":1}`})
	for n, want := range []string{"# past-0\n", "No investigations match."} {
		if _, err := b.callTool(1, n); err != nil {
			t.Fatal(err)
		}
		entries := b.entries("s/A")
		if got := entries[len(entries)-1]; !strings.HasPrefix(got.Text, want) || strings.Contains(got.Text, "past-1") ||
			strings.Contains(got.Text, "past-2") || strings.Contains(got.Text, "past-3") || len(got.Untrusted) == 0 {
			t.Errorf("call %d: %+v", n, got.Body)
		}
	}
}

// reflect lets the learning agent answer, and stores its learnings. {row} in the answer is a row of the records.
func (b *bench) reflect(answer string) (task string, out learning.Outcome) {
	b.t.Helper()
	var begun activities.BeginLearningOut
	value, err := b.env.ExecuteActivity(b.act.BeginLearning, activities.BeginLearningIn{Investigation: "w:1", N: 1})
	if err == nil {
		err = value.Get(&begun)
	}
	if err != nil || !begun.Learns {
		b.t.Fatalf("%+v, %v", begun, err)
	}
	b.reply = func(req llm.Request) (llm.Response, error) {
		task = req.Messages[1].Content
		row := regexp.MustCompile(`\[row (\d+), iteration 1\] reply`).FindStringSubmatch(task)
		if row == nil {
			b.t.Fatalf("no rows in\n%s", task)
		}
		return llm.Response{Content: strings.ReplaceAll(answer, "{row}", row[1]), Finish: llm.FinishStop}, nil
	}
	b.ref = begun.Ref
	generated, err := b.generate(activities.GenerateIn{Iteration: 1, Prior: begun.Prior, Peers: begun.Peers})
	if err != nil || generated.Invalid != "" {
		b.t.Fatalf("%+v, %v", generated, err)
	}
	for range 2 { // a repeated attempt changes nothing
		value, err = b.env.ExecuteActivity(b.act.SaveLearnings, activities.SaveLearningsIn{Reflector: activities.ExecutionSummary{
			Ref: begun.Ref, Status: agent.StatusCompleted, Iterations: 1, Started: time.Now(), Ended: time.Now(),
		}})
		if err == nil {
			err = value.Get(&out)
		}
		if err != nil {
			b.t.Fatal(err)
		}
	}
	return task, out
}

// scored ends investigation w:1 with a report and a score.
func (b *bench) scored() {
	b.t.Helper()
	b.reply = func(llm.Request) (llm.Response, error) {
		return llm.Response{Content: "It is the pool.", Finish: llm.FinishStop}, nil
	}
	if _, err := b.generate(activities.GenerateIn{Iteration: 1}); err != nil {
		b.t.Fatal(err)
	}
	now := time.Now()
	r, err := b.store.Investigation(b.t.Context(), "w:1")
	r.Status, r.EndedAt, r.Report = agent.StatusCompleted, &now, "It is the pool."
	if err == nil {
		err = b.store.FinishInvestigation(b.t.Context(), r)
	}
	score := record.Score{Investigation: "w:1", Run: "x", Status: agent.StatusRunning, StartedAt: now}
	if err == nil {
		score, err = b.store.BeginScore(b.t.Context(), score)
	}
	score.Status, score.Score, score.Assessment, score.EndedAt = agent.StatusCompleted, new(40), "Too early.", &now
	if err == nil {
		by := record.Execution{Investigation: "w:1", Name: ":score/Judge", Stage: ":score", Type: "scoring", StartedAt: now}
		err = b.store.SaveScore(b.t.Context(), score, by)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// TestLearn: learnings are masked, and stored with their rows, their sources and a vector. Earlier learnings change.
func TestLearn(t *testing.T) {
	t.Parallel()
	b, e := newRecallBench(t, &plan.Embedding{Provider: "openai", Model: "m", Dimensions: 2})
	b.teach("shop", "old", "The pool of payments has 20 connections.", "The pool of payments never fills up.")
	b.resolved()
	b.scored()
	task, out := b.reflect(`{"new":[
		{"kind":"episodic","polarity":"positive","text":"The pool log has the password hunter2.","rows":[{row},9999]},
		{"kind":"semantic","polarity":"neutral","text":"Invented.","rows":[9999]}],"confirmed":["L1"],"contradicted":["L2"]}`)
	for _, want := range []string{"Too early.\n\nScore: 40 of 100", "- L1 (semantic, neutral; from old)", "It is the pool."} {
		if !strings.Contains(task, want) {
			t.Errorf("the agent that learns is not told %q:\n%s", want, task)
		}
	}
	if diff := cmp.Diff(learning.Outcome{Created: []int64{3}, Confirmed: []int64{1}, Contradicted: []int64{2}}, out); diff != "" {
		t.Error(diff)
	}
	got, err := b.learnings().Learning(t.Context(), "shop", 3)
	if err != nil || got.Text != "The pool log has the password [MASKED]." || len(got.Rows) != 1 || got.Investigation != "w:1" ||
		!slices.Contains(got.Untrusted, "the request") || got.Chain != "lab" || got.AlertType != "incident" {
		t.Errorf("%+v, %v", got, err)
	}
	if left, err := b.learnings().Unembedded(t.Context(), "shop", "openai/m/2", 9); err != nil || len(left) != 0 {
		t.Errorf("without a vector: %+v, %v", left, err)
	}
	if len(e.texts) < 3 || !strings.Contains(e.texts[0][0], "the pool of payments is full") {
		t.Errorf("embedded: %q", e.texts)
	}
	entries := b.entries(":learn/ReflectorAgent")
	if last := entries[len(entries)-1]; last.Kind != transcript.KindNotice || !strings.HasPrefix(last.Text, "Learning new[1] was not saved") {
		t.Errorf("last entry: %+v", last)
	}
	var again activities.BeginLearningOut
	value, err := b.env.ExecuteActivity(b.act.BeginLearning, activities.BeginLearningIn{Investigation: "w:1", N: 2})
	if err == nil {
		err = value.Get(&again)
	}
	if err != nil || again.Learns {
		t.Errorf("it learns twice: %+v, %v", again, err)
	}
}

// TestLearnNothingFromGivenResults: a fork in which a person gave the result of a tool teaches nothing, because it has not happened.
func TestLearnNothingFromGivenResults(t *testing.T) {
	t.Parallel()
	b, _ := newRecallBench(t, nil)
	p := b.resolved()
	for id, fork := range map[string]*plan.Fork{"w:2": {Of: "w:1"}, "w:3": {Of: "w:1", Given: []plan.ForkGiven{{Row: 5, Tool: "lab.read"}}}} {
		p.Fork = fork
		body, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		now := time.Now()
		r := record.Investigation{
			ID: id, WorkflowID: id, RunID: "r", Chain: "lab", PlanHash: b.put(string(body)), DataHash: b.put("data"), StartedAt: now,
			Labels: agent.Labels{Project: "shop"}, Status: agent.StatusRunning,
		}
		err = b.store.StartInvestigation(t.Context(), r)
		r.EndedAt, r.Status, r.Report = &now, agent.StatusCompleted, "the pool is full"
		if err := errors.Join(err, b.store.FinishInvestigation(t.Context(), r)); err != nil {
			t.Fatal(err)
		}
		var begun activities.BeginLearningOut
		value, err := b.env.ExecuteActivity(b.act.BeginLearning, activities.BeginLearningIn{Investigation: id, N: 1})
		if err == nil {
			err = value.Get(&begun)
		}
		if err != nil || begun.Learns != (id == "w:2") {
			t.Errorf("%s: %v, %+v", id, err, begun)
		}
	}
}

// TestLearnNothing: a reply that passes the schema and breaks the contract teaches nothing.
func TestLearnNothing(t *testing.T) {
	t.Parallel()
	b, _ := newRecallBench(t, nil)
	b.resolved()
	b.scored()
	if _, out := b.reflect(`{"new":[],"confirmed":["L7"],"contradicted":[]}`); !cmp.Equal(out, learning.Outcome{}) {
		t.Errorf("%+v", out)
	}
	entries := b.entries(":learn/ReflectorAgent")
	if last := entries[len(entries)-1]; last.Text != "Nothing was learned: L7 is not one of the learnings that were shown" {
		t.Errorf("last entry: %+v", last)
	}
}

// TestLearnEmbedsOlder: an embedding model that is configured later embeds the older learnings as well, 20 at a time.
func TestLearnEmbedsOlder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, e := newRecallBench(t, &plan.Embedding{Provider: "openai", Model: "m", Dimensions: 2})
		for n := range 5 {
			var texts []string
			for m := range 50 {
				texts = append(texts, fmt.Sprintf("Pool %d of payments has %d connections.", n, m))
			}
			b.teach("shop", fmt.Sprint("old", n), texts...)
		}
		b.resolved()
		b.scored()
		e.texts = nil
		b.reflect(`{"new":[],"confirmed":[],"contradicted":[]}`)
		if left, err := b.learnings().Unembedded(t.Context(), "shop", "openai/m/2", 9); err != nil || len(left) != 0 {
			t.Errorf("without a vector: %+v, %v", left, err)
		}
		var sizes []int
		for _, texts := range e.texts {
			sizes = append(sizes, len(texts))
		}
		want := append(append([]int{1}, slices.Repeat([]int{20}, 12)...), 10) // the first is the query for what the agent that learns is shown
		if !slices.Equal(sizes, want) {
			t.Errorf("embedded: %v", sizes)
		}
	})
}

// TestEmbeddingFails: words are compared instead, people are told, and the investigation goes on.
func TestEmbeddingFails(t *testing.T) {
	t.Parallel()
	b, e := newRecallBench(t, &plan.Embedding{Provider: "openai", Model: "m"})
	e.err = errors.New("the server answered 500")
	b.teach("shop", "old", "The pool of payments has 20 connections.")
	if p := b.resolved(); len(p.Memory.Shown) != 1 {
		t.Errorf("chosen: %+v", p.Memory)
	}
	notices, err := b.store.Notices(t.Context(), "w:1", 9)
	const want = "The embedding model m failed: the server answered 500. Learnings are compared by words only."
	if err != nil || len(notices) != 1 || notices[0].Text != want {
		t.Errorf("notices: %+v, %v", notices, err)
	}
}
