package fork_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/fork"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// summarised are rows with a summary of row 3 and with its call.
func summarised() journal {
	all := rows()
	read := transcript.Call{ID: "collect/Logs/1/0", Name: "read"}
	all.add("collect/Logs", transcript.SummaryKey(1, 0), transcript.KindSummary, transcript.Body{Call: &read}) // 21
	all.add("collect/Logs", transcript.CallKey(1, 0), transcript.KindCall, transcript.Body{Call: &read})       // 22
	return all
}

// The fork begins before the first reply that had read a replaced result. It does not share the summary of the result.
func TestResultsThatAreReplaced(t *testing.T) {
	t.Parallel()
	type texts = map[string]string
	logs := plan.ForkGiven{Row: 3, Execution: "collect/Logs", Tool: "read"}
	metrics := func(row int64) plan.ForkGiven {
		return plan.ForkGiven{Row: row, Execution: "collect/Metrics", Tool: "read"}
	}
	type (
		byRow map[int64]string
		given []plan.ForkGiven
		seqs  []int64
	)
	for name, test := range map[string]struct {
		at      string
		results texts
		place   string
		texts   byRow
		given   given
		without seqs
		rows    int
	}{
		"by row":          {"", texts{"3": "x"}, "collect/Logs/2", byRow{3: "x"}, given{logs}, seqs{21}, 7},
		"by ID":           {"", texts{"collect/Logs/1/0": "x"}, "collect/Logs/2", byRow{3: "x"}, given{logs}, seqs{21}, 7},
		"by whole ID":     {"", texts{"collect/Logs/collect/Logs/1/0": "x"}, "collect/Logs/2", byRow{3: "x"}, given{logs}, seqs{21}, 7},
		"by the call":     {"", texts{"22": "x"}, "collect/Logs/2", byRow{3: "x"}, given{logs}, seqs{21}, 7},
		"by nothing":      {"", texts{"3": ""}, "collect/Logs/2", byRow{3: ""}, given{logs}, seqs{21}, 7},
		"two of a reply":  {"", texts{"5": "x", "6": "y"}, "collect/Metrics/2", byRow{5: "x", 6: "y"}, given{metrics(5), metrics(6)}, nil, 8},
		"of two agents":   {"5", texts{"3": "x", "5": "y"}, "5", byRow{3: "x", 5: "y"}, given{logs, metrics(5)}, seqs{21}, 6},
		"at a given call": {"Logs/2", texts{"3": "x"}, "Logs/2", byRow{3: "x"}, given{logs}, seqs{21}, 7},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, replaced, err := fork.Cut(chain, summarised(), agent.Fork{At: test.at, Results: test.results})
			want := plan.Fork{At: test.place, Given: test.given, Without: test.without, Rows: test.rows}
			got := plan.Fork{At: f.At, Given: f.Given, Without: f.Without, Rows: f.Rows}
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("%v%s", err, diff)
			}
			if diff := cmp.Diff(map[int64]string(test.texts), replaced); diff != "" {
				t.Error(diff)
			}
		})
	}
	unread := rows()[:6]
	got, replaced, err := fork.Cut(chain, unread, agent.Fork{Results: texts{"6": "x"}})
	if err != nil || got.At != "" || replaced[6] != "x" {
		t.Errorf("a result that no reply has read: %v, %+v", err, got)
	}
}

// A fork of a fork says which results were given for the first one, as far as it shares them.
func TestResultsThatWereReplacedBefore(t *testing.T) {
	t.Parallel()
	all := rows()
	all[2].Given, all[4].Given = "Ada", "Ada"
	got, _, err := fork.Cut(chain, all, agent.Fork{At: "Metrics/1", Results: map[string]string{}})
	got.By = "Bob"
	want := []string{"result of row 3 (read of collect/Logs), given by Ada"}
	if diff := cmp.Diff(want, got.Changes()); err != nil || diff != "" {
		t.Errorf("%v%s", err, diff)
	}
	if versioned := (plan.Plan{Fork: &got}).Versioned(); versioned.Version != 9 {
		t.Errorf("the plan has version %d", versioned.Version)
	}
}

// Only the prompts of agents without shared replies are replaced.
func TestPromptsThatAreReplaced(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ at, agent, place string }{
		"the only agent":         {"Join/1", "", "collect/Join"},
		"by name":                {"Logs/1", "Logs", "collect/Logs"},
		"by place":               {"11", "fix/Lead", "fix/Lead"},
		"of a later stage":       {"Logs/2", "Lead", "fix/Lead"},
		"of an agent that waits": {"Logs/2", "Join", "collect/Join"},
		"of a further run":       {"fix#2", "Lead", "fix/Lead"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, _, err := fork.Cut(chain, rows(), agent.Fork{At: test.at, Prompts: map[string]string{test.agent: "think"}})
			if diff := cmp.Diff([]string{"prompt of " + test.place}, got.Changes()); err != nil || got.Prompts[test.place] != "think" || diff != "" {
				t.Errorf("%v, %+v%s", err, got, diff)
			}
		})
	}
	agents := []plan.Agent{{Name: "Logs"}, {Name: "Lead", Prompt: "old", Instructions: "old"}}
	p := plan.Plan{Stages: []plan.Stage{{Name: "fix", Agents: agents}}}
	p.Fork = &plan.Fork{Prompts: map[string]string{"fix/Logs": "a", "fix/Lead": "{{.Stage}}"}}
	want := []plan.Agent{{Name: "Logs", Instructions: "a"}, {Name: "Lead", Prompt: "{{.Stage}}", Instructions: "old"}}
	fork.Apply(&p)
	if diff := cmp.Diff(want, p.Stages[0].Agents); diff != "" {
		t.Error(diff)
	}
}

