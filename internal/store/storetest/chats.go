package storetest

import (
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/record"
)

// testChats: a message has one row and gets one TS, an input is carried out once, and a lease has one owner at a time.
func testChats(t *testing.T, open opener) {
	s, ctx := open(), t.Context()
	news, stop := s.ChatNews()
	defer stop()
	thread := record.ChatMessage{Investigation: "i", Kind: record.ChatThread, Channel: "C1", Thread: "1.1", State: record.ChatOpen}
	for n := range 2 {
		now, added, err := s.AddChatMessage(ctx, thread)
		ok(t, err)
		if added != (n == 0) || now.Thread != "1.1" || now.At.IsZero() {
			t.Errorf("attempt %d: added %v, row %+v", n, added, now)
		}
	}
	<-news
	report := record.ChatMessage{Investigation: "i", Kind: "report", Channel: "C1", Thread: "1.1", TS: "1.5", State: record.ChatDone}
	planned := record.ChatMessage{Investigation: "i", Kind: "report", State: record.ChatOpen}
	if _, added, err := s.AddChatMessage(ctx, planned); err != nil || !added {
		t.Error(added, err)
	}
	<-news
	if !must(s.SetChatMessage(ctx, report))(t) {
		t.Error("the TS of a message was not set")
	}
	select {
	case <-news:
	default:
		t.Error("a changed message was not announced")
	}
	if report.TS = "1.6"; must(s.SetChatMessage(ctx, report))(t) {
		t.Error("a message has got a second TS")
	}
	if all := must(s.ChatMessages(ctx, "i"))(t); len(all) != 2 || all[0].TS != "1.5" {
		t.Errorf("messages: %+v", all)
	}
	if all := must(s.ChatThreadAt(ctx, "C1", "1.1"))(t); len(all) != 1 || all[0].Investigation != "i" {
		t.Errorf("threads: %+v", all)
	}
	thread.State = record.ChatDone
	must(s.SetChatMessage(ctx, thread))(t)
	if all := must(s.ChatThreads(ctx))(t); len(all) != 0 {
		t.Errorf("open threads: %+v", all)
	}
	begun := record.ChatMessage{Investigation: "j", Kind: record.ChatThread, Channel: "C1", State: record.ChatOpen}
	if _, added, err := s.AddChatMessage(ctx, begun); err != nil || !added {
		t.Error(added, err)
	}
	begun.Thread = "2.1"
	must(s.SetChatMessage(ctx, begun))(t)
	if all := must(s.ChatThreadAt(ctx, "C1", "2.1"))(t); len(all) != 1 || all[0].Investigation != "j" {
		t.Errorf("a thread that was begun: %+v", all)
	}
	for _, id := range []string{"a", "b", "a"} {
		ok(t, s.AddChatInput(ctx, record.ChatInput{ID: id, Lane: "l", Body: "{}"}))
	}
	ok(t, s.ChatInputDone(ctx, "a"))
	ok(t, s.AddChatInput(ctx, record.ChatInput{ID: "a", Lane: "l", Body: "{}"}))
	if all := must(s.ChatInputs(ctx))(t); len(all) != 1 || all[0].ID != "b" || all[0].Body != "{}" {
		t.Errorf("inputs: %+v", all)
	}
	for _, attempt := range []struct {
		owner string
		d     time.Duration
		held  bool
	}{
		{"x", time.Hour, true}, {"y", time.Hour, false}, {"x", time.Hour, true}, {"x", 0, true}, {"y", time.Hour, true}, {"x", time.Hour, false},
	} {
		if held := must(s.Lease(ctx, "slack", attempt.owner, attempt.d))(t); held != attempt.held {
			t.Errorf("%+v: held %v", attempt, held)
		}
	}
}
