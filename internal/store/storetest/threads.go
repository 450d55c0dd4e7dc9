package storetest

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/internal/trust/audit"
)

// converse appends an iteration of a conversation with a message and its answer, and records the turn.
func converse(t *testing.T, s *store.Store, thread, run string, n int, message, question, answer string) record.Turn {
	t.Helper()
	asked := transcript.Row{Key: transcript.Key{Iteration: n}, Kind: transcript.KindUser}
	asked.Text, asked.By = question, "Ada"
	replied := transcript.Row{Key: transcript.Key{Iteration: n, Position: 1}, Kind: transcript.KindReply}
	replied.Text, replied.Usage = answer, &agent.Usage{ModelCalls: 1}
	step := transcript.Step{
		Scope: transcript.Scope{Investigation: thread, Execution: "chat/Memo"}, Writer: writer(run),
		Rows: []transcript.Row{asked, replied}, Recall: "Memo",
	}
	mustAppend(t, s, step)
	turn := record.Turn{
		N: n, Message: message, Run: run, Author: "Ada", Execution: "chat/Memo", First: n, Last: n, At: noon.Add(time.Duration(n) * time.Minute),
		Reply: json.RawMessage(`{"turn":1}`),
	}
	ok(t, s.SaveTurn(t.Context(), thread, turn))
	return turn
}

var noon = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

func thread(id, name, project string, started time.Duration) record.Thread {
	return record.Thread{ID: id, WorkflowID: name, Agent: "Memo", Project: project, StartedAt: noon.Add(started)}
}

func idsOfThreads(all []record.Thread) (ids []string) {
	for _, t := range all {
		ids = append(ids, t.ID)
	}
	return ids
}

// testThreads: conversations and their turns are recorded once, listed by filters, and found by their words.
func testThreads(t *testing.T, open opener) {
	s, ctx := open().(*store.Store), t.Context()
	if err := s.SaveTurn(ctx, "a:1", record.Turn{N: 1, Execution: "chat/Memo"}); !errors.Is(err, record.ErrNotFound) {
		t.Errorf("a turn of an unknown conversation: %v", err)
	}
	first, second, other := thread("a:1", "a", "", 0), thread("a:2", "a", "", time.Hour), thread("b:1", "b", "payments", 2*time.Hour)
	other.About = "inv:1"
	for _, one := range []record.Thread{first, second, other, first} {
		ok(t, s.SaveThread(ctx, one))
	}
	turn := converse(t, s, "a:1", "run1", 1, "m1", "What happened to node 7?", "The disk of NODE 7 was full.")
	converse(t, s, "a:1", "run1", 2, "", "ping", "nothing new")
	converse(t, s, "b:1", "run1", 1, "m1", "And the pool?", "It has 20 connections on node 7.")
	ok(t, s.SaveTurn(ctx, "a:1", turn)) // a repeated call

	same(t, "turn", must(s.TurnOf(ctx, "a:1", "m1"))(t), turn)
	for _, none := range [][2]string{{"a:2", "m1"}, {"a:1", "m2"}, {"a:1", ""}} {
		if _, err := s.TurnOf(ctx, none[0], none[1]); !errors.Is(err, record.ErrNotFound) {
			t.Errorf("turn %q: %v", none, err)
		}
	}
	got := must(s.Thread(ctx, "a:1"))(t)
	first.Turns, first.ActiveAt = 2, noon.Add(2*time.Minute)
	same(t, "thread", got, first)
	same(t, "latest of the name", must(s.Thread(ctx, "a"))(t).ID, "a:2")
	same(t, "all of the name", must(s.Namesakes(ctx, "a"))(t), []string{"a:2", "a:1"})
	end := noon.Add(time.Hour)
	ok(t, s.EndThread(ctx, "a:1", end))
	ok(t, s.EndThread(ctx, "a:1", end.Add(time.Hour)))
	same(t, "end", must(s.Thread(ctx, "a:1"))(t).EndedAt, &end)

	for name, test := range map[string]struct {
		filter record.ThreadFilter
		want   []string
	}{
		"all":          {record.ThreadFilter{}, []string{"b:1", "a:2", "a:1"}},
		"two":          {record.ThreadFilter{Limit: 2}, []string{"b:1", "a:2"}},
		"next page":    {record.ThreadFilter{Before: second}, []string{"a:1"}},
		"project":      {record.ThreadFilter{Projects: []string{"payments"}}, []string{"b:1"}},
		"no project":   {record.ThreadFilter{Projects: []string{}}, nil},
		"agent":        {record.ThreadFilter{Agent: "Clerk"}, nil},
		"about":        {record.ThreadFilter{About: "inv:1"}, []string{"b:1"}},
		"other filter": {record.ThreadFilter{Projects: []string{""}, Agent: "Memo"}, []string{"a:2", "a:1"}},
	} {
		same(t, name, idsOfThreads(must(s.Threads(ctx, test.filter))(t)), test.want)
	}
	for words, want := range map[string]int{"node": 2, "node disk": 1, "FULL": 1, "pool disk": 0, "": 0, "ping": 1} {
		if found := must(s.FindTurns(ctx, record.ThreadFilter{Words: words}))(t); len(found) != want {
			t.Errorf("%q is in %d turns, want %d", words, len(found), want)
		}
	}
	found := must(s.FindTurns(ctx, record.ThreadFilter{Words: "node 7", Projects: []string{"default"}}))(t)
	same(t, "found", found, []record.FoundTurn{{
		Thread: must(s.Thread(ctx, "a:1"))(t), Turn: turn, Texts: []string{"What happened to node 7?", "The disk of NODE 7 was full."},
	}})

	// Temporal is reset to a point before the first turn: the new run replaces it and the second one.
	turn.Run, turn.Message = "run2", "m3"
	ok(t, s.SaveTurn(ctx, "a:1", turn))
	same(t, "turns after a reset", must(s.Thread(ctx, "a:1"))(t).Turns, 1)
	if _, err := s.TurnOf(ctx, "a:1", "m1"); !errors.Is(err, record.ErrNotFound) {
		t.Errorf("a turn before the reset: %v", err)
	}
	same(t, "words before the reset", len(must(s.FindTurns(ctx, record.ThreadFilter{Words: "ping"}))(t)), 0)
}

