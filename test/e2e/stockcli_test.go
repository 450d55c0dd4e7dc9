package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/workflows"
)

// TestStockCLI runs Temporal's own CLI as a process and does everything with it that users do with an
// investigation.
func TestStockCLI(t *testing.T) {
	s := stock{path: buildCLI(t), holds: &sync.Map{}}
	t.Parallel() // after the build: an uncached build uses all cores for minutes
	s.world = newWorld(t, s.script(), labConfig)
	s.dev()
	t.Run("start", s.testStart)
	t.Run("large", s.testLarge)
	t.Run("status", s.testStatus)
	t.Run("describe", s.testDescribe)
	t.Run("guide", s.testGuide)
	t.Run("pause", s.testPause)
	t.Run("conclude", s.testConclude)
	t.Run("undelivered", s.testUndelivered)
	t.Run("updates", s.testUpdates)
	t.Run("cancel", s.testCancel)
	t.Run("refused", s.testRefused)
	t.Run("conversation", s.testConversation)
}

// buildCLI builds the stock CLI from the module proxy.
func buildCLI(t *testing.T) string {
	t.Helper()
	path, err := temporalCLI()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var temporalCLI = sync.OnceValues(func() (string, error) {
	return program("temporal", "../tools/temporalcli", "github.com/temporalio/cli/cmd/temporal")
})

// stock is the stock Temporal CLI and the dev process that all its tests share.
type stock struct {
	*world
	path  string
	holds *sync.Map // "<case> <agent> <turn>" → *llmtest.Hold
}

// in returns the same fixture for a subtest.
func (s stock) in(t *testing.T) stock {
	w := *s.world
	w.t, s.world = t, &w
	return s
}

// concludes reports whether a request asks for a conclusion: it declares tools but does not let the model call any.
func concludes(req llmtest.Request) bool {
	return strings.Contains(string(req.Body), `"tool_choice":"none"`)
}

// script is the lab's script, with holds for a case. An agent that is asked to conclude states its findings; so
// does an agent whose window is filled by a large alert, because it does not see its earlier turns.
func (s stock) script() llmtest.Script {
	script := newScript().script()
	return func(req llmtest.Request) llmtest.Reply {
		reply := script(req)
		if concludes(req) || caseOf(req) == "large" {
			reply = llmtest.Text("what "+who(req)+" knows so far").Chunked(4, 0)
		}
		if hold, ok := s.holds.Load(fmt.Sprintf("%s %s %d", caseOf(req), who(req), turnOf(req))); ok {
			return reply.Hold(hold.(*llmtest.Hold), 1)
		}
		return reply
	}
}

// hold holds the streams of a case's turns, each named "<agent> <turn>".
func (s stock) hold(id string, turns ...string) held {
	out := make(held, len(turns))
	for i, turn := range turns {
		out[i] = llmtest.NewHold()
		s.t.Cleanup(out[i].Release)
		s.holds.Store(id+" "+turn, out[i])
	}
	return out
}

// held is a list of holds, one for each turn.
type held []*llmtest.Hold

// Wait waits until every turn's reply has reached its hold.
func (h held) Wait(t *testing.T) {
	t.Helper()
	for _, hold := range h {
		hold.Wait(t)
	}
}

// Release lets the replies of every turn through, now and later.
func (h held) Release() {
	for _, hold := range h {
		hold.Release()
	}
}

var caseMark = regexp.MustCompile(`case=([a-z0-9-]+);`)

// caseOf returns the workflow ID of the investigation that a request belongs to. The request's data contains
// it.
func caseOf(req llmtest.Request) string {
	if found := caseMark.FindStringSubmatch(req.Task()); found != nil {
		return found[1]
	}
	return ""
}

// asks returns the model requests of a case, keyed by "<agent> <turn>".
func (s stock) asks(id string) map[string]llmtest.Request {
	out := map[string]llmtest.Request{}
	for _, req := range s.model.Requests() {
		if caseOf(req) == id {
			out[fmt.Sprintf("%s %d", who(req), turnOf(req))] = req
		}
	}
	return out
}

// cli runs `temporal workflow …` and expects it to succeed.
func (s stock) cli(args ...string) (stdout string) {
	s.t.Helper()
	out, errs, code := s.program(s.path, "", append([]string{"workflow"}, args...)...)
	if code != 0 {
		s.t.Fatalf("temporal workflow %v: exit code %d\n%s%s", args, code, out, errs)
	}
	return out
}

// startCLI starts an investigation with the command from the README.
func (s stock) startCLI(id string, args ...string) (investigation string) {
	s.t.Helper()
	args = append([]string{"start", "--type", "Investigation", "--task-queue", "inquest", "--workflow-id", id, "-o", "json"}, args...)
	var started struct{ WorkflowID, RunID string }
	s.decode(s.cli(args...), &started)
	if started.WorkflowID != id {
		s.t.Errorf("started %q, want %q", started.WorkflowID, id)
	}
	return workflows.InvestigationID(id, started.RunID)
}

// startLab starts the lab's chain for a case.
func (s stock) startLab(id string) (investigation string) {
	s.t.Helper()
	return s.startCLI(id, "--input", fmt.Sprintf(`{"alert_type":"lab","data":"case=%s; what happened?"}`, id))
}

func (s stock) decode(body string, out any) {
	s.t.Helper()
	if err := json.Unmarshal([]byte(body), out); err != nil {
		s.t.Fatalf("%v in:\n%s", err, body)
	}
}

// closed is the output of `temporal workflow result -o json`.
type closed struct {
	Status     string
	CloseEvent struct {
		Completed struct {
			Result []workflows.InvestigationResult
		} `json:"workflowExecutionCompletedEventAttributes"`
		Failed struct {
			Failure struct {
				Message string
				Cause   any
				Info    struct {
					Type         string
					NonRetryable bool
				} `json:"applicationFailureInfo"`
			}
		} `json:"workflowExecutionFailedEventAttributes"`
	}
}

// closing waits until a workflow closes, and returns its result and the CLI's exit code.
func (s stock) closing(id string) (out closed, code int) {
	s.t.Helper()
	body, _, code := s.program(s.path, "", "workflow", "result", "--workflow-id", id, "-o", "json")
	s.decode(body, &out)
	return out, code
}

// completed waits for an investigation that must complete, and returns its result.
func (s stock) completed(id string) (result workflows.InvestigationResult) {
	s.t.Helper()
	end, code := s.closing(id)
	if code != 0 || end.Status != "COMPLETED" || len(end.CloseEvent.Completed.Result) != 1 {
		s.t.Fatalf("%s ended with exit code %d: %+v", id, code, end)
	}
	return end.CloseEvent.Completed.Result[0]
}

// query queries a workflow with `temporal workflow query`.
func query[T any](s stock, id, name string) T {
	s.t.Helper()
	var answer struct{ QueryResult []T }
	s.decode(s.cli("query", "--workflow-id", id, "--type", name, "-o", "json"), &answer)
	if len(answer.QueryResult) != 1 {
		s.t.Fatalf("query %s of %s: %d results", name, id, len(answer.QueryResult))
	}
	return answer.QueryResult[0]
}

// signalCLI sends a signal to a case and waits until it has reached the agents.
func (s stock) signalCLI(investigation, name, input string, agents ...string) {
	s.t.Helper()
	id, _, _ := strings.Cut(investigation, ":")
	args := []string{"signal", "--workflow-id", id, "--name", name}
	if input != "" {
		args = append(args, "--input", input)
	}
	s.cli(args...)
	if name == workflows.SignalGuide && len(agents) > 0 {
		eventually(s.t, "what was said is in the mail", func() bool { return s.posted(id) })
		return
	}
	for _, who := range agents {
		eventually(s.t, name+" reaches "+who, func() bool { return s.signalled(investigation+"/dig/"+who, name) })
	}
}

func (s stock) signalled(workflowID, name string) bool {
	for _, e := range s.history(workflowID) {
		if e.GetWorkflowExecutionSignaledEventAttributes().GetSignalName() == name {
			return true
		}
	}
	return false
}

// posted reports whether a message to an investigation has reached the mail.
func (s stock) posted(workflowID string) bool {
	posts := map[int64]bool{}
	for _, e := range s.history(workflowID) {
		if marker := e.GetMarkerRecordedEventAttributes(); marker.GetFailure() == nil &&
			strings.Contains(marker.GetDetails()["data"].String(), "Post") {
			return true
		}
		if e.GetActivityTaskScheduledEventAttributes().GetActivityType().GetName() == "Post" {
			posts[e.EventId] = true
		}
		if posts[e.GetActivityTaskCompletedEventAttributes().GetScheduledEventId()] {
			return true
		}
	}
	return false
}

func (s stock) testStart(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, input, shown string }{
		{"text", `{"alert_type":"lab","data":"case=text; the disk of \"db-1\" is full"}`, `case=text; the disk of "db-1" is full`},
		{"object", `{"chain":"lab","data":{"b":1.50,"a":["case=object;",null]}}`, `{"b":1.50,"a":["case=object;",null]}`},
		{"list", `{"chain":"lab","alert_type":"lab","data":["case=list;"]}`, `["case=list;"]`},
		{"all", `{"alert_type":"lab","data":"case=all;","runbook":"Be kind to the disk.","provider":"lab-model"}`, "Be kind to the disk."},
		{"protobuf", `{"alert_type":"lab","data":"case=protobuf;"}`, "case=protobuf;"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := s.in(t)
			encoding := "json/plain"
			if tt.name == "protobuf" { // the other encoding that the UI's form offers
				encoding = "json/protobuf"
			}
			id := s.startCLI(tt.name, "--input", tt.input, "--input-meta", "encoding="+encoding)
			result := s.completed(tt.name)
			if result.ID != id || result.Status != agent.StatusCompleted || result.Report != "the report of gamma" {
				t.Errorf("result %+v", result)
			}
			if task := s.asks(tt.name)["Alpha 1"]; !strings.Contains(task.Task(), tt.shown) {
				t.Errorf("the model was not shown %q:\n%s", tt.shown, task.Task())
			}
			if text := s.cli("result", "--workflow-id", tt.name); !strings.Contains(text, "COMPLETED") ||
				!strings.Contains(text, "the report of gamma") {
				t.Errorf("result as text:\n%s", text)
			}
		})
	}
}

