package activities_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/temporal"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/hook"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/internal/trust/audit"
)

// A store that lacks an entry that the workflow has seen was set back. No activity makes a call on it, the failure says
// what to do, and Temporal does not retry.
func TestStoreBehindHistory(t *testing.T) {
	t.Parallel()
	lost := transcript.Mark{Seq: 1, At: 1}
	tests := map[string]func(b *bench) (any, any){
		"a model call": func(b *bench) (any, any) {
			return b.act.Generate, activities.GenerateIn{Ref: b.ref, Iteration: 2}
		},
		"a call that must not run twice": func(b *bench) (any, any) {
			return b.act.CallTool, activities.CallToolIn{Ref: b.ref, Iteration: 1}
		},
		"a call that only reads": func(b *bench) (any, any) {
			return b.act.CallTool, activities.CallToolIn{Ref: b.ref, Iteration: 1, Call: 1}
		},
		"calls of our own tools": func(b *bench) (any, any) {
			return b.act.CallOwnTools, activities.CallOwnToolsIn{Ref: b.ref, Iteration: 1, Calls: []int{0}}
		},
		"our own tools, whose reply is lost": func(b *bench) (any, any) {
			return b.act.CallOwnTools, activities.CallOwnToolsIn{Ref: b.ref, Iteration: 7, Calls: []int{0}}
		},
		"a hook": func(b *bench) (any, any) {
			b.act.Hooks = map[string]hook.Func{}
			b.ref.Execution = activities.HookExecution("s", activities.PreProcess, "h")
			return b.act.RunHook, activities.RunHookIn{Ref: b.ref, Point: activities.PreProcess}
		},
		"a stage that is saved": func(b *bench) (any, any) {
			in := activities.SaveStageIn{Seen: b.ref.Seen}
			in.Stage.Investigation = b.ref.Investigation
			return b.act.SaveStage, in
		},
	}
	for name, activity := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.asks(agent.ToolCall{Name: "lab__write", Arguments: "{}"}, agent.ToolCall{Name: "lab__read", Arguments: `{"n":1}`})
			asked := len(b.requests)
			b.ref.Seen = []transcript.Mark{b.last().Mark(), lost}
			if strings.HasPrefix(name, "a hook") || strings.HasSuffix(name, "lost") {
				b.ref.Seen = []transcript.Mark{lost}
			}
			run, in := activity(b)
			_, err := b.env.ExecuteActivity(run, in)
			failed, ok := errors.AsType[*temporal.ApplicationError](err)
			if !ok || failed.Type() != activities.ErrorStoreBehind || !failed.NonRetryable() ||
				!strings.Contains(failed.Message(), "entry 1,") || !strings.Contains(failed.Message(), "starter store check inv") {
				t.Errorf("it ended with %v", err)
			}
			if len(b.calls) > 0 || len(b.requests) > asked {
				t.Errorf("calls were made: %v, and %d of the model", b.calls, len(b.requests)-asked)
			}
		})
	}
}

// unaware is a store that loses entries only after an activity has looked for them.
type unaware struct {
	activities.Transcripts
	looked bool
}

func (u *unaware) Missing(ctx context.Context, investigation string, marks []transcript.Mark) ([]transcript.Mark, error) {
	if u.looked {
		return u.Transcripts.Missing(ctx, investigation, marks)
	}
	u.looked = true
	return nil, nil
}

// TestStoreIsSetBackWithinAStep checks that a write is refused if the store loses entries between the check and the write.
func TestStoreIsSetBackWithinAStep(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(b *bench) (any, any){
		"a model call": func(b *bench) (any, any) {
			return b.act.Generate, activities.GenerateIn{Ref: b.ref, Iteration: 2}
		},
		"calls of our own tools": func(b *bench) (any, any) {
			return b.act.CallOwnTools, activities.CallOwnToolsIn{Ref: b.ref, Iteration: 1, Calls: []int{0}}
		},
		"decided results": func(b *bench) (any, any) {
			return b.act.RecordDecided, activities.DecidedIn{Ref: b.ref, Results: []activities.Input{{
				Kind: activities.InputResult, Iteration: 1, ErrorType: activities.ResultDenied, Decision: &activities.Decision{By: "Ada"},
			}}}
		},
		"a stage": func(b *bench) (any, any) {
			in := activities.SaveStageIn{Plan: b.ref.Plan, Seen: b.ref.Seen}
			in.Stage.Investigation, in.Stage.Name = b.ref.Investigation, "s"
			return b.act.SaveStage, in
		},
		"the end": func(b *bench) (any, any) {
			return b.act.Finish, activities.FinishIn{
				Investigation: "inv", Plan: b.ref.Plan, Status: agent.StatusCompleted, EndReason: agent.EndCompleted, Seen: b.ref.Seen,
				Results: []activities.Source{{Stage: "s", Execution: "s/A"}},
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.asks(agent.ToolCall{Name: agent.ToolCoreMemoryAppend, Arguments: `{"label":"facts","content":"x"}`})
			b.act.Transcripts, b.act.Memories, b.act.Ledger = &unaware{Transcripts: b.store}, b.store, b.store
			b.ref.Seen = []transcript.Mark{{Seq: 1, At: 1}}
			run, in := write(b)
			value, err := b.env.ExecuteActivity(run, in)
			if name == "the end" {
				var out activities.FinishOut
				if err != nil || value.Get(&out) != nil || out.Failed != agent.EndStoreBehind {
					t.Errorf("it ended as %+v, %v", out, err)
				}
				return
			}
			if failed, ok := errors.AsType[*temporal.ApplicationError](err); !ok || failed.Type() != activities.ErrorStoreBehind {
				t.Errorf("it ended with %v", err)
			}
		})
	}
}

