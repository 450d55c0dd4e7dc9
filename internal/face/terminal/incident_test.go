package terminal

import (
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/transcript"
)

const investigation = "alert-7:0123456789ab"

const (
	logs    = "collect/LogAgent"
	metrics = "collect/Metrics"
	judge   = "judge/Judge"
)

// journal numbers entries.
type journal struct{ seq int64 }

func (j *journal) entry(execution string, k transcript.Key, seconds float64, kind transcript.Kind, body transcript.Body) transcript.Entry {
	j.seq++
	return transcript.Entry{
		Scope: transcript.Scope{Investigation: investigation, Execution: execution},
		Key:   k, Seq: j.seq, Kind: kind, At: at(seconds), Body: body,
	}
}

func said(text string) transcript.Body { return transcript.Body{Text: text} }

func position(iteration, n int) transcript.Key {
	return transcript.Key{Iteration: iteration, Position: n}
}

func running() *record.Investigation {
	return &record.Investigation{ID: investigation, Chain: "incident", Status: agent.StatusRunning, StartedAt: start}
}

func ended(status agent.Status, reason agent.EndReason, seconds float64) *record.Investigation {
	r := running()
	r.Status, r.EndReason, r.EndedAt = status, reason, until(seconds)
	r.Usage = agent.Usage{InputTokens: 12345, OutputTokens: 678, ModelCalls: 4, ToolCalls: 1}
	return r
}

func tail(execution string, attempt int, thinking, text string) transcript.Live {
	return transcript.Live{
		Scope:     transcript.Scope{Investigation: investigation, Execution: execution},
		Iteration: 1, Attempt: attempt, Thinking: thinking, Text: text,
	}
}

func execution(name, stage string, status agent.Status, stop agent.StopReason, seconds float64) record.Execution {
	e := record.Execution{Investigation: investigation, Name: name, Stage: stage, Status: status, StopReason: stop, StartedAt: start}
	if status.Closed() {
		e.EndedAt, e.Iterations, e.Usage = until(seconds), 1, agent.Usage{InputTokens: 5000, OutputTokens: 120}
	}
	return e
}

var query = transcript.Call{ID: "c1_0", Name: "loki.query", Arguments: `{ "query": "{app=\"checkout\"}", "limit": 20 }`}

