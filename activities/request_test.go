package activities_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.temporal.io/sdk/temporal"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/hook"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// counter is a configuration with a chain that has a server and detects duplicate requests.
type counter struct{ inbox }

func (counter) Plan(_ context.Context, req agent.Request, _ string) (plan.Plan, error) {
	p := plan.Plan{
		Chain: "lab", AlertMasking: &plan.Masking{Patterns: []string{"password"}},
		Dedup: plan.Dedup{By: []string{"metadata.host"}, Within: plan.Duration(time.Hour)},
		Stages: []plan.Stage{{Name: "s",
			Agents: []plan.Agent{{Name: "A", Servers: []plan.Server{{Name: "lab"}, {Name: "far", TaskQueue: "far"}, {Name: "lab2"}}}}}},
	}
	if req.Chain != "lab" {
		return p, errors.New("no such chain")
	}
	return p, nil
}

func (b *bench) resolve(id, input string) (activities.ResolveOut, error) {
	b.act.Requests, b.act.Planner = inbox(input), counter{}
	var out activities.ResolveOut
	value, err := b.env.ExecuteActivity(b.act.Resolve, activities.ResolveIn{Investigation: id, RunID: "run"})
	if err == nil {
		err = value.Get(&out)
	}
	return out, err
}

// The labels of a request are in the record, masked, and available to the workflow.
func TestLabelsOfARequest(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	out, err := b.resolve("w:1", `{"chain":"lab","data":"x","requested_by":"Ada","tenant":"acme","session":"s-1","priority":2,
		"metadata":{"password":"hunter2hunter2","host":"web-1"},"budgets":{"max_passes":2}}`)
	if err != nil {
		t.Fatal(err)
	}
	want := agent.Labels{
		Tenant: "acme", Session: "s-1", Priority: 2, Fingerprint: `lab "web-1"`,
		Metadata: map[string]string{"password": "[MASKED_PASSWORD]", "host": "web-1"},
	}
	r, err := b.store.Investigation(t.Context(), "w:1")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]agent.Labels{want, want}, []agent.Labels{out.Labels, r.Labels}); diff != "" {
		t.Errorf("told and recorded (-want +got):\n%s", diff)
	}
	if r.Envelope.By != "Ada" || r.Overrides.Budgets.MaxPasses != 2 {
		t.Errorf("recorded %+v", r)
	}
}

// Tool names are checked against what servers have offered, or offer now. All errors are reported at once.
func TestToolsOfARequest(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		input  string
		wants  []string // none: the request is accepted
		listed int
	}{
		"a server as a whole": {`{"chain":"lab","data":"x","mcp":{"servers":[{"name":"lab"}]}}`, nil, 0},
		"known before":        {`{"chain":"lab","data":"x","mcp":{"servers":[{"name":"lab","tools":["old"]}]}}`, nil, 0},
		"known when asked":    {`{"chain":"lab","data":"x","mcp":{"servers":[{"name":"lab","tools":["lab.read"]}]}}`, nil, 1},
		"out of reach":        {`{"chain":"lab","data":"x","mcp":{"servers":[{"name":"far","tools":["any"]}]}}`, nil, 0},
		"unknown": {
			`{"chain":"lab","data":"x","mcp":{"servers":[{"name":"lab","tools":["raed","lab.write","gone"]}]}}`,
			[]string{`mcp.servers[0].tools[0]: the MCP server "lab" has no tool "lab.raed"; did you mean "lab.read"?`,
				`tools[2]: the MCP server "lab" has no tool "lab.gone"`}, 1,
		},
		"and no chain": {`{"chain":"lob","data":"x","mcp":{"servers":[{"name":"lab","tools":["gone"]}]}}`,
			[]string{"no such chain", `no tool "lab.gone"`}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			offer := tool.Catalogue{Server: "lab", Tools: []tool.Spec{{Name: "lab.old"}}}
			if err := b.store.SaveCatalogue(t.Context(), transcript.Scope{Investigation: "i", Execution: "e"}, offer); err != nil {
				t.Fatal(err)
			}
			_, err := b.resolve("w:1", tt.input)
			if (err == nil) != (tt.wants == nil) {
				t.Errorf("Resolve: %v", err)
			}
			for _, want := range tt.wants {
				if err != nil && !strings.Contains(err.Error(), want) {
					t.Errorf("%v\nwant %s", err, want)
				}
			}
			if len(b.listed) != tt.listed {
				t.Errorf("the server was asked %d times, want %d", len(b.listed), tt.listed)
			}
		})
	}
}

