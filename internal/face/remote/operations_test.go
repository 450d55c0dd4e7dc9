package remote

import (
	"bytes"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/knowledge/memory"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/trust/audit"
	"github.com/inquest-dev/inquest/workflows"
)

// The client implements what commands use.
var (
	_ system.Starter   = (*Client)(nil)
	_ system.Reader    = (*Client)(nil)
	_ system.Decider   = (*Client)(nil)
	_ system.Steerer   = (*Client)(nil)
	_ system.Talker    = (*Client)(nil)
	_ system.Maker     = (*Client)(nil)
	_ system.Learner   = (*Client)(nil)
	_ system.Reviewer  = (*Client)(nil)
	_ system.Scheduler = (*Client)(nil)
	_ system.Keeper    = (*Client)(nil)
	_ system.Caller    = (*Client)(nil)
)

// anything answers every operation: it has the fields that any of them must have.
const anything = `{"id":"i","thread":"t","items":[],"entries":[],"investigation":{"id":"i","status":"completed"},"reply":{"text":"hello"}}`

// Every operation is called by the client, or its row says why not.
func TestOperations(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	called := map[string]bool{}
	r := New("http://127.0.0.1", "", false)
	r.HTTP.Transport = wire(func(asked *http.Request) *http.Response {
		mu.Lock()
		defer mu.Unlock()
		called[asked.Method+" "+asked.URL.Path] = true
		accept := asked.Header.Get("Accept")
		text := anything
		if accept == "text/event-stream" {
			text = "data: {\"type\":\"ended\",\"result\":{\"id\":\"i\"}}\n\n"
		}
		return &http.Response{
			StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {accept}}, Body: io.NopCloser(bytes.NewReader([]byte(text))),
		}
	})
	ctx, id, edit := t.Context(), "i", system.AgentEdit{Name: "A", Project: "p"}
	for name, err := range map[string]error{
		"Start": failed(r.Start(ctx, system.Start{})), "Find": failed(r.Find(ctx, id)), "List": failed(r.List(ctx, record.Filter{})),
		"Status": failed(r.Status(ctx, id)), "Whole": failed(r.Whole(ctx, id)),
		"Evidence":  failed(r.Evidence(ctx, system.Record{Investigation: record.Investigation{ID: id}})),
		"Plan":      failed(r.Plan(ctx, system.Record{Investigation: record.Investigation{ID: id}})),
		"Artifacts": failed(r.Artifacts(ctx, id)), "Artifact": failed(r.Artifact(ctx, system.Investigations+"/i/artifacts/1")),
		"Acts":    r.Acts(ctx, record.ActFilter{Investigation: id}, func(audit.Act) error { return nil }),
		"Follow":  failed(r.Follow(ctx, system.HandleOf(id, true), 0, func(system.Event) error { return nil })),
		"Waiting": failed(r.Waiting(ctx, "")), "Decide": failed(r.Decide(ctx, id, workflows.Decide{})),
		"Answer": failed(r.Answer(ctx, id, workflows.Answer{})), "Extend": failed(r.Extend(ctx, id, workflows.ExtendBudget{})),
		"CancelAs": failed(r.CancelAs(ctx, id, agent.Identity{})), "Score": failed(r.Score(ctx, id, "")),
		"Versions": failed(r.VirtualVersions(ctx, "p", "A")), "Create": failed(r.CreateAgent(ctx, edit, []byte("{}"))),
		"Change": failed(r.ChangeAgent(ctx, edit, []byte("{}"))), "Copy": failed(r.CopyAgent(ctx, edit, system.AgentCopy{})),
		"Delete": failed(r.DeleteAgent(ctx, edit)), "Agents": failed(r.Agents(ctx, "p")), "Threads": failed(r.Threads(ctx, "", 0)),
		"Begin": failed(r.Say(ctx, system.Words{Agent: "A", Text: "hello"}, nil)), "Conclude": r.Conclude(ctx, "t", ""),
		"Say": failed(r.Say(ctx, system.Words{Thread: "t", Text: "hello"}, nil)), "Close": r.CloseThread(ctx, "t"),
		"After": failed(r.Conversations().After(ctx, "t", 0, 0)), "Memory": failed(r.Memory(ctx, "A")),
		"Write": r.WriteBlock(ctx, "A", "facts", memory.BlockEdit{}), "Forget": r.Forget(ctx, "A", "facts", 0),
		"Delete entry": r.Forget(ctx, "A", "", 1),
		"FindTurns":    failed(r.FindTurns(ctx, system.FindTurnsIn{Words: "x"})), "AllThreads": failed(r.AllThreads(ctx, system.ThreadsIn{})),
		"Export": failed(r.ExportThread(ctx, system.ExportThreadIn{ThreadIn: system.ThreadIn{ID: "t"}})), "Talk": failed(r.Talk(ctx, "t")),
		"DeleteThread":   failed(r.DeleteThread(ctx, "t", agent.Identity{})),
		"Learnings":      failed(r.Learnings(ctx, system.LearningsIn{})),
		"Taught":         failed(r.Taught(ctx, system.TaughtIn{ByID: system.ByID{ID: id}})),
		"Learning":       failed(r.Learning(ctx, system.GetLearningIn{LearningIn: system.LearningIn{Learning: "L1"}})),
		"EditLearning":   failed(r.EditLearning(ctx, system.EditLearningIn{LearningIn: system.LearningIn{Learning: "L1"}}, agent.Identity{})),
		"DeleteLearning": r.DeleteLearning(ctx, system.LearningIn{Learning: "L1"}, agent.Identity{}),
		"Withdraw":       failed(r.WithdrawLearnings(ctx, system.WithdrawIn{ByID: system.ByID{ID: id}}, agent.Identity{})),
		"Rate":           failed(r.Rate(ctx, system.RateIn{ByID: system.ByID{ID: id}}, agent.Identity{})),
		"Stats":          failed(r.Stats(ctx, record.ByModel, record.Filter{})),
		"Review":         failed(r.Review(ctx, system.ReviewIn{ByID: system.ByID{ID: id}}, agent.Identity{})),
		"Schedules":      failed(r.Schedules(ctx, nil)),
		"CreateSchedule": failed(r.CreateSchedule(ctx, system.Start{Request: agent.Request{Schedule: &agent.Schedule{}}}, agent.Identity{})),
		"ChangeSchedule": failed(r.ChangeSchedule(ctx, system.ChangeScheduleIn{ScheduleIn: system.ScheduleIn{Name: "s"}}, agent.Identity{})),
		"DeleteSchedule": r.DeleteSchedule(ctx, system.ScheduleIn{Name: "s"}, agent.Identity{}),
		"RunTool":        failed(r.RunTool(ctx, "k.get", "", "{}", true)),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, _, err := r.FindThread(ctx, "t")
	_, _, wrong := r.Tools(ctx, "", "")
	_, noBooks := r.Runbooks(ctx, "", nil)
	_, _, bad := r.Config(ctx, "")
	if err != nil || wrong != nil || noBooks != nil || bad != nil {
		t.Error(err, wrong, noBooks, bad)
	}
	for _, signal := range system.Signals {
		if _, err := r.Steer(ctx, id, signal.Name, signal.Payload("look", system.Target{}, "")); err != nil {
			t.Errorf("%s: %v", signal.Name, err)
		}
	}
	if err := r.Conversations().Follow(ctx, "t", 0, func(record.Update) error { return nil }); err != nil {
		t.Error(err)
	}
	parameter := regexp.MustCompile(`\\\{\w+\\\}`)
	for _, o := range system.Operations() {
		path := regexp.MustCompile("^" + o.Method + " " + parameter.ReplaceAllString(regexp.QuoteMeta(o.Path), `[^/]+`) + "$")
		found := false
		for request := range called {
			found = found || path.MatchString(request) && !strings.HasSuffix(request, "/investigations/check")
		}
		if found == (o.NotRemote != "") {
			t.Errorf("%s: called %t, reason why not %q", o.Name, found, o.NotRemote)
		}
	}
}

// failed returns the error of a call with a result.
func failed[T any](_ T, err error) error { return err }