// A 1 MB alert is kept whole and adds nothing to any history except its own event. Temporal rejects a larger
// one at once.
func (s stock) testLarge(t *testing.T) {
	t.Parallel()
	s = s.in(t)
	data := "case=large; " + strings.Repeat("disk full on node 7\n", 1<<20/20)
	input, err := json.Marshal(agent.Request{AlertType: "lab", Data: quoted(data), Attach: true})
	if err != nil {
		t.Fatal(err)
	}
	id := s.startCLI("large", "--input-file", s.file(input))
	if result := s.completed("large"); result.Report != "what Gamma knows so far" {
		t.Errorf("result %+v", result)
	}
	record, err := s.open().Investigation(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if kept, err := s.open().Blob(t.Context(), record.DataHash); err != nil || string(kept) != data {
		t.Errorf("%d bytes of %d are kept, %v", len(kept), len(data), err)
	}
	const most = 16 << 10
	for _, workflowID := range tree("large", id) {
		size := 0
		for _, e := range s.history(workflowID) {
			size += e.Size() - e.GetWorkflowExecutionStartedEventAttributes().GetInput().Size()
		}
		if size > most {
			t.Errorf("the history of %s has %d bytes besides its input, want at most %d", workflowID, size, most)
		}
	}
	_, errs, code := s.program(s.path, "", "workflow", "start", "--type", "Investigation", "--task-queue", "inquest",
		"--input-file", s.file(fmt.Appendf(nil, `{"chain":"lab","data":%s}`, quoted(strings.Repeat(data, 3)))))
	if code == 0 || !strings.Contains(errs, "exceeds") {
		t.Errorf("3 MB: exit code %d: %s", code, errs)
	}
}

// file writes a file for --input-file.
func (s stock) file(content []byte) (path string) {
	s.t.Helper()
	path = filepath.Join(s.t.TempDir(), "input.json")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		s.t.Fatal(err)
	}
	return path
}

