package fork_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/fork"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// journal makes the rows of a transcript.
type journal []transcript.Entry

func (j *journal) add(execution string, key transcript.Key, kind transcript.Kind, body transcript.Body) {
	*j = append(*j, transcript.Entry{
		Scope: transcript.Scope{Execution: execution}, Key: key, Seq: int64(len(*j) + 1), Kind: kind, Body: body,
	})
}

// reply adds a reply with its calls. Only the first ones have results.
func (j *journal) reply(execution string, iteration, results int, calls ...string) {
	body := transcript.Body{Text: "text"}
	for _, name := range calls {
		class := map[bool]tool.Idempotency{true: tool.NonIdempotent}[name == "write"]
		id := fmt.Sprintf("%s/%d/%d", execution, iteration, len(body.Calls))
		body.Calls = append(body.Calls, transcript.Call{ID: id, Name: name, Arguments: "{}", Class: string(class)})
	}
	j.add(execution, transcript.Key{Iteration: iteration}, transcript.KindReply, body)
	for n := range results {
		j.add(execution, transcript.ResultKey(iteration, n), transcript.KindResult, transcript.Body{Call: &body.Calls[n], Status: "success"})
	}
}

var chain = plan.Plan{Stages: []plan.Stage{
	{Name: "collect", Agents: []plan.Agent{{Name: "Logs"}, {Name: "Metrics"}}, Synthesis: &plan.Agent{Name: "Join"}},
	{Name: "fix", Agents: []plan.Agent{{Name: "Lead"}}, Hooks: plan.Hooks{PostProcess: "sort"}},
}}

// rows is an investigation in which two agents work in parallel, and then one that dispatches another, twice.
func rows() (j journal) {
	j.add("", transcript.Key{}, transcript.KindNotice, transcript.Body{Text: "a runbook"})
	j.reply("collect/Logs", 1, 1, "read")                                                    // 2, 3
	j.reply("collect/Metrics", 1, 2, "read", "read")                                         // 4, 5, 6
	j.reply("collect/Logs", 2, 0)                                                            // 7
	j.add("collect/Metrics", transcript.TryKey(2, 1), transcript.KindTry, transcript.Body{}) // 8
	j.reply("collect/Metrics", 2, 0)                                                         // 9
	j.reply("collect/Join", 1, 0)                                                            // 10
	j.reply("fix/Lead", 1, 1, agent.ToolDispatchAgent)                                       // 11, 12
	j.reply("fix/Lead/Dig-1", 1, 1, "read")                                                  // 13, 14
	j.reply("fix/Lead/Dig-1", 2, 0)                                                          // 15
	j.reply("fix/Lead", 2, 0)                                                                // 16
	j.reply("fix/post_process:sort", 1, 0)                                                   // 17
	j.reply("fix#2/Lead", 1, 0, "write")                                                     // 18: its call has no result
	intent := transcript.Call{Name: "write", Arguments: "{}", Class: string(tool.NonIdempotent)}
	j.add("fix#2/Lead", transcript.CallKey(1, 0), transcript.KindCall, transcript.Body{Call: &intent}) // 19
	j.reply(":summary/Summary", 1, 0)                                                                  // 20
	return j
}

func TestCut(t *testing.T) {
	t.Parallel()
	part := func(iterations int) plan.ForkPart { return plan.ForkPart{Iterations: iterations} }
	ended := func(iterations int) plan.ForkPart { return plan.ForkPart{Iterations: iterations, Ended: true} }
	both := map[string]plan.ForkPart{"collect/Logs": ended(2), "collect/Metrics": ended(2)}
	first := map[string]plan.ForkPart{"collect/Logs": part(1), "collect/Metrics": part(1)}
	beside := map[string]plan.ForkPart{"collect/Logs": part(1), "collect/Metrics": ended(2)}
	collected := map[string]plan.ForkPart{"collect/Logs": ended(2), "collect/Metrics": ended(2), "collect/Join": ended(1)}
	fixed := map[string]plan.ForkPart{
		"collect/Logs": ended(2), "collect/Metrics": ended(2), "collect/Join": ended(1),
		"fix/Lead": ended(2), "fix/Lead/Dig-1": ended(2), "fix/post_process:sort": ended(1),
	}
	type guided []string
	for name, test := range map[string]struct {
		at     string
		guided guided
		rows   int
		parts  map[string]plan.ForkPart
	}{
		"the end":               {"", guided{"fix#2/Lead"}, 15, fixed},
		"a stage":               {"fix", guided{"fix#2/Lead"}, 15, fixed},
		"a run of a stage":      {"fix#2", guided{"fix#2/Lead"}, 15, fixed},
		"its first run":         {"fix#1", guided{"fix/Lead"}, 8, collected},
		"a row":                 {"5", guided{"collect/Logs", "collect/Metrics"}, 5, first},
		"a row of a reply":      {"4", guided{"collect/Logs", "collect/Metrics"}, 2, map[string]plan.ForkPart{"collect/Logs": part(1)}},
		"the summary":           {"20", guided{"fix#2/Lead"}, 15, fixed},
		"between stages":        {"11", guided{"fix/Lead"}, 8, collected},
		"a parallel agent":      {"Logs/2", guided{"collect/Logs"}, 6, beside},
		"its first call":        {"collect/Logs/1", guided{"collect/Logs"}, 4, map[string]plan.ForkPart{"collect/Metrics": ended(2)}},
		"the synthesis":         {"Join/1", guided{"collect/Join"}, 7, both},
		"an agent that repeats": {"fix#2/Lead/1", guided{"fix#2/Lead"}, 15, fixed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := plan.Fork{
				At: test.at, Parts: test.parts, Rows: test.rows, Until: 20, Guided: test.guided,
				Left: []plan.LeftCall{{Execution: "fix#2/Lead", Tool: "write", Arguments: "{}", Unknown: true}},
			}
			got, _, err := fork.Cut(chain, rows(), agent.Fork{At: test.at, Guide: "look"})
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("%v%s", err, diff)
			}
		})
	}
}

