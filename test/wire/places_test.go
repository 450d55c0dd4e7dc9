package wire

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/circuit"
	"github.com/inquest-dev/inquest/internal/face/inbox"
	"github.com/inquest-dev/inquest/internal/knowledge/memory"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/internal/trust/evidence"
	"github.com/inquest-dev/inquest/internal/trust/remember"
	"github.com/inquest-dev/inquest/internal/virtual"
	"github.com/inquest-dev/inquest/workflows"
)

func of[T any]() reflect.Type { return reflect.TypeFor[T]() }

// fixed lists the documents that no registry knows.
var fixed = map[string]reflect.Type{
	"request of an investigation": of[agent.Request](),
	"request of a conversation":   of[agent.ConversationRequest](),

	"signal limits":  of[workflows.Limits](),
	"signal waiting": of[workflows.Waiting](),
	"signal wake":    nil, // it has no input
	"signal close":   nil,

	"reply of a signal's update":   of[workflows.Taken](),
	"update decide":                of[workflows.Decide](),
	"update decide: reply":         of[activities.Decision](),
	"update elicit":                of[activities.Elicitation](),
	"update elicit: reply":         of[activities.Elicited](),
	"update answer":                of[workflows.Answer](),
	"update answer: reply":         of[workflows.Interrupt](),
	"update extend_budget":         of[workflows.ExtendBudget](),
	"update extend_budget: reply":  of[workflows.Budget](),
	"update send":                  of[workflows.Message](),
	"update send: reply":           of[workflows.Reply](),
	"query status":                 of[workflows.Status](),
	"query status of an agent":     of[workflows.AgentStatus](),
	"query status of a thread":     of[workflows.ConversationStatus](),
	"query result":                 of[workflows.InvestigationResult](),
	"details of a model's failure": of[activities.Trouble](),
	"details of a heartbeat":       of[activities.Doing](),
	"memo of the fleet":            of[workflows.FleetMemo](),

	"blob plan":      of[plan.Plan](),
	"blob catalogue": of[tool.Catalogue](),
	"blob evidence":  of[evidence.Evidence](),
	"blob artifact":  of[tool.Artifact](),
	"blob masking":   of[plan.Masking](),
	"blob memory":    of[memory.Snapshot](),

	"column entries.body":              of[transcript.Body](),
	"column investigations.metadata":   of[map[string]string](),
	"column investigations.overrides":  of[agent.Overrides](),
	"column investigations.usage":      of[agent.Usage](),
	"column investigations.envelope":   of[record.Envelope](),
	"column stages.envelope":           of[record.StageEnvelope](),
	"column scores.judgement":          of[record.Judgement](),
	"column waiting.waits":             of[record.Waits](),
	"column circuits.state":            of[circuit.State](),
	"column extensions.by":             of[plan.Extension](),
	"column rules.rule":                of[remember.Rule](),
	"column rules.revoked":             of[remember.Revoked](),
	"column meta.tools":                of[[]tool.Spec](),
	"column meta.worker":               of[record.Worker](),
	"column agent_versions.definition": of[virtual.Definition](),

	"file of the inbox": of[inbox.Item](),
}

// places returns the type of every document that one process writes and another reads, by the place in which it occurs.
func places(t *testing.T) map[string]reflect.Type {
	t.Helper()
	all := map[string]reflect.Type{}
	add := func(place string, typ reflect.Type) {
		if typ != nil && typ != of[converter.RawValue]() {
			all[place] = typ
		}
	}
	for place, typ := range fixed {
		add(place, typ)
	}
	for _, signal := range system.Signals {
		add("signal "+signal.Name, reflect.TypeOf(signal.Payload("", system.Target{}, "")))
	}
	workflows.Register(registry{add: add})
	act := reflect.TypeFor[*activities.Activities]()
	for i := range act.NumMethod() {
		addFunc(add, "activity "+act.Method(i).Name, act.Method(i).Type, 2) // after the receiver and the context
	}
	addBodies(t, add)
	return all
}

// addFunc adds the inputs and the result of a workflow or an activity.
func addFunc(add func(string, reflect.Type), name string, f reflect.Type, from int) {
	for i := from; i < f.NumIn(); i++ {
		add(name+": input", f.In(i))
	}
	if f.NumOut() == 2 {
		add(name+": result", f.Out(0))
	}
}

// registry receives the workflows of workflows.Register.
type registry struct {
	worker.WorkflowRegistry
	add func(string, reflect.Type)
}

func (r registry) RegisterWorkflow(w any) {
	r.RegisterWorkflowWithOptions(w, workflow.RegisterOptions{})
}

func (r registry) RegisterWorkflowWithOptions(w any, _ workflow.RegisterOptions) {
	_, name, _ := strings.Cut(runtime.FuncForPC(reflect.ValueOf(w).Pointer()).Name(), "/workflows.")
	addFunc(r.add, "workflow "+name, reflect.TypeOf(w), 1)
}

// TestEverySignalHasADocument compares fixed with the names of signals, updates and queries in workflows.
func TestEverySignalHasADocument(t *testing.T) {
	t.Parallel()
	constant := regexp.MustCompile(`(?m)^(?:const |\t)(Signal|Update|Query)\w+ += "([a-z_-]+)"`)
	files, err := filepath.Glob("../../workflows/*.go")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range constant.FindAllSubmatch(text, -1) {
			n++
			place := strings.ToLower(string(found[1])) + " " + string(found[2])
			_, ok := fixed[place]
			if _, row := system.SignalNamed(string(found[2])); !ok && !row {
				t.Errorf("%s: no document of the %s", file, place)
			}
		}
	}
	if n < 16 {
		t.Errorf("%d signals, updates and queries", n)
	}
}