func quoted(text string) json.RawMessage {
	body, _ := json.Marshal(text) // marshalling a string cannot fail
	return body
}

// tree returns the workflow IDs of an investigation of the lab's chain.
func tree(id, investigation string) []string {
	out := []string{id}
	for _, child := range []string{"dig", "dig/Alpha", "dig/Beta", "dig/SynthesisAgent", "tell", "tell/Gamma"} {
		out = append(out, investigation+"/"+child)
	}
	return out
}

// The status has the same short form during an investigation and after it.
func (s stock) testStatus(t *testing.T) {
	t.Parallel()
	s = s.in(t)
	hold := s.hold("status", "Gamma 1")
	id := s.startLab("status")
	hold.Wait(t)
	line := func(stage, name string, status agent.Status) workflows.AgentSummary {
		a := workflows.AgentSummary{Name: name, Status: status, Model: "lab-1", WorkflowID: id + "/" + stage + "/" + name}
		if status == agent.StatusCompleted {
			a.StopReason = agent.StopEndTurn
		}
		return a
	}
	dig := workflows.StageStatus{Name: "dig", Run: 1, Status: agent.StatusCompleted, Agents: []workflows.AgentSummary{
		line("dig", "Alpha", agent.StatusCompleted), line("dig", "Beta", agent.StatusCompleted),
		line("dig", "SynthesisAgent", agent.StatusCompleted),
	}}
	tell := workflows.StageStatus{Name: "tell", Run: 1, Status: agent.StatusRunning,
		Agents: []workflows.AgentSummary{line("tell", "Gamma", agent.StatusRunning)}}
	want := workflows.Status{
		ID: id, Chain: "lab", Status: agent.StatusRunning, WaitingFor: "the agents of stage tell", Stages: []workflows.StageStatus{dig, tell},
		Pass: 1, Hops: 2, Outputs: map[string]workflows.Output{"dig": {Stage: "dig", Execution: "dig/SynthesisAgent"}},
		History: []workflows.StageRun{{
			Stage: "dig", Agents: []string{"Alpha", "Beta", "SynthesisAgent"}, Pass: 1, Status: agent.StatusCompleted,
			Outcome: agent.OutcomeSuccess, LLMCalls: 6,
		}},
	}
	counters := cmp.Options{
		cmpopts.IgnoreTypes(agent.Usage{}), cmpopts.IgnoreFields(workflows.AgentSummary{}, "Iterations"),
		cmpopts.IgnoreFields(workflows.StageRun{}, "Started", "Completed", "DurationMS"), cmpopts.IgnoreFields(workflows.Status{}, "By"),
	}
	got := query[workflows.Status](s, "status", "status")
	if diff := cmp.Diff(want, got, counters); diff != "" {
		t.Errorf("status while it runs (-want +got):\n%s", diff)
	}
	if got.By != "" { // Temporal gives the name of a process, not of a person
		t.Errorf("asked for by %q", got.By)
	}
	if got.Usage.ModelCalls != 6 || got.Usage.ToolCalls != 4 {
		t.Errorf("usage of the first stage: %+v", got.Usage)
	}
	gamma := query[workflows.AgentStatus](s, id+"/tell/Gamma", "status")
	if gamma.Status != agent.StatusRunning || gamma.Iteration != 1 || gamma.Doing != "waiting for lab-1" {
		t.Errorf("status of the agent: %+v", gamma)
	}

	hold.Release()
	result := s.completed("status")
	tell.Status, tell.Agents[0] = agent.StatusCompleted, line("tell", "Gamma", agent.StatusCompleted)
	want.Status, want.EndReason, want.WaitingFor, want.Stages[1] = agent.StatusCompleted, agent.EndCompleted, "", tell
	want.Outputs["tell"] = workflows.Output{Stage: "tell", Execution: "tell/Gamma"}
	want.History = append(want.History, workflows.StageRun{
		Stage: "tell", Agents: []string{"Gamma"}, Pass: 1, Status: agent.StatusCompleted, Outcome: agent.OutcomeSuccess, LLMCalls: 2,
	})
	if diff := cmp.Diff(want, query[workflows.Status](s, "status", "status"), counters); diff != "" {
		t.Errorf("status after the end (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(result, query[workflows.InvestigationResult](s, "status", "result")); diff != "" {
		t.Errorf("query result (-workflow's result +got):\n%s", diff)
	}
}

// A workflow's description explains what it is, what it is doing and how to steer it.
func (s stock) testDescribe(t *testing.T) {
	t.Parallel()
	s = s.in(t)
	id := s.startLab("describe")
	s.completed("describe")
	type described struct{ Name, Description string }
	var answer struct {
		QueryResult []struct {
			CurrentDetails string
			Definition     struct{ QueryDefinitions, SignalDefinitions []described }
		}
	}
	s.decode(s.cli("metadata", "--workflow-id", "describe", "-o", "json"), &answer)
	metadata := answer.QueryResult[0]
	got := map[string]string{}
	for _, d := range append(metadata.Definition.QueryDefinitions, metadata.Definition.SignalDefinitions...) {
		got[d.Name] = d.Description
	}
	for _, name := range []string{"status", "result", "pause", "resume", "conclude", "guide"} {
		if got[name] == "" {
			t.Errorf("%s has no description", name)
		}
	}
	for _, row := range []string{"**lab** · completed",
		"| dig | completed | Alpha (completed), Beta (completed), SynthesisAgent (completed) |", "| tell | completed | Gamma (completed) |"} {
		if !strings.Contains(metadata.CurrentDetails, row) {
			t.Errorf("current details lack %q:\n%s", row, metadata.CurrentDetails)
		}
	}
	for _, attribute := range []string{"InquestChain", "InquestStatus", "InquestAlertType"} {
		if text := s.cli("describe", "--workflow-id", "describe"); !strings.Contains(text, attribute) {
			t.Errorf("describe does not show %s:\n%s", attribute, text)
		}
	}
	s.checkSummaries(tree("describe", id))
}

// checkSummaries checks that everything a workflow starts has a summary.
func (s stock) checkSummaries(workflowIDs []string) {
	s.t.Helper()
	summaries := map[string]bool{}
	for _, id := range workflowIDs {
		for _, e := range s.history(id) {
			switch e.GetEventType() {
			case enumspb.EVENT_TYPE_MARKER_RECORDED:
				if e.GetMarkerRecordedEventAttributes().GetMarkerName() != "LocalActivity" {
					continue
				}
				fallthrough
			case enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED, enumspb.EVENT_TYPE_TIMER_STARTED,
				enumspb.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED:
				var text string
				if data := e.GetUserMetadata().GetSummary().GetData(); json.Unmarshal(data, &text) != nil || text == "" {
					s.t.Errorf("%s, event %d (%s) has no summary", id, e.GetEventId(), e.GetEventType())
				}
				summaries[text] = true
			}
		}
	}
	for _, want := range []string{
		"dig", "tell", "Alpha · lab-1", "lab-1 · iteration 1", "lab-1 · iteration 3", "lab.counter · call 1 of iteration 2", "tools of lab",
		"chain and configuration", "stage tell", "report",
	} {
		if !summaries[want] {
			s.t.Errorf("no summary is %q; available: %v", want, summaries)
		}
	}
}

// Guidance reaches its agent in the next model request: in the second one, or in the first if that was retried.
func (s stock) testGuide(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, input string
		received    []string
	}{
		{"guide-all", `{"text":"look at the disks","by":"Ada"}`, []string{"Alpha", "Beta"}},
		{"guide-text", `"look at the disks"`, []string{"Alpha", "Beta"}},
		{"guide-one", `{"text":"look at the disks","agent":"Beta"}`, []string{"Beta"}},
		{"guide-later", `{"text":"look at the disks","agent":"Gamma"}`, []string{"Gamma"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := s.in(t)
			hold := s.hold(tt.name, "Alpha 1", "Beta 1")
			id := s.startLab(tt.name)
			hold.Wait(t)
			s.signalCLI(id, "guide", tt.input, tt.received...)
			hold.Release()
			s.completed(tt.name)
			asks := s.asks(tt.name)
			want := map[string]bool{"Alpha 2": false, "Beta 2": false, "Gamma 1": false}
			got := maps.Clone(want)
			for _, name := range tt.received {
				want[map[string]string{"Alpha": "Alpha 2", "Beta": "Beta 2", "Gamma": "Gamma 1"}[name]] = true
			}
			for turn := range got {
				got[turn] = strings.Contains(string(asks[turn].Body), "look at the disks")
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("told (-want +got):\n%s", diff)
			}
			if body := string(asks["Alpha 2"].Body); tt.name == "guide-all" && !strings.Contains(body, "Ada") {
				t.Errorf("the model is not told who speaks:\n%s", body)
			}
		})
	}
}

