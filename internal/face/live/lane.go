package live

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/face/terminal"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// lane is one agent's execution.
type lane struct {
	name   string
	record record.Execution
	blocks []*block
	live   transcript.Live // the reply that is arriving; without an Execution there is none
	calls  []call          // calls of its last reply without a result
	called string          // the tool it called last
	tasked bool            // its next user message is not a task
	step   int             // current iteration
	since  time.Time       // time of its last entry
	forced bool            // it was asked to conclude
	spoke  bool            // its last reply has no calls, so it ends unless it gets another message
}

// call is a call without a result.
type call struct {
	key        transcript.Key // of its result
	name, with string
}

// strike removes an entry that a reset in Temporal has undone.
func (l *lane) strike(seq int64) {
	l.blocks = slices.DeleteFunc(l.blocks, func(b *block) bool { return b.seq == seq })
}

// entry adds an entry of the transcript.
func (l *lane) entry(e transcript.Entry) {
	l.step, l.spoke, l.since = max(l.step, e.Iteration), false, e.At
	switch e.Kind {
	case transcript.KindSystem:
		l.add(e, promptBlock, "system prompt", e.Text)
	case transcript.KindMemory:
		l.add(e, promptBlock, "core memory", e.Text)
	case transcript.KindUser:
		kind, head := userBlock, ""
		if !l.tasked {
			kind, head, l.tasked = promptBlock, "task", true
		}
		l.add(e, kind, head, e.Text)
	case transcript.KindReply:
		l.reply(e)
	case transcript.KindCall:
		if e.Decision != "" {
			l.add(e, goodBlock, e.Call.Name+" · "+e.Decision, "")
		}
	case transcript.KindResult:
		l.result(e)
	case transcript.KindSummary:
		l.add(e, goodBlock, "summary of result "+e.Ref(), e.Text)
	case transcript.KindTry:
		l.add(e, noticeBlock, "model call failed: "+e.Text, "")
	case transcript.KindFallback, transcript.KindNotice:
		fallthrough
	default: // kinds of a newer release
		l.add(e, noticeBlock, e.Text, "")
	}
}

func (l *lane) add(e transcript.Entry, kind blockKind, head, text string) {
	l.blocks = append(l.blocks, &block{seq: e.Seq, kind: kind, head: terminal.CleanLine(head), text: terminal.Clean(text)})
}

func (l *lane) reply(e transcript.Entry) {
	l.live, l.calls, l.forced, l.spoke = transcript.Live{}, nil, e.Forced, len(e.Calls) == 0
	if e.Thinking != "" && e.Thinking != e.Text {
		l.add(e, thinkingBlock, "", e.Thinking)
	}
	if strings.TrimSpace(e.Text) != "" {
		l.add(e, replyBlock, "", e.Text)
	}
	for n, c := range e.Calls {
		with := terminal.Compact(c.Arguments)
		l.calls = append(l.calls, call{transcript.ResultKey(e.Iteration, n), terminal.CleanLine(c.Name), with})
		l.called = terminal.CleanLine(c.Name)
		l.add(e, callBlock, c.Name, with)
	}
}

func (l *lane) result(e transcript.Entry) {
	l.calls = slices.DeleteFunc(l.calls, func(c call) bool { return c.key == e.Key })
	kind, words := goodBlock, []string{"result"}
	if e.Call != nil {
		words[0] = e.Call.Name
	}
	if e.ErrorType != "" || e.Status == "error" {
		kind = badBlock
		words = append(words, e.ErrorType)
	}
	words = append(words, e.Remarks(), terminal.Size(max(e.Size, len(e.Text))))
	words = slices.DeleteFunc(words, func(word string) bool { return word == "" })
	text := strings.Trim(e.Text, "\n")
	if e.Call != nil && e.Call.Respelled != "" {
		text = e.Call.Respelled + "\n" + text
	}
	l.add(e, kind, strings.Join(words, " · "), text)
}