// incident is an investigation with two parallel agents whose replies arrive in pieces, a tool call, guidance, a fallback, and a second
// stage.
func incident() []store.Update {
	var j journal
	const thought = "The pool may be exhausted. Look at the logs first, then at the pool."
	const reply = "I will read the logs of checkout.\n\n1. errors\n2. the pool"
	both := []record.Execution{
		execution(logs, "collect", agent.StatusRunning, "", 0), execution(metrics, "collect", agent.StatusRunning, "", 0),
	}
	collected := []record.Execution{
		execution(logs, "collect", agent.StatusCompleted, agent.StopEndTurn, 6),
		execution(metrics, "collect", agent.StatusCompleted, agent.StopMaxIterations, 4),
	}
	stages := []record.Stage{{Name: "collect", Status: agent.StatusCompleted, Outcome: agent.OutcomePartial,
		StartedAt: start, EndedAt: until(6.5)}}
	final := ended(agent.StatusCompleted, agent.EndCompleted, 95)
	final.Report = "# Root cause\n\nThe connection pool is *exhausted*.\n"
	return []store.Update{
		{Record: running(), Executions: both},
		{Live: []transcript.Live{tail(logs, 1, thought[:30], "")}},
		{Live: []transcript.Live{tail(logs, 1, thought, reply[:20])}},
		{Live: []transcript.Live{tail(logs, 1, thought, reply[:40]), tail(metrics, 1, "", "The p99 ")}},
		{Live: []transcript.Live{tail(logs, 1, thought, reply[:40]), tail(metrics, 2, "", "The p99 rose at 12:03.\nBefore")}},
		{
			Live: []transcript.Live{tail(metrics, 2, "", "The p99 rose at 12:03.\nBefore that")},
			Entries: []transcript.Entry{
				j.entry(logs, position(1, 0), 1, transcript.KindSystem, said("You investigate.\nBe brief.")),
				j.entry(logs, position(1, 1), 1, transcript.KindUser, said("Alert: checkout is slow.")),
				j.entry(logs, position(1, 2), 1, transcript.KindReply, transcript.Body{
					Text: reply, Thinking: thought, Calls: []transcript.Call{query},
					Answer: transcript.Answer{Finish: "tool_calls", Model: "gpt-4o", Usage: &agent.Usage{InputTokens: 1234, OutputTokens: 56}},
					Reply:  transcript.Reply{Compression: &transcript.Compression{OriginalTokens: 90000, CompressedTokens: 60000}},
				}),
				j.entry(logs, transcript.CallKey(1, 0), 1.5, transcript.KindCall, transcript.Body{Call: &query}),
			},
		},
		{
			Live: []transcript.Live{},
			Entries: []transcript.Entry{
				j.entry(metrics, position(1, 0), 2, transcript.KindSystem, said("You read metrics.")),
				j.entry(metrics, position(1, 1), 2, transcript.KindUser, said("Alert: checkout is slow.")),
				j.entry(metrics, position(1, 2), 2, transcript.KindFallback,
					transcript.Body{Text: "The model failed (RateLimited: 429); gpt-4o takes over.", ErrorType: "RateLimited"}),
				j.entry(metrics, position(1, 3), 2, transcript.KindReply, transcript.Body{
					Text: "The p99 rose at 12:03.\nBefore that it was flat.", Reply: transcript.Reply{Forced: true},
					Answer: transcript.Answer{Finish: "length", Model: "gpt-4o", Usage: &agent.Usage{InputTokens: 5000, OutputTokens: 120}},
				}),
			},
		},
		{Entries: []transcript.Entry{
			j.entry(logs, transcript.ResultKey(1, 0), 2.75, transcript.KindResult, transcript.Body{
				Text: "12:03 pool timeout\n12:04 pool timeout\n12:05 pool timeout\n12:06 pool timeout\n12:07 pool timeout\n",
				Call: &query, Status: "success", Result: transcript.Result{Size: 2048},
			}),
			j.entry(logs, position(2, 0), 3, transcript.KindUser, said("A person gives you guidance:\nlook at the pool")),
			j.entry(logs, position(2, 1), 6, transcript.KindReply, transcript.Body{
				Text: "The pool is exhausted.", Answer: transcript.Answer{Finish: "stop", Model: "gpt-4o"},
			}),
		}},
		{Record: running(), Stages: stages, Executions: collected},
		{
			Record: running(), Stages: stages, Executions: append(collected, execution(judge, "judge", agent.StatusRunning, "", 0)),
			Entries: []transcript.Entry{
				j.entry(judge, position(1, 0), 7, transcript.KindReply, transcript.Body{
					Text: "It is the pool.", Answer: transcript.Answer{Finish: "stop", Model: "o3"},
				}),
				j.entry(judge, position(1, 1), 7, transcript.KindNotice, said("The model's context is nearly full.")),
			},
		},
		{
			Record: final, Stages: append(stages, record.Stage{Name: "judge", Index: 1, Status: agent.StatusCompleted, Outcome: agent.OutcomeSuccess,
				StartedAt: at(7), EndedAt: until(95)}),
			Executions: append(collected, execution(judge, "judge", agent.StatusCompleted, agent.StopEndTurn, 94)),
		},
	}
}

// reset is an investigation whose second iteration was repeated.
func reset() []store.Update {
	var j journal
	first := j.entry(logs, position(1, 0), 1, transcript.KindReply, said("First."))
	second := j.entry(logs, position(2, 0), 2, transcript.KindReply, said("Second, wrong."))
	struck := second
	struck.Superseded = true
	return []store.Update{
		{Record: running(), Entries: []transcript.Entry{first, second}},
		{Entries: []transcript.Entry{struck, j.entry(logs, position(2, 0), 3, transcript.KindReply, said("Second, right."))}},
		{Record: ended(agent.StatusCancelled, agent.EndCancelled, 4)},
	}
}