// No model call is made between a pause and the resume.
func (s stock) testPause(t *testing.T) {
	t.Parallel()
	s = s.in(t)
	hold := s.hold("pause", "Alpha 1", "Beta 1")
	id := s.startLab("pause")
	hold.Wait(t)
	s.signalCLI(id, "pause", "", "Alpha", "Beta")
	status := query[workflows.Status](s, "pause", "status")
	if status.Status != agent.StatusPaused || !strings.Contains(status.WaitingFor, "resume") {
		t.Errorf("status %+v", status)
	}
	hold.Release()
	for _, name := range []string{"Alpha", "Beta"} {
		eventually(t, name+" has stopped", func() bool {
			return query[workflows.AgentStatus](s, id+"/dig/"+name, "status").Doing == "paused"
		})
	}
	if asks := s.asks("pause"); len(asks) != 2 {
		t.Errorf("%d model calls before the resume, want 2", len(asks))
	}
	s.signalCLI(id, "resume", "")
	if result := s.completed("pause"); result.Report != "the report of gamma" {
		t.Errorf("result %+v", result)
	}
}

// An agent that is asked to conclude answers from its findings, without tools.
func (s stock) testConclude(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, input string
		noted       []string
		report      string
	}{
		{"conclude-all", "", []string{"Alpha", "Beta"}, "both know"},
		{"conclude-one", `{"agent":"Alpha","by":"Ada"}`, []string{"Alpha"}, "the report of gamma"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := s.in(t)
			hold := s.hold(tt.name, "Alpha 1", "Beta 1")
			id := s.startLab(tt.name)
			hold.Wait(t)
			s.signalCLI(id, "conclude", tt.input, tt.noted...)
			hold.Release()
			result := s.completed(tt.name)
			if result.Status != agent.StatusCompleted || result.Report != tt.report {
				t.Errorf("result %+v, want the report %q", result, tt.report)
			}
			for _, a := range result.Stages[0].Agents[:2] {
				noted := a.Name == tt.noted[0] || len(tt.noted) > 1
				if concluded := a.StopReason == agent.StopConcluded; concluded != noted {
					t.Errorf("%s stopped because of %s", a.Name, a.StopReason)
				}
				if concluded := concludes(s.asks(tt.name)[a.Name+" 2"]); concluded != noted {
					t.Errorf("%s was asked for a conclusion: %v, want %v", a.Name, concluded, noted)
				}
			}
		})
	}
}