// doing describes the agent's current activity, in one word and in a few words for a column.
func (m *Model) doing(l *lane, width int) (state, now string) {
	if l.record.Status.Closed() {
		why := string(l.record.StopReason)
		if l.record.StopReason == agent.StopEndTurn || why == string(l.record.Status) {
			why = ""
		}
		return string(l.record.Status), terminal.CleanLine(cmp.Or(l.record.Error, strings.ReplaceAll(why, "_", " ")))
	}
	if a, waits := m.approvalOf(l.name); waits {
		return "needs you", toolIn(terminal.CleanLine(a.Tool), width-1) + "?"
	}
	if o, waits := m.outageOf(l.name); waits && o.Starting() {
		return "waiting", terminal.CleanLine(o.Provider) + " starts"
	} else if waits {
		return "waiting", fmt.Sprintf("retry %s · %s", m.in(o.Next), terminal.CleanLine(cmp.Or(o.Provider, o.Model)))
	}
	switch {
	case l.live.Text != "":
		return "writing", lastWords(l.live.Text)
	case l.live.Thinking != "":
		return "thinking", lastWords(l.live.Thinking)
	case len(l.calls) == 1:
		return "tool call", toolIn(l.calls[0].name, width) + " " + l.calls[0].with
	case len(l.calls) > 1:
		return "tool calls", fmt.Sprintf("%d · %s …", len(l.calls), toolIn(l.calls[0].name, width-len("9 ·  …")))
	case m.finished(l):
		return "done", ""
	case l.spoke:
		return "awaiting", terminal.Count(m.atWorkFor(l), "sub-agent")
	case m.paused():
		return "paused", ""
	case l.record.Status == agent.StatusRunning || l.record.Status == "":
		asked := terminal.CleanLine(l.record.Model)
		if !l.since.IsZero() {
			asked = strings.TrimLeft(asked+" "+short(m.now.Sub(l.since)), " ")
		}
		return "model call", asked
	}
	return strings.ReplaceAll(string(l.record.Status), "_", " "), ""
}

// finished reports whether an agent has given its last reply, even if its record does not say so yet. A further message, or a further
// reply that arrives, makes it continue.
func (m *Model) finished(l *lane) bool {
	return l.record.Status.Closed() || l.spoke && l.live.Execution == "" && m.atWorkFor(l) == 0
}

// atWorkFor counts the running agents that an agent has dispatched.
func (m *Model) atWorkFor(l *lane) (n int) {
	for _, other := range m.lanes {
		below, dispatched := strings.CutPrefix(other.name, l.name+"/")
		if dispatched && !strings.Contains(below, "/") && !other.record.Status.Closed() {
			n++
		}
	}
	return n
}

// tailBytes is how much of a growing text lastWords looks at.
const tailBytes = 400

// lastWords returns the end of a growing text.
func lastWords(text string) string {
	if n := len(text) - tailBytes; n > 0 {
		text = strings.ToValidUTF8(text[n:], "")
		if _, rest, ok := strings.Cut(text, " "); ok {
			text = rest
		}
	}
	return "…" + terminal.CleanLine(text)
}

// in formats the time left until at.
func (k *known) in(at time.Time) string {
	left := at.Sub(k.now)
	if left <= 0 {
		return "now"
	}
	return "in " + short(left)
}

// short formats a duration in at most six characters.
func short(d time.Duration) string {
	d = max(d, 0).Truncate(time.Second)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 100*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd", int(d.Hours())/24)
}

// tokens formats a count in at most six characters.
func tokens(n int) string {
	switch {
	case n == 0:
		return "-"
	case n < 10_000:
		return fmt.Sprint(n)
	case n < 1_000_000:
		return fmt.Sprintf("%.1fk", float64(n)/1000)
	}
	return fmt.Sprintf("%.1fM", float64(n)/1_000_000)
}

// elapsed is how long an agent has been running.
func (m *Model) elapsed(l *lane) string {
	switch {
	case l.record.StartedAt.IsZero():
		return ""
	case l.record.EndedAt != nil:
		return short(l.record.EndedAt.Sub(l.record.StartedAt))
	case m.finished(l) && !l.since.IsZero():
		return short(l.since.Sub(l.record.StartedAt))
	}
	return short(m.now.Sub(l.record.StartedAt))
}