// testDeletedThread: nothing of a deleted conversation remains except the record of the deletion, and texts that others use stay.
func testDeletedThread(t *testing.T, open opener) {
	s, ctx := open().(*store.Store), t.Context()
	for _, id := range []string{"a:1", "b:1"} {
		ok(t, s.SaveThread(ctx, thread(id, id[:1], "", 0)))
		converse(t, s, id, "run", 1, "m", "secret plans", "noted")
	}
	own, shared := must(s.PutBlob(ctx, []byte("own")))(t), must(s.PutBlob(ctx, []byte("shared")))(t)
	skill, data := must(s.PutBlob(ctx, []byte("skill")))(t), must(s.PutBlob(ctx, []byte("data")))(t)
	ok(t, s.StartInvestigation(ctx, record.Investigation{
		ID: "i:1", WorkflowID: "i", RunID: "r", DataHash: data, Status: agent.StatusRunning, StartedAt: noon,
	}))
	for id, blobs := range map[string][]string{"a:1": {own, shared, skill, data}, "b:1": {shared}} {
		var rows []transcript.Row
		for n, blob := range blobs {
			row := transcript.Row{Key: transcript.ResultKey(1, n), Kind: transcript.KindResult}
			row.Blob, row.Call = blob, &transcript.Call{Name: "k.get"}
			if blob == skill {
				row.Call.Name = agent.ToolLoadSkill
			}
			rows = append(rows, row)
		}
		for _, row := range rows {
			mustAppend(t, s, transcript.Step{
				Scope: transcript.Scope{Investigation: id, Execution: "chat/Memo"}, Writer: writer("run"), Rows: []transcript.Row{row},
			})
		}
	}
	act := audit.Act{What: audit.ThreadDeleted, Who: "Ada", Detail: json.RawMessage(`{"conversation":"a:1"}`)}
	ok(t, s.DeleteThread(ctx, "a:1", act))
	if err := s.DeleteThread(ctx, "a:1", act); !errors.Is(err, record.ErrNotFound) {
		t.Errorf("a second deletion: %v", err)
	}
	if left := must(s.After(ctx, "a:1", 0, 0))(t); len(left) > 0 {
		t.Errorf("%d entries are left", len(left))
	}
	same(t, "usage", must(s.Usages(ctx, []string{"a:1"}))(t), map[string]agent.Usage{})
	same(t, "threads", idsOfThreads(must(s.Threads(ctx, record.ThreadFilter{}))(t)), []string{"b:1"})
	found := must(s.FindTurns(ctx, record.ThreadFilter{Words: "secret"}))(t)
	if len(found) != 1 || found[0].Thread.ID != "b:1" {
		t.Errorf("found %+v", found)
	}
	same(t, "recalled", len(must(s.After(ctx, "b:1", 0, 0))(t)), 3)
	if _, err := s.Blob(ctx, own); !errors.Is(err, record.ErrNotFound) {
		t.Errorf("its own text: %v", err)
	}
	for _, kept := range []string{shared, skill, data} {
		must(s.Blob(ctx, kept))(t)
	}
	var acts []audit.Act
	ok(t, s.Acts(ctx, record.ActFilter{}, func(a audit.Act) error { acts = append(acts, a); return nil }))
	deletions := slices.DeleteFunc(acts, func(a audit.Act) bool { return a.What != audit.ThreadDeleted || a.Who != "Ada" })
	same(t, "deletions in the audit trail", len(deletions), 1)
}