// The status reports a signal that matches no agent, and the signal has no other effect.
func (s stock) testUndelivered(t *testing.T) {
	t.Parallel()
	s = s.in(t)
	hold := s.hold("undelivered", "Alpha 1", "Beta 1")
	id := s.startLab("undelivered")
	hold.Wait(t)
	s.signalCLI(id, "conclude", `{"agent":"Gamma"}`)
	s.signalCLI(id, "guide", `{"text":"look","agent":"Nobody"}`)
	s.signalCLI(id, "guide", `{"txt":"look"}`)
	s.signalCLI(id, "guide", "")
	s.signalCLI(id, "gide", `{"text":"look"}`)
	wrong := []string{"Gamma is not running", `"Nobody"`, `unknown field "txt"; expected input: {"text"`, "no text",
		`unknown signal "gide"; available: `}
	var status workflows.Status
	eventually(t, "five signals are undelivered", func() bool {
		status = query[workflows.Status](s, "undelivered", "status")
		return len(status.Undelivered) == len(wrong)
	})
	for n, want := range wrong {
		if !strings.Contains(status.Undelivered[n], want) {
			t.Errorf("undelivered %q, want %q in it", status.Undelivered[n], want)
		}
	}
	if details := s.cli("metadata", "--workflow-id", "undelivered"); strings.Count(details, "not delivered:") != len(wrong) {
		t.Errorf("the current details do not show what was not delivered:\n%s", details)
	}
	for n, entry := range s.entries(id)[:len(wrong)] { // the agents have not written anything yet
		if entry.Execution != "" || entry.Kind != transcript.KindNotice || !strings.Contains(entry.Text, wrong[n]) {
			t.Errorf("the transcript has %+v, want a notice of %q", entry, wrong[n])
		}
	}
	hold.Release()
	s.completed("undelivered")
}