// Servers that do not answer share one timeout: an activity waits no longer.
func TestSilentServers(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	silent := silentServers{bench: b}
	b.act.Servers = &silent
	_, err := b.resolve("w:1", `{"chain":"lab","data":"x","mcp":{"servers":[{"name":"lab","tools":["a"]},{"name":"lab2","tools":["b"]}]}}`)
	if len(silent.until) != 2 || !silent.until[0].Equal(silent.until[1]) {
		t.Errorf("they may take until %v (%v)", silent.until, err)
	}
}

// silentServers do not answer.
type silentServers struct {
	*bench
	until []time.Time
}

func (s *silentServers) List(ctx context.Context, _ plan.Server, _ string) ([]tool.Spec, error) {
	until, _ := ctx.Deadline()
	s.until = append(s.until, until)
	return nil, context.DeadlineExceeded
}

// However investigations are started, a duplicate is refused while the first one runs, and for a while after it has
// completed.
func TestOneOfTheSame(t *testing.T) {
	t.Parallel()
	const second = `{"chain":"lab","data":"x","metadata":{"host":"web-1"}}`
	for name, tt := range map[string]struct {
		change  func(*record.Investigation)
		running bool // according to Temporal
		input   string
		refused bool
	}{
		"runs":              {running: true, refused: true},
		"terminated":        {},
		"completed":         {change: ended(agent.StatusCompleted, time.Minute), refused: true},
		"completed of old":  {change: ended(agent.StatusCompleted, 2*time.Hour)},
		"failed":            {change: ended(agent.StatusFailed, time.Minute)},
		"another tenant's":  {change: func(r *record.Investigation) { r.Tenant = "acme" }, running: true},
		"another chain's":   {change: func(r *record.Investigation) { r.Chain = "lob" }, running: true},
		"asked for again":   {running: true, input: `{"chain":"lab","data":"x","metadata":{"host":"web-1"},"again":true}`},
		"of another host":   {running: true, input: `{"chain":"lab","data":"x","metadata":{"host":"web-2"}}`},
		"of no host at all": {running: true, input: `{"chain":"lab","data":"x"}`},
		"of a masked host": {
			change:  func(r *record.Investigation) { r.Fingerprint = `lab "password=[MASKED_PASSWORD]"` },
			running: true, input: `{"chain":"lab","data":"x","metadata":{"host":"password=hunter2hunter2"}}`,
		},
		"of a masked fingerprint": {
			change:  func(r *record.Investigation) { r.Fingerprint = "password=[MASKED_PASSWORD]" },
			running: true, input: `{"chain":"lab","data":"x","fingerprint":"password=hunter2hunter2"}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			first := record.Investigation{
				ID: "first:1", WorkflowID: "first", RunID: "r", Chain: "lab", Status: agent.StatusRunning, StartedAt: time.Now().Add(-3 * time.Hour),
				Labels: agent.Labels{Fingerprint: `lab "web-1"`},
			}
			if tt.change != nil {
				tt.change(&first)
			}
			if err := b.store.StartInvestigation(t.Context(), first); err != nil {
				t.Fatal(err)
			}
			runs := &temporalRuns{endings: map[string]record.Investigation{"first": {}}}
			if !tt.running {
				runs.endings = nil
			}
			runs.others.Add(1)
			b.act.Runs = runs
			_, err := b.resolve("second:1", map[bool]string{true: second, false: tt.input}[tt.input == ""])
			refused, ok := errors.AsType[*temporal.ApplicationError](err)
			if ok != tt.refused || err != nil && !ok || ok &&
				!strings.Contains(refused.Message(), `first:1 has the same fingerprint (lab "web-1") and is `) {
				t.Errorf("Resolve: %v", err)
			}
		})
	}
}

// Two duplicates do not both run if the servers of the first are slow to list their tools.
func TestOneOfTheSameMeanwhile(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if err := b.store.SaveCatalogue(t.Context(), b.scope(), tool.Catalogue{Server: "lab"}); err != nil {
		t.Fatal(err)
	}
	runs := &temporalRuns{endings: map[string]record.Investigation{"quick": {}}}
	runs.others.Add(1)
	b.act.Runs, b.act.Servers = runs, slowServer{b, func() {
		quick := record.Investigation{
			ID: "quick:1", WorkflowID: "quick", RunID: "r", Chain: "lab", Status: agent.StatusRunning, StartedAt: time.Now(),
			Labels: agent.Labels{Fingerprint: `lab "web-1"`},
		}
		if err := b.store.StartInvestigation(t.Context(), quick); err != nil {
			t.Error(err)
		}
	}}
	_, err := b.resolve("slow:1",
		`{"chain":"lab","data":"x","metadata":{"host":"web-1"},"mcp":{"servers":[{"name":"lab","tools":["lab.read"]}]}}`)
	if err == nil || !strings.Contains(err.Error(), "quick:1 has the same fingerprint") {
		t.Errorf("Resolve: %v", err)
	}
}

// slowServer is slow to list its tools.
type slowServer struct {
	*bench
	meanwhile func()
}

func (s slowServer) List(ctx context.Context, server plan.Server, session string) ([]tool.Spec, error) {
	s.meanwhile()
	return s.bench.List(ctx, server, session)
}

func ended(status agent.Status, ago time.Duration) func(*record.Investigation) {
	end := time.Now().Add(-ago)
	return func(r *record.Investigation) { r.Status, r.EndedAt = status, &end }
}

// Hooks get the request's metadata and the artifacts that tools returned.
func TestHooksAreTold(t *testing.T) {
	t.Parallel()
	b := shop(t, 2, func(*plan.Plan) {})
	labels := agent.Labels{Tenant: "acme", Session: "s-1", Metadata: map[string]string{"team": "db"}}
	about := record.Investigation{ID: b.ref.Investigation, Writer: "w", PlanHash: b.ref.Plan, Status: agent.StatusRunning,
		StartedAt: time.Now(), Labels: labels}
	image, err := b.store.PutBlob(t.Context(), []byte(`{"mime_type":"image/png","data":"AAE="}`))
	if err = errors.Join(err, b.store.StartInvestigation(t.Context(), about)); err != nil {
		t.Fatal(err)
	}
	_, err = b.store.Append(t.Context(), transcript.Step{
		Scope: transcript.Scope{Investigation: b.ref.Investigation, Execution: "look/L"}, Writer: transcript.Writer{RunID: "r", ActivityID: "1"},
		Rows: []transcript.Row{{Key: transcript.ResultKey(1, 0), Kind: transcript.KindResult, Body: transcript.Body{
			Call: &transcript.Call{Name: "lab.shot"}, Result: transcript.Result{Artifacts: []string{image}},
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var received hook.Input
	b.act.Hooks = map[string]hook.Func{"h": func(_ context.Context, in hook.Input) (hook.Output, error) {
		received = in
		return hook.Output{}, nil
	}}
	in := activities.RunHookIn{Ref: b.ref, Point: activities.PreProcess}
	in.Ref.Execution = activities.HookExecution("end", activities.PreProcess, "h")
	if _, err := b.env.ExecuteActivity(b.act.RunHook, in); err != nil {
		t.Fatal(err)
	}
	want := []hook.Artifact{{Ref: image, Name: "1-lab.shot.png", MIMEType: "image/png", Size: 2, Execution: "look/L", Tool: "lab.shot"}}
	if diff := cmp.Diff(want, received.Artifacts); diff != "" || received.Tenant != "acme" ||
		received.Session != "s-1" || received.Metadata["team"] != "db" {
		t.Errorf("told %+v\n%s", received, diff)
	}
}
