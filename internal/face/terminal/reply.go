package terminal

import (
	"fmt"
	"strings"

	"github.com/inquest-dev/inquest/internal/transcript"
)

// stream is the part of a reply that was printed while it arrived.
type stream struct {
	iteration, attempt int
	thinking, text     string // as received, not sanitized
	held               []transcript.Entry
}

// holdBack keeps back an entry that would interrupt a partly printed reply: messages to a model are recorded together with its reply.
func (v *view) holdBack(e transcript.Entry) bool {
	s := v.streams[e.Execution]
	if s == nil || s.iteration != e.Iteration || e.CallIndex() >= 0 || e.Kind == transcript.KindReply {
		return false
	}
	s.held = append(s.held, e)
	return true
}

// tails prints the new parts of replies as they arrive. Several agents take turns by whole paragraphs. A single agent's text is shown
// word by word.
func (v *view) tails(live []transcript.Live) {
	atWork := map[string]bool{}
	for _, e := range v.executions {
		if !e.Status.Closed() {
			atWork[e.Name] = true
		}
	}
	for _, tail := range live {
		atWork[tail.Execution] = true
	}
	for _, tail := range live {
		if len(atWork) > 1 {
			if tail.Text == "" { // otherwise it is complete
				tail.Thinking = paragraphs(tail.Thinking)
			}
			tail.Text = paragraphs(tail.Text)
		}
		if tail.Thinking+tail.Text == "" {
			continue
		}
		v.enter(tail.Execution)
		l := v.lane(tail.Execution)
		v.tail(l, tail)
		if len(atWork) == 1 {
			v.p.peek(l)
		}
	}
}

// paragraphs returns the complete paragraphs of a growing text.
func paragraphs(text string) string { return text[:strings.LastIndex(text, "\n\n")+1] }

func (v *view) tail(l *lane, tail transcript.Live) {
	s := v.streams[tail.Execution]
	if s != nil && (s.iteration != tail.Iteration || s.attempt != tail.Attempt || !s.begins(tail.Thinking, tail.Text)) {
		v.p.endBlock(l)
		if s.thinking != "" || s.text != "" {
			v.p.print(l, noticeBlock, "the reply restarts:")
		}
		s = nil
	}
	if s == nil {
		s = &stream{iteration: tail.Iteration, attempt: tail.Attempt}
		v.streams[tail.Execution] = s
	}
	v.grow(l, s, stablePrefix(tail.Thinking), stablePrefix(tail.Text))
}

func (s *stream) begins(thinking, text string) bool {
	return strings.HasPrefix(thinking, s.thinking) && strings.HasPrefix(text, s.text)
}

// grow prints the new part. It omits thinking that arrives after the text has begun, which would interrupt the text.
func (v *view) grow(l *lane, s *stream, thinking, text string) {
	if s.text == "" && len(thinking) > len(s.thinking) {
		v.p.startBlock(l, thinkingBlock)
		v.p.add(l, Clean(thinking[len(s.thinking):]))
		s.thinking = thinking
	}
	if len(text) > len(s.text) {
		v.p.startBlock(l, replyBlock)
		v.p.add(l, Clean(text[len(s.text):]))
		s.text = text
	}
}

// reply prints a whole reply, or the part that was not printed while it arrived.
func (v *view) reply(l *lane, e transcript.Entry) {
	thinking := e.Thinking
	if thinking == e.Text {
		thinking = "" // it merely repeats the text
	}
	s := v.streams[e.Execution]
	delete(v.streams, e.Execution)
	if s != nil {
		defer v.release(s.held)
	}
	if s != nil && (s.iteration != e.Iteration || !s.begins(e.Thinking, e.Text)) {
		v.p.print(l, noticeBlock, "the reply in full:")
		s = nil
	}
	if s == nil {
		v.p.endBlock(l)
		s = &stream{}
	}
	v.grow(l, s, thinking, e.Text)
	v.p.endBlock(l)
	for n := range e.Calls {
		v.call(l, e, n)
	}
	v.p.print(l, footBlock, foot(e))
}

func (v *view) release(held []transcript.Entry) {
	for _, e := range held {
		v.entry(e)
	}
}

// foot describes the model and the usage of a reply.
func foot(e transcript.Entry) string {
	words := []string{fmt.Sprintf("iteration %d", e.Iteration)}
	if e.Model != "" {
		words = append(words, CleanLine(e.Model))
	}
	if e.Usage != nil {
		words = append(words, Tokens(*e.Usage))
	}
	if c := e.Compression; c != nil && c.CompressedTokens < c.OriginalTokens {
		words = append(words, fmt.Sprintf("context compressed: %s → %s tokens", number(c.OriginalTokens), number(c.CompressedTokens)))
	}
	if e.Forced {
		words = append(words, "conclusion requested")
	}
	if e.Finish != "" && e.Finish != "stop" && e.Finish != "tool_calls" {
		words = append(words, "finish reason: "+CleanLine(e.Finish))
	}
	return strings.Join(words, " · ")
}
