package client

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.temporal.io/api/serviceerror"
	sdk "go.temporal.io/sdk/client"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/system"
)

// Outgoing data is masked. Large data goes by reference if there is a store.
func TestPutData(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "inquest.db")
	st, err := store.Open(t.Context(), store.At(path))
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	large := strings.Repeat("x", maxEasy+1)
	for name, tt := range map[string]struct {
		start system.Start
		store string
		fails string
		data  string // in the request; empty means by reference
	}{
		"small":             {start: system.Start{Data: "a b"}, data: `"a b"`},
		"JSON stays a text": {start: system.Start{Data: `{"a": 1}`}, data: `"{\"a\": 1}"`},
		"a secret": {start: system.Start{Data: "password=hunter2hunter2", Masking: &plan.Masking{Patterns: []string{"password"}}},
			data: `"password=[MASKED_PASSWORD]"`},
		"nothing":                   {fails: "nothing to investigate"},
		"too much":                  {start: system.Start{Data: "abc", MaxData: 2}, fails: "over the limit of 2 (system.limits.data)"},
		"too much, attached":        {start: system.Start{Data: "abc", MaxData: 2, Request: agent.Request{Attach: true}}, data: `"abc"`},
		"large":                     {start: system.Start{Data: large}, store: path},
		"large, without a store":    {start: system.Start{Data: large}, data: `"` + large + `"`},
		"too large without a store": {start: system.Start{Data: strings.Repeat(large, 9)}, fails: "and the limit is"},
		"no file, no store":         {start: system.Start{Data: large}, store: path + ".absent", data: `"` + large + `"`},
		"a folder":                  {start: system.Start{Data: large}, store: filepath.Dir(path), fails: "is a directory"},
		"a name that is too long": {start: system.Start{Data: "x", Request: agent.Request{Chain: strings.Repeat("c", 600)}},
			fails: `"chain" is longer`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := New(Options{Store: store.At(tt.store)}), error(nil)
			defer c.Close()
			if err = c.putData(t.Context(), &tt.start); tt.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fails) {
					t.Errorf("error %v, want %s", err, tt.fails)
				}
				return
			}
			req := tt.start.Request
			if err != nil || string(req.Data) != tt.data || (req.DataRef != "") != (tt.data == "") {
				t.Errorf("%d bytes of data, reference %q, %v", len(req.Data), req.DataRef, err)
			}
			if req.DataRef != "" {
				if text, err := c.Blob(t.Context(), req.DataRef); err != nil || string(text) != large {
					t.Errorf("the store has %d bytes, %v", len(text), err)
				}
			}
		})
	}
}

// What a fork replaces is masked before Temporal gets it: results like those of their tools, too.
func TestMaskedFork(t *testing.T) {
	t.Parallel()
	lab := plan.Server{Name: "lab", Masking: &plan.Masking{Custom: []plan.MaskPattern{{Pattern: "4711", Replacement: "[MASKED]"}}}}
	p := plan.Plan{Stages: []plan.Stage{{Name: "s", Agents: []plan.Agent{{Name: "A", Servers: []plan.Server{lab}}}}}}
	f := plan.Fork{Given: []plan.ForkGiven{
		{Row: 5, Execution: "s#2/A", Tool: "lab.read"}, {Row: 9, Execution: "s/A", Tool: "lab.read", By: "Ada"},
	}}
	results, err := maskResults(t.Context(), p, f, map[int64]string{5: "4711 password=hunter2hunter2"})
	if err != nil {
		t.Fatal(err)
	}
	asked := agent.Fork{Guide: "password=hunter2hunter2", Results: results, Prompts: map[string]string{"A": "password=hunter2hunter2"}}
	s := system.Start{Masking: &plan.Masking{Patterns: []string{"password"}}, Request: agent.Request{Fork: &asked}}
	if err := maskRequest(t.Context(), &s); err != nil {
		t.Fatal(err)
	}
	const masked = "password=[MASKED_PASSWORD]"
	want := agent.Fork{Guide: masked, Results: map[string]string{"5": "[MASKED] " + masked}, Prompts: map[string]string{"A": masked}}
	if diff := cmp.Diff(&want, s.Request.Fork); diff != "" {
		t.Error(diff)
	}
	for _, large := range []int{maxRequest / 4, maxRequest} {
		s.Request.Fork.Results = map[string]string{}
		for n := range 5 {
			s.Request.Fork.Results[fmt.Sprint(n)] = strings.Repeat("x", large)
		}
		err := checkSize(agent.Request{Fork: &agent.Fork{Of: "i", Results: s.Request.Fork.Results}})
		if err == nil || !strings.Contains(err.Error(), `"results"`) {
			t.Errorf("%d bytes: %v", large, err)
		}
	}
}

