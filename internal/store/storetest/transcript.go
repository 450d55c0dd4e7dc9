package storetest

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/transcript"
)

func testAppendAndRead(t *testing.T, open opener) {
	s, ctx := open(), t.Context()
	before := time.Now().UTC().Truncate(time.Microsecond)

	first := mustAppend(t, s, step("r1", row("r1", key(1, 0)), row("r1", key(1, 1)), reply("r1", key(1, 2), agent.Usage{})))
	second := mustAppend(t, s, step("r1", row("r1", transcript.CallKey(1, 0))))

	same(t, "first step", briefs(first), []brief{
		{1, key(1, 0), "r1", false}, {2, key(1, 1), "r1", false}, {3, key(1, 2), "r1", false},
	})
	same(t, "lookup of the first", must(s.Lookup(ctx, scope, key(1, 0), writer("r1")))(t), first)
	same(t, "lookup of the second", must(s.Lookup(ctx, scope, transcript.CallKey(1, 0), writer("r1")))(t), second)
	same(t, "lookup within a step", must(s.Lookup(ctx, scope, key(1, 1), writer("r1")))(t), []transcript.Entry(nil))
	same(t, "lookup of a missing row", must(s.Lookup(ctx, scope, key(2, 0), writer("r1")))(t), []transcript.Entry(nil))
	all := append(first, second...)
	same(t, "entries", must(s.Entries(ctx, scope))(t), all)
	same(t, "after 1, two", must(s.After(ctx, scope.Investigation, 1, 2))(t), all[1:3])
	same(t, "after 3", must(s.After(ctx, scope.Investigation, 3, 0))(t), all[3:])
	part := func(p store.Part) []transcript.Entry {
		p.Investigation = scope.Investigation
		return must(s.Part(ctx, p))(t)
	}
	same(t, "the last two", part(store.Part{Before: math.MaxInt64, Limit: 2}), all[len(all)-2:])
	same(t, "the two before the last", part(store.Part{Before: int64(len(all)), Limit: 2}), all[len(all)-3:len(all)-1])
	of := func(keep func(transcript.Entry) bool) []transcript.Entry {
		return slices.DeleteFunc(slices.Clone(all), func(e transcript.Entry) bool { return !keep(e) })
	}
	same(t, "of the kind of the first", part(store.Part{Kinds: []transcript.Kind{all[0].Kind, "none"}}),
		of(func(e transcript.Entry) bool { return e.Kind == all[0].Kind }))
	same(t, "of its execution", part(store.Part{Execution: scope.Execution, Before: math.MaxInt64}),
		of(func(e transcript.Entry) bool { return e.Execution == scope.Execution }))
	if when := first[0].At; when.Before(before) || when.After(time.Now()) || when.Location() != time.UTC {
		t.Errorf("first row is at %v, appended after %v", when, before)
	}
}

func testBodies(t *testing.T, open opener) {
	s, ctx := open(), t.Context()
	call := transcript.Call{ID: "c1", Name: "k8s.get", Arguments: `{"a": "'\u0000"}`, Risk: agent.RiskReadOnly, Class: "safe", Queue: "q"}
	body := transcript.Body{
		Text: "nul \x00, quote ', 世界 \U0001F600", Thinking: "hm", Calls: []transcript.Call{call}, Call: &call,
		Status: "error", ErrorType: "Timeout", Result: transcript.Result{Blob: "abc", Size: 3, Artifacts: []string{"def"}},
		Answer: transcript.Answer{
			Finish: "stop", Provider: "openai", Model: "gpt",
			Usage: &agent.Usage{InputTokens: 1, OutputTokens: 2, ModelCalls: 3, ToolCalls: 4},
		},
		Reply: transcript.Reply{
			Compression:   &transcript.Compression{OriginalTokens: 9, CompressedTokens: 3, Ratio: 1. / 3, Strategy: "hybrid"},
			ProviderState: json.RawMessage(`{"signature":"<&>"}`), Forced: true,
		},
	}
	appended := mustAppend(t, s, step("r1", transcript.Row{Key: key(1, 0), Kind: transcript.KindReply, Body: body}))
	same(t, "appended body", appended[0].Body, body)
	same(t, "appended entry", must(s.Entries(ctx, scope))(t), appended)
	same(t, "writer", appended[0].Writer, writer("r1"))
}