// counting counts how often the store is asked for single entries.
type counting struct {
	activities.Transcripts
	asked int
}

func (c *counting) Append(ctx context.Context, step transcript.Step) ([]transcript.Entry, error) {
	return c.Transcripts.Append(ctx, step)
}

func (c *counting) Missing(ctx context.Context, investigation string, marks []transcript.Mark) ([]transcript.Mark, error) {
	c.asked += len(marks)
	return c.Transcripts.Missing(ctx, investigation, marks)
}

// The entries that the workflow has seen are first looked up among those that an activity reads anyway. An entry that a Temporal
// reset has superseded is not missing.
func TestSeenCostsNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	count := &counting{Transcripts: b.store}
	b.act.Transcripts = count
	b.asks(agent.ToolCall{Name: "lab__write", Arguments: "{}"})
	b.ref.Seen = []transcript.Mark{b.last().Mark()}
	called, err := b.callTool(1, 0)
	if err != nil || called.Status != "success" || called.Seen != b.last().Mark() {
		t.Fatalf("%+v, %v; the last entry %+v", called, err, b.last())
	}
	b.ref.Seen = append(b.ref.Seen, called.Seen)
	out, err := b.generate(activities.GenerateIn{Iteration: 2})
	if err != nil || out.Seen != b.last().Mark() || count.asked > 0 {
		t.Fatalf("%+v, %v; the store was asked for %d entries", out, err, count.asked)
	}

	// Another run takes over from iteration 2 on: its workflow may have seen entries that are superseded now.
	b.ref.Seen = []transcript.Mark{out.Seen}
	other := transcript.Writer{RunID: "another run"}
	if _, err := b.store.Lookup(t.Context(), b.scope(), transcript.Key{Iteration: 2}, other); err != nil {
		t.Fatal(err)
	}
	missing, err := b.store.Missing(t.Context(), "inv", []transcript.Mark{out.Seen, called.Seen})
	if err != nil || len(missing) > 0 {
		t.Errorf("missing %v, %v", missing, err)
	}
}

// The store has lost the intent of a call that must not run twice. Temporal knows that there was one, from the
// heartbeats of an earlier attempt or of one whose worker has died. The call is not made.
func TestLostIntent(t *testing.T) {
	t.Parallel()
	for name, how := range map[string]func(b *bench, in *activities.CallToolIn){
		"of an earlier attempt":     func(b *bench, _ *activities.CallToolIn) { b.env.SetHeartbeatDetails(activities.Doing{Intended: true}) },
		"of a worker that has died": func(_ *bench, in *activities.CallToolIn) { in.Intended = true },
		"while it waits for the store": func(b *bench, _ *activities.CallToolIn) {
			b.env.SetHeartbeatDetails(activities.Doing{Intended: true, Waits: activities.ErrorStore})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.asks(agent.ToolCall{Name: "lab__write", Arguments: "{}"})
			in := activities.CallToolIn{Ref: b.ref, Iteration: 1}
			how(b, &in)
			_, err := b.env.ExecuteActivity(b.act.CallTool, in)
			last := b.last()
			if err != nil || len(b.calls) > 0 || last.ErrorType != tool.ErrorOutcomeUnknown || !strings.Contains(last.Text, "store has lost") {
				t.Errorf("%d calls, %v; the model is told %q", len(b.calls), err, last.Text)
			}
		})
	}
	t.Run("other attempts have heartbeats, too", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		b.asks(agent.ToolCall{Name: "lab__write", Arguments: "{}"})
		b.env.SetHeartbeatDetails(activities.ErrorStore)
		if _, err := b.callTool(1, 0); err != nil || len(b.calls) != 1 {
			t.Errorf("%d calls, %v", len(b.calls), err)
		}
	})
}

