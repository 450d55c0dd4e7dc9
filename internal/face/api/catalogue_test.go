package api

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"testing"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/configuration"
	"github.com/inquest-dev/inquest/internal/doctor"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/trust/audit"
)

// program gives a world the tools of a workers' program, which can only run there.
func (w *world) program(names ...string) {
	var specs []tool.Spec
	for _, name := range names {
		specs = append(specs, tool.Spec{Name: name, Risk: agent.RiskDestructive, Schema: json.RawMessage(`{"type":"object"}`)})
	}
	w.api.opts.Tools = func(_ context.Context, cfg *configuration.Config) (Tools, error) {
		return doctor.NewToolbox(doctor.ToolboxOptions{
			Config: cfg, Shared: w.store, Elsewhere: specs, Logger: slog.New(slog.DiscardHandler),
		}), nil
	}
}

// Running a tool also approves the call, as far as the rules allow, and the audit trail names the approver.
func TestRunApproved(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		rules  string
		status int
	}{
		"nobody's in particular": {"", http.StatusOK},
		"theirs":                 {`approvers: ["@ada"]`, http.StatusForbidden},
		"his":                    {`approvers: ["@root"]`, http.StatusOK},
		"his role's":             {`approvers: [admin]`, http.StatusOK},
		"of two":                 {`approvals_needed: 2`, http.StatusForbidden},
		"not his own":            {`approve_own: false`, http.StatusForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := open(t, whoMay()+"agents: {Memo: {}}\nagent_chains: {shop: {stages: [{name: dig, agents: [{name: Memo}]}]}}\n"+
				"defaults: {tool_config: {risk_approvals: {destructive: {"+tt.rules+"}}}}\n")
			w.program("drop")
			if got := w.call("root", "POST", "/api/v1/tools/drop/run", `{"arguments":{}}`); got.status != http.StatusConflict {
				t.Errorf("without a word: %d %s", got.status, got.body)
			}
			got := w.call("root", "POST", "/api/v1/tools/drop/run", `{"approved":true,"arguments":{}}`)
			if got.status != tt.status {
				t.Errorf("%d %s", got.status, got.body)
			}
			acts := w.acts()
			if tt.status != http.StatusOK && len(acts) == 0 {
				return
			}
			if len(acts) != 3 || acts[1].What != audit.Began || acts[2].What != audit.Executed || acts[2].Who != "root" ||
				acts[0].What != audit.Decided || acts[0].Who != "root" || acts[0].Channel != "http" || acts[0].Tool != "drop" {
				t.Errorf("acts %+v", acts)
			}
		})
	}
	unasked := open(t, `defaults: {tool_config: {risk_approvals: {destructive: {approvers: ["@local"]}}}}`+"\n")
	unasked.program("drop")
	if got := unasked.call("", "POST", "/api/v1/tools/drop/run", `{"approved":true,"arguments":{}}`); got.status != http.StatusForbidden {
		t.Errorf("nobody was asked who he is: %d %s", got.status, got.body)
	}
}

// acts returns the audit trail of the store.
func (w *world) acts() (all []audit.Act) {
	w.Helper()
	err := w.store.Acts(w.Context(), store.ActFilter{}, func(a audit.Act) error { all = append(all, a); return nil })
	if err != nil {
		w.Fatal(err)
	}
	return all
}

// noted records the arguments of calls and makes none.
type noted struct {
	Tools
	arguments string
}

func (n *noted) Prepare(_ context.Context, _, _, arguments string) (*doctor.ToolCall, error) {
	n.arguments = arguments
	return nil, &tool.Refusal{Type: tool.ErrorPermissionDenied, Message: "no"}
}

func (*noted) Close() {}

// A tool receives the arguments as written: numbers are not converted to floating point.
func TestRunArguments(t *testing.T) {
	t.Parallel()
	w, box := newWorld(t), &noted{}
	w.api.opts.Tools = func(context.Context, *configuration.Config) (Tools, error) { return box, nil }
	for in, want := range map[string]string{
		`{"arguments":{"id":9007199254740993,"share":1.0,"<":1e2}}`: `{"id":9007199254740993,"share":1.0,"<":1e2}`, `{}`: "",
	} {
		if got := w.call("root", "POST", "/api/v1/tools/drop/run", in); got.status != http.StatusUnprocessableEntity || box.arguments != want {
			t.Errorf("%s: the tool gets %s; %d %s", in, box.arguments, got.status, got.body)
		}
	}
}

// Newly registered tools of a program are listed, and sessions are kept while nothing changes.
func TestToolsOfProgram(t *testing.T) {
	t.Parallel()
	w, made := newWorld(t), 0
	w.api.opts.Tools = func(ctx context.Context, cfg *configuration.Config) (Tools, error) {
		made++
		specs, err := w.store.ProgramTools(ctx)
		return doctor.NewToolbox(doctor.ToolboxOptions{Config: cfg, Elsewhere: specs, Logger: slog.New(slog.DiscardHandler)}), err
	}
	count := func() (n int) {
		for _, info := range read[system.ToolList](w, "viewer", "GET", "/api/v1/tools", nil).Items {
			if info.Name == "open_ticket" {
				n++
			}
		}
		return n
	}
	before := count()
	if err := w.store.SaveProgramTools(t.Context(), []tool.Spec{{Name: "open_ticket", Risk: agent.RiskWrite}}); err != nil {
		t.Fatal(err)
	}
	if first, second := count(), count(); before != 0 || first != 1 || second != 1 || made != 2 {
		t.Errorf("listed %d times, then %d, %d; %d toolboxes", before, first, second, made)
	}
}

// Only operators of all projects see what servers say about problems. Others see the number of problems.
func TestTroubles(t *testing.T) {
	t.Parallel()
	w := open(t, whoMay()+"agents: {Memo: {}}\nagent_chains: {shop: {stages: [{name: dig, agents: [{name: Memo}]}]}}\n"+
		"mcp_servers: {dead: {transport: {command: /no/such/program}}}\n")
	for token, reported := range map[string]bool{"viewer": false, "admin": false, "root": true} {
		got := read[system.ToolList](w, token, "GET", "/api/v1/tools", nil)
		if (len(got.Troubles) == got.Troubled) != reported || !reported && got.Troubles != nil || got.Troubled == 0 {
			t.Errorf("%s: %d troubles, %q", token, got.Troubled, got.Troubles)
		}
	}
}