// Texts of models and tools may hold any bytes. A NUL survives in a transcript and becomes U+FFFD elsewhere. Invalid UTF-8 becomes
// U+FFFD everywhere.
func testTexts(t *testing.T, open opener) {
	s, ctx := open(), t.Context()
	const said, journal, kept = "a\x00b \xff\xfec", "a\x00b \uFFFD\uFFFDc", "a\uFFFDb \uFFFDc"

	row := reply("r1", key(1, 0), agent.Usage{InputTokens: 1})
	row.Text, row.Model = said, said
	got := mustAppend(t, s, step("r1", row))
	same(t, "entry", []string{got[0].Text, got[0].Model}, []string{journal, journal})
	same(t, "usage", must(s.Usage(ctx, scope.Investigation))(t), agent.Usage{InputTokens: 1})

	ok(t, s.SetLive(ctx, live(2, 1, said)))
	same(t, "live", liveNow(t, s, scope.Investigation), []transcript.Live{live(2, 1, kept)})

	r := investigation("inv", "inv", 1)
	r.Report, r.Error = said, said
	ok(t, s.FinishInvestigation(ctx, r))
	r.Report, r.Error = kept, kept
	same(t, "investigation", must(s.Investigation(ctx, "inv"))(t), r)

	stage, execution := stageOf("inv"), executionOf("inv")
	stage.Error, execution.Error, execution.Model = said, said, said
	ok(t, s.SaveStage(ctx, stage, []record.Execution{execution}, nil))
	stage.Error, execution.Error, execution.Model = kept, kept, kept
	same(t, "stage", must(s.Stages(ctx, "inv"))(t), []record.Stage{stage})
	same(t, "execution", must(s.Executions(ctx, "inv"))(t), []record.Execution{execution})

	if _, err := s.Investigation(ctx, said); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("an id that nothing can have: %v", err)
	}
}

func testFirstWriterWins(t *testing.T, open opener) {
	s := open()
	first := mustAppend(t, s, step("r1", row("r1", key(1, 0)), row("r1", key(1, 1))))
	other := step("r1", row("r1", key(1, 0)))
	other.Rows[0].Text, other.ActivityID = "another attempt", "another"

	same(t, "result of a second append", mustAppend(t, s, other), first)
	same(t, "log", gapless(t, s, scope.Investigation), first)
}

func testRefusedSteps(t *testing.T, open opener) {
	s := open()
	stored := mustAppend(t, s, step("r1", row("r1", key(1, 0)), row("r1", key(1, 1))))
	noRun, badState := step("", row("", key(2, 0))), step("r1", row("r1", key(2, 0)))
	badState.Rows[0].ProviderState = json.RawMessage(`{`)
	tests := map[string]struct {
		step transcript.Step
		kind error
	}{
		"no rows":                     {step("r1"), nil},
		"no run":                      {noRun, nil},
		"not in order":                {step("r1", row("r1", key(2, 1)), row("r1", key(2, 0))), nil},
		"same key twice":              {step("r1", row("r1", key(2, 1)), row("r1", key(2, 1))), nil},
		"body is not JSON":            {badState, nil},
		"begins within another step":  {step("r1", row("r1", key(1, 1))), store.ErrConflict},
		"reaches into another step":   {step("r1", row("r1", key(0, 9)), row("r1", key(1, 0))), store.ErrConflict},
		"second row in another's way": {step("r1", row("r1", key(0, 8)), row("r1", key(1, 1))), store.ErrConflict},
	}
	for name, test := range tests {
		if _, err := s.Append(t.Context(), test.step); err == nil || (test.kind != nil && !errors.Is(err, test.kind)) {
			t.Errorf("%s: error %v, want %v", name, err, test.kind)
		}
	}
	same(t, "log after refusals", gapless(t, s, scope.Investigation), stored)
}

func testExecutionsApart(t *testing.T, open opener) {
	s := open()
	one, two := step("r1", row("r1", key(1, 0))), step("r2", row("r2", key(1, 0)))
	two.Execution = "triage/other"
	elsewhere := step("r3", row("r3", key(1, 0)))
	elsewhere.Investigation = "inv/another"

	a, b, c := mustAppend(t, s, one), mustAppend(t, s, two), mustAppend(t, s, elsewhere)
	same(t, "entries", must(s.Entries(t.Context(), scope))(t), a)
	same(t, "log", gapless(t, s, scope.Investigation), append(a, b...))
	same(t, "other log", gapless(t, s, "inv/another"), c)
}

func testLedger(t *testing.T, open opener) {
	s, ctx := open(), t.Context()
	same(t, "usage of nothing", must(s.Usage(ctx, scope.Investigation))(t), agent.Usage{})
	u := agent.Usage{InputTokens: 10, OutputTokens: 5, ModelCalls: 1}
	other := step("x1", reply("x1", key(1, 0), agent.Usage{InputTokens: 100}))
	other.Execution = "triage/other"

	mustAppend(t, s, step("r1", reply("r1", key(1, 0), u)))
	mustAppend(t, s, step("r1", reply("r1", key(1, 0), u)))
	mustAppend(t, s, step("r1", reply("r1", key(2, 0), agent.Usage{ToolCalls: 2})))
	mustAppend(t, s, other)
	same(t, "usage", must(s.Usage(ctx, scope.Investigation))(t), agent.Usage{InputTokens: 110, OutputTokens: 5, ModelCalls: 1, ToolCalls: 2})

	mustAppend(t, s, step("r2", reply("r2", key(1, 0), u)))
	same(t, "usage after a reset", must(s.Usage(ctx, scope.Investigation))(t),
		agent.Usage{InputTokens: 120, OutputTokens: 10, ModelCalls: 2, ToolCalls: 2})
}