// failed is an investigation whose only agent failed at its first call.
func failed() []store.Update {
	var j journal
	e := execution(logs, "collect", agent.StatusFailed, agent.StopFailed, 3)
	e.Error = "loki cannot be reached"
	r := ended(agent.StatusFailed, agent.EndToolFailed, 3)
	r.Error = "stage collect: loki cannot be reached"
	return []store.Update{
		{Record: running(), Entries: []transcript.Entry{
			j.entry(logs, position(1, 0), 1, transcript.KindReply,
				transcript.Body{Calls: []transcript.Call{{Name: "loki.query", Arguments: "not JSON\nat all"}, query}}),
			j.entry(logs, transcript.ResultKey(1, 0), 1, transcript.KindResult,
				transcript.Body{Text: "connection refused", Call: &query, Status: "error", ErrorType: "unavailable"}),
			j.entry(logs, transcript.ResultKey(1, 1), 1, transcript.KindResult, transcript.Body{Text: "a\t" + strings.Repeat("long line ", 20),
				Call: &query, Status: "success"}),
			j.entry(logs, transcript.SummaryKey(1, 0), 2, transcript.KindSummary, transcript.Body{Text: "connection…", ErrorType: "RateLimited"}),
			j.entry(logs, transcript.SummaryKey(1, 1), 2, transcript.KindSummary, transcript.Body{
				Text: "20 long lines", Answer: transcript.Answer{Model: "small", Usage: &agent.Usage{InputTokens: 5000, OutputTokens: 9}},
			}),
		}},
		{
			Record: r, Executions: []record.Execution{e},
			Stages: []record.Stage{{Name: "collect", Status: agent.StatusFailed, StartedAt: start, EndedAt: until(3), Error: e.Error}},
		},
	}
}

// hostile has text from models, tools and configurations that tries to deceive a terminal.
func hostile() []store.Update {
	var j journal
	const evil = "\x1b]0;owned\x07\x1b[2J\rroot# \u202egpj.exe\x9b31m\xff\u009bx\r\nnext"
	call := transcript.Call{Name: "t\x1b[31m.x", Arguments: `{"a":"\u001b[2J","b":"` + "\x1b[1A" + `"}`}
	r := ended(agent.StatusCompleted, agent.EndCompleted, 3)
	r.Report, r.Error = "report "+evil, evil
	return []store.Update{
		{Record: running(), Live: []transcript.Live{tail("st\x1b[1Aage/a\nb", 1, evil, "")}},
		{Live: []transcript.Live{tail("st\x1b[1Aage/a\nb", 1, evil, evil[:len(evil)-5])}},
		{
			Live: []transcript.Live{},
			Entries: []transcript.Entry{
				j.entry("st\x1b[1Aage/a\nb", position(1, 0), 1, transcript.KindReply, transcript.Body{
					Thinking: evil, Text: evil, Calls: []transcript.Call{call}, Answer: transcript.Answer{Model: evil, Finish: evil},
				}),
				j.entry("st\x1b[1Aage/a\nb", transcript.ResultKey(1, 0), 1, transcript.KindResult,
					transcript.Body{Text: evil, Call: &call, Status: evil, ErrorType: evil}),
				j.entry("st\x1b[1Aage/a\nb", transcript.SummaryKey(1, 0), 1, transcript.KindSummary, transcript.Body{
					Text: evil, Answer: transcript.Answer{Model: evil},
				}),
				j.entry("st\x1b[1Aage/a\nb", position(2, 0), 1, transcript.KindNotice, said(evil)),
			},
		},
		{Record: r},
	}
}