// Masking does not make different requests equal.
func TestMaskedFingerprint(t *testing.T) {
	t.Parallel()
	const missing = "duplicates cannot be detected, because the request has no %s without masked text"
	masking := &plan.Masking{Patterns: []string{"email"}}
	for name, tt := range map[string]struct {
		start       system.Start
		fingerprint string
		forced      bool
		notice      string
	}{
		"a part": {
			start:  system.Start{Data: `{"user":"ann@shop.example"}`, Chain: "c", Dedup: plan.Dedup{By: []string{"data.user"}}},
			notice: fmt.Sprintf(missing, "data.user"),
		},
		"another part": {
			start:       system.Start{Data: `{"user":"ann@shop.example","host":"web-1"}`, Chain: "c", Dedup: plan.Dedup{By: []string{"data.host"}}},
			fingerprint: `c "web-1"`,
		},
		"asked for with a key": {
			start: system.Start{
				Workflow: "c-1", Once: "o", Data: `{"host":"web-1"}`, Chain: "c", Dedup: plan.Dedup{By: []string{"data.host"}},
			},
			fingerprint: `c "web-1"`,
		},
		"a trial": {
			start: system.Start{
				Data: `{"host":"web-1"}`, Chain: "c", Dedup: plan.Dedup{By: []string{"data.host"}},
				Request: agent.Request{Labels: agent.Labels{Fingerprint: "f"}, Trial: true},
			},
		},
		"brought": {
			start: system.Start{
				Data: `{"host":"web-1"}`, Chain: "c", Dedup: plan.Dedup{By: []string{"data.host"}},
				Request: agent.Request{Labels: agent.Labels{Fingerprint: "login of ann@shop.example"}},
			},
			forced: true, notice: fmt.Sprintf(missing, "fingerprint"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var said string
			c := New(Options{Tell: func(text string) { said += text }})
			defer c.Close()
			tt.start.Masking = masking
			err := c.putData(t.Context(), &tt.start)
			if r := tt.start.Request; err != nil || r.Fingerprint != tt.fingerprint || r.Again != tt.forced || said != tt.notice {
				t.Errorf("fingerprint %q, again %t, told %q, %v", r.Fingerprint, r.Again, said, err)
			}
		})
	}
}

func TestRandomID(t *testing.T) {
	t.Parallel()
	const name = "on call/1"
	if id := system.RandomID(name); !strings.HasPrefix(id, "on-call-1-") || len(id) != len("on-call-1-")+8 || id == system.RandomID(name) {
		t.Error(id)
	}
}

// refusing is a Temporal that starts nothing.
type refusing struct {
	sdk.Client
	err error
}

func (r refusing) ExecuteWorkflow(context.Context, sdk.StartWorkflowOptions, any, ...any) (sdk.WorkflowRun, error) {
	return nil, r.err
}

// If Temporal cannot write, a start is not confirmed, and the error says where to look.
func TestStartThatTakesTooLong(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		err  error
		late bool
	}{
		"the time is up":              {context.DeadlineExceeded, true},
		"the time is up, by Temporal": {serviceerror.NewDeadlineExceeded("context deadline exceeded"), true},
		"something else":              {serviceerror.NewInvalidArgument("no"), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := execute(t.Context(), refusing{err: tt.err}, system.Start{}, sdk.StartWorkflowOptions{ID: "x-77"})
			says := strings.Contains(fmt.Sprint(err), "Its database may be full") && strings.Contains(fmt.Sprint(err), `"starter status x-77"`)
			if !errors.Is(err, tt.err) || says != tt.late {
				t.Errorf("it ended with %v", err)
			}
		})
	}
}