// Every signal is also available as an update, which returns the agents that accepted it or the reason for its rejection.
func (s stock) testUpdates(t *testing.T) {
	t.Parallel()
	s = s.in(t)
	hold, last := s.hold("updates", "Alpha 1", "Beta 1"), s.hold("updates", "Alpha 2")
	id := s.startLab("updates")
	hold.Wait(t)
	update := func(name, input string) (string, int) {
		args := []string{"workflow", "update", "execute", "--workflow-id", "updates", "--name", name, "-o", "json"}
		if input != "" {
			args = append(args, "--input", input)
		}
		out, errs, code := s.program(s.path, "", args...)
		return strings.ReplaceAll(out+errs, `\"`, `"`), code
	}
	for _, tt := range []struct {
		name, input, want string
		code              int
	}{
		{"guide", `{"text":"look at the disks","agent":"Beta","by":"Ada"}`, `"dig/Beta"`, 0},
		{"guide", `{"text":"look","agent":"Nobody"}`, `guide: no agent "Nobody" is running or still to run`, 1},
		{"guide", `{"text":"look","stage":"nowhere"}`, `guide: no stage "nowhere" is running or still to run`, 1},
		{"guide", `{"txt":"look"}`, `guide: unknown field "txt"; expected input: {"text"`, 1},
		{"pause", ``, `"dig/Alpha"`, 0},
		{"resume", `{"by":"Ada"}`, `"dig/Beta"`, 0},
		{"conclude", `{"agent":"Gamma"}`, `conclude: agent Gamma is not running`, 1},
		{"decide", `{}`, `unknown update decide`, 1},
	} {
		if out, code := update(tt.name, tt.input); code != tt.code || !strings.Contains(out, tt.want) {
			t.Errorf("%s %s: exit code %d, %s\nwant %s", tt.name, tt.input, code, out, tt.want)
		}
	}
	out, errs, code := s.starter("", "guide", "updates", "again", "--agent", "Alpha")
	if code != 0 || !strings.Contains(out, id+": guide accepted, for dig/Alpha") {
		t.Errorf("starter guide: exit code %d, %s%s", code, out, errs)
	}
	if status := query[workflows.Status](s, "updates", "status"); len(status.Undelivered) != 0 || status.Status != agent.StatusRunning {
		t.Errorf("status %+v", status)
	}
	hold.Release()
	s.closing(id + "/dig/Beta")
	eventually(t, "Beta's end is known", func() bool {
		out, code := update("guide", `{"text":"look","agent":"Beta"}`)
		return code == 1 && strings.Contains(out, "guide: agent Beta has ended")
	})
	last.Release()
	s.completed("updates")
	if asked := s.asks("updates")["Beta 2"]; !strings.Contains(asked.Last().Text(), "look at the disks") {
		t.Errorf("Beta was told %s", asked.Last().Text())
	}
}