// decided is an investigation with two runs of a stage and decisions on their calls.
func decided() []store.Update {
	var j journal
	const repeated = "mend#2/Mender"
	restart := transcript.Call{ID: "c1_0", Name: "cluster.restart_pod", Arguments: `{"pod":"db-1"}`}
	remember := transcript.Call{ID: "c2_0", Name: "core_memory_append", Arguments: `{}`}
	denied := transcript.Body{Text: "Tool cluster.restart_pod was not called: denied by Bob: not at noon.", Call: &restart,
		Status: "error", ErrorType: "PermissionDenied"}
	first := execution("mend/Mender", "mend", agent.StatusCompleted, agent.StopEndTurn, 2)
	second := execution(repeated, "mend#2", agent.StatusCompleted, agent.StopEndTurn, 5)
	respelled := restart
	respelled.Respelled = "[Arguments were converted to match the schema: n as a number.]"
	return []store.Update{
		{Record: running(), Entries: []transcript.Entry{
			j.entry("mend/Mender", position(1, 0), 1, transcript.KindReply, transcript.Body{Calls: []transcript.Call{restart}}),
			j.entry("mend/Mender", transcript.ResultKey(1, 0), 2, transcript.KindResult, denied),
			j.entry(repeated, position(1, 0), 3, transcript.KindReply, transcript.Body{Calls: []transcript.Call{restart}}),
			j.entry(repeated, transcript.CallKey(1, 0), 3, transcript.KindCall, transcript.Body{
				Call: &restart, Result: transcript.Result{Decision: "approved by Ada: \x1bgo on"},
			}),
			j.entry(repeated, transcript.ResultKey(1, 0), 4, transcript.KindResult,
				transcript.Body{Text: "restarted", Call: &respelled, Status: "success"}),
			j.entry(repeated, position(2, 0), 4, transcript.KindReply, transcript.Body{Calls: []transcript.Call{remember}}),
			j.entry(repeated, transcript.ResultKey(2, 0), 4, transcript.KindResult, transcript.Body{
				Text: "kept", Call: &remember, Status: "success", Result: transcript.Result{Decision: "approved by Ada"},
			}),
		}},
		{
			Record: ended(agent.StatusCompleted, agent.EndCompleted, 5), Executions: []record.Execution{first, second},
			Stages: []record.Stage{
				{Name: "mend", Status: agent.StatusCompleted, StartedAt: start, EndedAt: until(2)},
				{Name: "mend#2", Status: agent.StatusCompleted, StartedAt: start.Add(2 * time.Second), EndedAt: until(5)},
			},
		},
	}
}

// cut is an investigation with an execution that was cancelled during a call, next to a running one.
func cut() []store.Update {
	var j journal
	restart := transcript.Call{ID: "c1_0", Name: "cluster.restart_pod", Arguments: `{"pod":"db-1"}`}
	calls := transcript.Body{Calls: []transcript.Call{restart, query}}
	return []store.Update{{
		Record: running(), Entries: []transcript.Entry{
			j.entry(logs, position(1, 0), 1, transcript.KindReply, calls),
			j.entry(logs, transcript.CallKey(1, 0), 1, transcript.KindCall, transcript.Body{Call: &restart}),
			j.entry(logs, transcript.CallKey(1, 1), 1, transcript.KindCall, transcript.Body{Call: &query}),
			j.entry(logs, transcript.ResultKey(1, 1), 2, transcript.KindResult,
				transcript.Body{Text: "12:03 pool timeout", Call: &query, Status: "success"}),
			j.entry(metrics, position(1, 0), 1, transcript.KindReply, transcript.Body{Calls: []transcript.Call{query}}),
			j.entry(metrics, transcript.CallKey(1, 0), 1, transcript.KindCall, transcript.Body{Call: &query}),
		},
		Executions: []record.Execution{
			execution(logs, "collect", agent.StatusCancelled, agent.StopCancelled, 3), execution(metrics, "collect", agent.StatusRunning, "", 0),
		},
	}}
}