// Both databases were restored from a backup after a reply asked for calls. A call that must not run twice is not made, and others
// are. A model call that was requested before fails, so that the workflow requests it again once it is resumed.
func TestRestoredDatabases(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.asks(agent.ToolCall{Name: "lab__write", Arguments: "{}"}, agent.ToolCall{Name: "lab__read", Arguments: `{"n":1}`})
	b.act.Held = time.Now().Add(time.Hour)
	for n, want := range []string{tool.ErrorOutcomeUnknown, ""} {
		if _, err := b.callTool(1, n); err != nil || b.last().ErrorType != want {
			t.Errorf("call %d: %v; the model is told %q", n, err, b.last().Text)
		}
	}
	if len(b.calls) != 1 || b.calls[0].Name != "lab.read" {
		t.Errorf("calls made: %v", b.calls)
	}
	asked := len(b.requests)
	_, err := b.generate(activities.GenerateIn{Iteration: 2})
	failed, ok := errors.AsType[*temporal.ApplicationError](err)
	if !ok || failed.Type() != activities.ErrorWorkerCannot || !failed.NonRetryable() || len(b.requests) > asked {
		t.Errorf("the model call ended with %v", err)
	}
	if out, err := b.generate(activities.GenerateIn{Iteration: 1}); err != nil || len(out.Calls) != 2 {
		t.Errorf("a stored reply: %+v, %v", out, err)
	}
	b.act.Held = time.Now().Add(-time.Hour)
	if _, err := b.generate(activities.GenerateIn{Iteration: 2}); err != nil {
		t.Fatal(err)
	}
	if called, err := b.callTool(2, 0); err != nil || called.Status != "success" || len(b.calls) != 2 {
		t.Errorf("a call that was requested since: %+v, %v", called, err)
	}
}

// The store has lost the plan of an investigation whose workflow has seen entries. That store was set back, too, so
// waiting for another worker does not help. Without seen entries, the worker may have the wrong store.
func TestStoreHasLostThePlan(t *testing.T) {
	t.Parallel()
	for name, activity := range map[string]func(b *bench) (any, any){
		"a model call": func(b *bench) (any, any) {
			return b.act.Generate, activities.GenerateIn{Ref: b.ref, Iteration: 2}
		},
		"a call": func(b *bench) (any, any) {
			return b.act.CallTool, activities.CallToolIn{Ref: b.ref, Iteration: 1}
		},
		"calls of our own tools": func(b *bench) (any, any) {
			return b.act.CallOwnTools, activities.CallOwnToolsIn{Ref: b.ref, Iteration: 1, Calls: []int{0}}
		},
		"a stage that is saved": func(b *bench) (any, any) {
			in := activities.SaveStageIn{Seen: b.ref.Seen, Plan: b.ref.Plan}
			in.Stage.Investigation = b.ref.Investigation
			ref := b.ref
			ref.Seen = nil
			in.Executions = []activities.ExecutionSummary{{Ref: ref, Status: agent.StatusFailed}}
			return b.act.SaveStage, in
		},
	} {
		for _, seen := range []bool{true, false} {
			t.Run(fmt.Sprint(name, ", seen ", seen), func(t *testing.T) {
				t.Parallel()
				b := newBench(t)
				b.asks(agent.ToolCall{Name: "lab__write", Arguments: "{}"})
				asked := len(b.requests)
				b.ref.Plan = strings.Repeat("0", 64)
				if seen {
					b.ref.Seen = []transcript.Mark{b.last().Mark()}
				}
				run, in := activity(b)
				_, err := b.env.ExecuteActivity(run, in)
				failed, ok := errors.AsType[*temporal.ApplicationError](err)
				switch {
				case !ok, len(b.calls) > 0, len(b.requests) > asked:
					t.Fatalf("%v; %d calls were made, and %d of the model", err, len(b.calls), len(b.requests)-asked)
				case seen && (failed.Type() != activities.ErrorStoreBehind || !strings.Contains(failed.Message(), "is missing the plan 0000")):
					t.Errorf("it ended with %v", err)
				case !seen && failed.Type() != activities.ErrorWorkerCannot:
					t.Errorf("it ended with %v", err)
				}
			})
		}
	}
}

// An investigation's end is recorded even if the store has lost its plan and everything after it.
func TestFinishWithoutThePlan(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	in := activities.FinishIn{
		Investigation: "inv", Plan: strings.Repeat("0", 64), Status: agent.StatusFailed, EndReason: agent.EndStoreBehind, Error: "lost",
		Results: []activities.Source{{Stage: "s", Execution: "s/A"}}, Seen: []transcript.Mark{{Seq: 3, At: 3}},
	}
	in.Envelope.Answers = []record.Note{{Question: "q", Answer: "a"}}
	in.Acts = []audit.Act{{What: audit.Answered, Who: "ann", Call: "q1", Detail: audit.Detail("answer", "a")}}
	_, err := b.env.ExecuteActivity(b.act.Finish, in)
	if r, stored := b.store.Investigation(t.Context(), "inv"); err != nil || stored != nil || r.EndReason != agent.EndStoreBehind {
		t.Errorf("%v; the record %+v, %v", err, r, stored)
	}
}