// Cancel stops the whole tree. Finished work is kept and can be queried.
func (s stock) testCancel(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		at       []string
		done     string // the agent that has finished
		report   string
		stages   []agent.Status
		children map[string]string // by name: the outcome
	}{
		{
			name: "cancel-first", at: []string{"Alpha 1", "Beta 1"}, stages: []agent.Status{agent.StatusCancelled, agent.StatusSkipped},
			children: map[string]string{"dig": "CANCELED", "dig/Alpha": "CANCELED", "dig/Beta": "CANCELED"},
		},
		{
			name: "cancel-half", at: []string{"Alpha 1"}, done: "dig/Beta", report: "beta knows five",
			stages:   []agent.Status{agent.StatusCancelled, agent.StatusSkipped},
			children: map[string]string{"dig": "CANCELED", "dig/Alpha": "CANCELED", "dig/Beta": "COMPLETED"},
		},
		{
			name: "cancel-last", at: []string{"Gamma 1"}, report: "both know", stages: []agent.Status{agent.StatusCompleted, agent.StatusCancelled},
			children: map[string]string{"dig": "COMPLETED", "dig/Alpha": "COMPLETED", "tell": "CANCELED", "tell/Gamma": "CANCELED"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := s.in(t)
			hold := s.hold(tt.name, tt.at...)
			id := s.startLab(tt.name)
			hold.Wait(t)
			if tt.done != "" {
				s.closing(id + "/" + tt.done)
			}
			s.cli("cancel", "--workflow-id", tt.name)
			if end, code := s.closing(tt.name); code != 1 || end.Status != "CANCELED" {
				t.Errorf("ended with exit code %d: %+v", code, end)
			}
			for child, want := range tt.children {
				if end, _ := s.closing(id + "/" + child); end.Status != want {
					t.Errorf("%s ended as %s, want %s", child, end.Status, want)
				}
			}
			result := query[workflows.InvestigationResult](s, tt.name, "result")
			if result.Status != agent.StatusCancelled || result.EndReason != agent.EndCancelled || result.Report != tt.report {
				t.Errorf("result %+v", result)
			}
			var stages []agent.Status
			for _, stage := range result.Stages {
				stages = append(stages, stage.Status)
			}
			if diff := cmp.Diff(tt.stages, stages); diff != "" {
				t.Errorf("stages (-want +got):\n%s", diff)
			}
		})
	}
}