// Every error says what is possible.
func TestNoChanges(t *testing.T) {
	t.Parallel()
	lead := func(a plan.Agent) plan.Plan {
		p := chain
		p.Stages = slices.Clone(chain.Stages)
		a.Name = "Lead"
		p.Stages[1].Agents = []plan.Agent{a}
		return p
	}
	twice := rows()
	twice[4].Call.ID, twice[5].Call.ID = "same", "same"
	own := rows()
	own[2].Call.Own = true
	results := func(at string, names ...string) agent.Fork {
		f := agent.Fork{At: at, Results: map[string]string{}}
		for _, name := range names {
			f.Results[name] = "x"
		}
		return f
	}
	prompts := func(at string, names ...string) agent.Fork {
		f := agent.Fork{At: at, Prompts: map[string]string{}}
		for _, name := range names {
			f.Prompts[name] = "think {{"
		}
		return f
	}
	refused, unknown := rows(), rows()
	refused[2].Refused, unknown[2].ErrorType = true, tool.ErrorOutcomeUnknown
	stopped := rows()
	stopped = append(stopped[:6:6], stopped[8:]...) // Logs has one reply
	superseded := summarised()
	superseded[21].Superseded = true
	parallel := chain
	parallel.Stages = slices.Clone(chain.Stages)
	parallel.Stages[1].Routing.After = []string{"none"}
	open := append(rows()[:6:6], rows()[10:13]...) // Logs goes on beside fix/Lead
	for name, test := range map[string]struct {
		plan plan.Plan
		rows journal
		fork agent.Fork
		want string
	}{
		"no such row": {
			chain, rows(), results("", "21"),
			`no result of a tool has the row or call ID "21". Rows with results: 3 (read of collect/Logs), 5 (`,
		},
		"a reply":     {chain, rows(), results("", "2"), `no result of a tool has the row or call ID "2"`},
		"no result":   {chain, rows(), results("", "19"), `no result of a tool has the row or call ID "19"`},
		"a lost call": {chain, superseded, results("", "22"), `no result of a tool has the row or call ID "22"`},
		"nobody's":    {chain, nil, results("", "3"), "Rows with results: none"},
		"two calls": {
			chain, twice, results("", "same"),
			`several calls have the ID "same": give the row of a result, or STAGE/AGENT/ID: 5 (read of`,
		},
		"our tool":   {chain, own, results("", "3"), "row 3 is the result of read, a tool of Inquest itself, and cannot be changed"},
		"a dispatch": {chain, rows(), results("", "12"), "a tool of Inquest itself, and cannot be changed"},
		"refused": {
			chain, refused, results("", "3"),
			"row 3 is no result of read: the call was refused, or it may not have taken effect",
		},
		"unknown":     {chain, unknown, results("", "3"), "row 3 is no result of read"},
		"given twice": {chain, rows(), results("", "3", "collect/Logs/1/0"), "the result of row 3 is given twice"},
		"two agents": {
			chain, rows(), results("", "3", "5"),
			"results of several agents are replaced (collect/Logs, collect/Metrics): give the row to",
		},
		"too early": {
			chain, rows(), results("4", "6"),
			"row 6 is not shared, so it cannot be replaced: it comes after the place, or another call of",
		},
		"too late": {
			chain, rows(), results("fix#1", "3"),
			"the fork would share replies that had read row 3: fork at collect/Logs/2 or earlier",
		},
		"stopped": {
			chain, stopped, results("", "3"),
			"collect/Logs had failed, or was stopped, and does not go on in the fork, so nothing would read",
		},
		"a sub-agent": {
			chain, rows(), results("", "14"),
			"row 14 is a result of a dispatched agent (fix/Lead/Dig-1), and cannot be replaced",
		},
		"no agent": {
			chain, rows(), prompts("fix#1", "Nobody"),
			`no agent "Nobody" to give a prompt to. Agents: collect/Join, collect/Logs, collect/Metrics, fix/Lead`,
		},
		"nobody": {
			chain, rows()[:17], prompts("17", ""),
			"no agent of the stage would read the prompt: give the agent's name, or fork at an earlier place",
		},
		"which agent": {
			chain, rows(), prompts("5", ""),
			"name the agent that gets the prompt: 2 agents go on from there (collect/Logs, collect/Metrics)",
		},
		"in between": {
			chain, rows(), prompts("Logs/2", "Logs"),
			"collect/Logs continues after replies to its old prompt: fork at collect/Logs/1 or earlier",
		},
		"beside": {parallel, open, prompts("Lead/1", "Logs"), "collect/Logs continues after replies to its old prompt"},
		"ended": {
			chain, rows(), prompts("fix#1", "Logs"),
			"collect/Logs makes no model call in the fork, so the prompt of collect/Logs cannot be replaced",
		},
		"twice":  {chain, rows(), prompts("fix#1", "Lead", "fix/Lead"), "the prompt of fix/Lead is given twice"},
		"a mock": {lead(plan.Agent{Mock: "m"}), rows(), prompts("fix#1", "Lead"), "fix/Lead is a mock, which reads no prompt"},
		"a function": {
			lead(plan.Agent{PromptFunc: "f"}), rows(), prompts("fix#1", "Lead"),
			"the function f of the workers' program writes it",
		},
		"no model": {
			lead(plan.Agent{Type: "tool_plan"}), rows(), prompts("fix#1", "Lead"),
			"fix/Lead calls no model, and so has no prompt",
		},
		"no template": {lead(plan.Agent{Prompt: "a"}), rows(), prompts("fix#1", "Lead"), "the prompt of fix/Lead: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, _, err := fork.Cut(test.plan, test.rows, test.fork)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, %+v; want %q", err, got, test.want)
			}
		})
	}
}