// Agents that had failed before the place are not tried again. What they had changed is shared with them, or left out.
func TestAgentsThatHadFailed(t *testing.T) {
	t.Parallel()
	var j journal
	j.add("collect/Metrics", transcript.TryKey(1, 1), transcript.KindTry, transcript.Body{}) // it never got a reply
	j.reply("collect/Logs", 1, 1, "write")                                                   // 2, 3
	j.reply("collect/Logs", 2, 1, "write", "write")                                          // 4, 5: one call was cut off
	j.reply("collect/Join", 1, 0)                                                            // 6
	j.reply("fix/Lead", 1, 0)                                                                // 7
	want := map[string]plan.ForkPart{
		"collect/Metrics": {Stopped: true}, "collect/Logs": {Iterations: 1, Stopped: true}, "collect/Join": {Iterations: 1, Ended: true},
	}
	left := []plan.LeftCall{{Execution: "collect/Logs", Tool: "write", Arguments: "{}"}}
	got, _, err := fork.Cut(chain, j, agent.Fork{At: "fix"})
	if diff := cmp.Diff(want, got.Parts); err != nil || diff != "" {
		t.Errorf("%v%s", err, diff)
	}
	if diff := cmp.Diff(left, got.Left); diff != "" || got.Rows != 3 {
		t.Errorf("%d rows; left: %s", got.Rows, diff)
	}
	again := chain
	again.Fork = &got
	if further, _, err := fork.Cut(again, j, agent.Fork{At: "fix"}); err != nil || len(further.Left) != 2 {
		t.Errorf("a fork of the fork: %v, %+v", err, further.Left)
	}
	running, _, err := fork.Cut(chain, j[:5], agent.Fork{})
	if diff := cmp.Diff(map[string]plan.ForkPart{"collect/Logs": {Iterations: 1}}, running.Parts); err != nil || diff != "" {
		t.Errorf("while they run: %v%s", err, diff)
	}
}

// Every error says what is possible.
func TestNoCut(t *testing.T) {
	t.Parallel()
	for at, want := range map[string]string{
		"21":            "there is no row 21: the transcript has rows 1 to 20",
		"0":             "there is no row 0",
		"-1":            "there is no row -1",
		"2":             "use `starter rerun` instead",
		"collect":       "use `starter rerun` instead",
		"other":         `stage "other" did not run. Give a row of the transcript, a stage (collect, fix, fix#2), or AGENT/ITERATION`,
		"Logs/x":        `stage "Logs/x" did not run`,
		"Logs/3":        "collect/Logs has iterations 1 to 2, not 3",
		"Logs/0":        "collect/Logs has iterations 1 to 2, not 0",
		"Nobody/1":      `agent "Nobody": it did not run; these did: collect/Logs, collect/Metrics`,
		"/1":            `agent "": it did not run`,
		"Lead/1":        `agent "Lead": it ran several times; name one of: fix/Lead, fix#2/Lead`,
		"fix/Lead/2":    "fix/Lead has dispatched agents by then",
		"14":            "fix/Lead has dispatched agents by then",
		"Lead/Dig-1/2":  "fix/Lead/Dig-1 was dispatched by another agent",
		":summary":      `stage ":summary" did not run`,
		"Summary/1":     `agent "Summary": it did not run`,
		"collect/Logs/": `stage "collect/Logs/" did not run`,
	} {
		_, _, err := fork.Cut(chain, rows(), agent.Fork{At: at})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", at, err, want)
		}
	}
	check := chain
	check.Check = true
	if _, _, err := fork.Cut(check, rows(), agent.Fork{At: "5"}); err == nil || !strings.Contains(err.Error(), "a check of a schedule") {
		t.Errorf("a check: %v", err)
	}
	if _, _, err := fork.Cut(chain, nil, agent.Fork{}); err == nil {
		t.Error("an investigation without rows can be forked")
	}
	ended := rows()[:17]
	for _, asked := range []agent.Fork{{}, {Guide: "look"}, {At: "17", Guide: "look"}} {
		if got, _, err := fork.Cut(chain, ended, asked); err == nil {
			t.Errorf("%+v of an investigation whose agents have ended: %+v", asked, got)
		}
	}
}