// A bad request fails once, immediately, and the error names the mistake and the correction.
func (s stock) testRefused(t *testing.T) {
	t.Parallel()
	object := []string{`"chain" or "alert_type"`, `"data"`} // the fields that an object may have
	tests := []struct {
		name  string
		input []string
		want  []string
	}{
		{"no-input", nil, append(object, "missing")},
		{"null", []string{"--input", `null`}, append(object, "missing")},
		{"empty-object", []string{"--input", `{}`}, []string{"chain", "alert type", "lab"}},
		{"data-only", []string{"--input", `{"data":"x"}`}, []string{"chain", "alert type", "lab"}},
		{"list", []string{"--input", `["lab"]`}, append(object, "array")},
		{"text", []string{"--input", `"lab"`}, append(object, "string")},
		{"no-json", []string{"--input", `lab`, "--input-meta", "encoding=binary/plain"}, object},
		{"two-values", []string{"--input", `{"chain":"lab"}{"data":"x"}`, "--input-meta", "encoding=binary/plain"},
			append(object, "more than one")},
		{"two-inputs", []string{"--input", `{"chain":"lab"}`, "--input", `{"data":"x"}`}, append(object, "2 inputs")},
		{"unknown-field", []string{"--input", `{"alert_typ":"lab","data":"x"}`}, append(object, `"alert_typ"`)},
		{"wrong-type", []string{"--input", `{"chain":5}`}, append(object, "chain", "number", "string")},
		{"wrong-types", []string{"--input", `{"alert_type":["lab"]}`}, append(object, "alert_type", "array", "string")},
		{"unknown-chain", []string{"--input", `{"chain":"lob"}`}, []string{`unknown chain "lob"`, "lab"}},
		{"unknown-alert-type", []string{"--input", `{"alert_type":"lob"}`}, []string{`"lob"`, "lab"}},
		{"both-data", []string{"--input", `{"chain":"lab","data":"x","data_ref":"y"}`}, []string{`"data" and "data_ref"`}},
		{"no-data", []string{"--input", `{"chain":"lab"}`}, []string{"nothing to investigate", `"allow_empty": true`}},
		{"blank-data", []string{"--input", `{"chain":"lab","data":""}`}, []string{"nothing to investigate"}},
		{"much-data", []string{"--input-file", s.file(fmt.Appendf(nil, `{"chain":"lab","data":%q}`, strings.Repeat("x", 262145)))},
			[]string{"262145 bytes", "system.limits.data", `"attach": true`}},
		{"unknown-ref", []string{"--input", `{"chain":"lab","data_ref":"y"}`}, []string{`data_ref "y"`, "store"}},
		{"unknown-provider", []string{"--input", `{"chain":"lab","provider":"lob"}`},
			[]string{`unknown provider "lob"`, "; available: ", "provider:model"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, id := s.in(t), "refused-"+tt.name
			s.startCLI(id, tt.input...)
			end, code := s.closing(id)
			failure := end.CloseEvent.Failed.Failure
			if code != 1 || end.Status != "FAILED" || !failure.Info.NonRetryable || failure.Cause != nil ||
				failure.Info.Type != activities.ErrorInvalidRequest {
				t.Errorf("ended with exit code %d: %+v", code, end)
			}
			for _, want := range tt.want {
				if !strings.Contains(failure.Message, want) {
					t.Errorf("message %q, want %q in it", failure.Message, want)
				}
			}
			if strings.Contains(failure.Message, "Go ") || strings.Contains(failure.Message, "agent.Request") {
				t.Errorf("message %q speaks of our code", failure.Message)
			}
			if n := attempts(s.history(id)); n > 1 {
				t.Errorf("%d attempts were made", n)
			}
			if status := query[workflows.Status](s, id, "status"); status.Status != agent.StatusRefused || status.Error != failure.Message {
				t.Errorf("status of the failed workflow: %+v", status)
			}
			text, _, _ := s.program(s.path, "", "workflow", "result", "--workflow-id", id)
			t.Log(text)
			if shown := s.must("show", id); !strings.Contains(shown, "· refused") {
				t.Errorf("starter shows:\n%s", shown)
			}
		})
	}
}

// attempts counts activity starts and workflow task failures.
func attempts(history []*historypb.HistoryEvent) (n int) {
	for _, e := range history {
		n += int(e.GetActivityTaskStartedEventAttributes().GetAttempt())
		if e.GetWorkflowTaskFailedEventAttributes() != nil {
			n++
		}
	}
	return n
}
