package storetest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// mailbox is the mail of one investigation, with helpers for tests.
type mailbox struct {
	Store
	t    *testing.T
	ctx  context.Context
	last map[string]int // iteration of each execution
}

func newMailbox(t *testing.T, s Store) *mailbox {
	return &mailbox{s, t, t.Context(), map[string]int{}}
}

// post posts a run's n-th letter.
func (m *mailbox) post(run string, n int, text, to string, stages ...string) {
	m.t.Helper()
	letter := transcript.Letter{Investigation: scope.Investigation, Ordinal: n, RunID: run, Agent: to, By: "Ada", Text: text, At: at(n)}
	ok(m.t, m.Post(m.ctx, letter, stages))
}

func in(execution string) transcript.Scope {
	return transcript.Scope{Investigation: scope.Investigation, Execution: execution}
}

func words(letters []transcript.Letter) string {
	var out []string
	for _, l := range letters {
		out = append(out, l.Text)
	}
	return strings.Join(out, " ")
}

// reads makes an execution's next model call read its mail, in its first run. It returns the text read and the number of letters
// that are unread afterwards.
func (m *mailbox) reads(execution string) (delivered string, unread int) {
	m.t.Helper()
	m.last[execution]++
	known := must(m.LookupReply(m.ctx, in(execution), m.last[execution], writer(execution)))(m.t)
	letters := must(m.TakeMail(m.ctx, in(execution)))(m.t)
	if known.Unread != len(letters) {
		m.t.Errorf("%s: %d letters are known, and %d are there", execution, known.Unread, len(letters))
	}
	return m.quotes(execution, letters)
}

// quotes appends a reply whose model call was given letters.
func (m *mailbox) quotes(execution string, letters []transcript.Letter) (delivered string, unread int) {
	m.t.Helper()
	step := transcript.Step{Scope: in(execution), Writer: writer(execution)}
	for n, l := range letters {
		quote := row(execution, key(m.last[execution], n))
		quote.Mail = l.Seq
		step.Rows = append(step.Rows, quote)
	}
	step.Rows = append(step.Rows, reply(execution, key(m.last[execution], len(letters)), agent.Usage{}))
	_, unread, err := m.AppendReply(m.ctx, step)
	ok(m.t, err)
	return words(letters), unread
}

// deliver checks which letters an execution's next model call reads.
func (m *mailbox) deliver(execution, want string) {
	m.t.Helper()
	if delivered, unread := m.reads(execution); delivered != want || unread != 0 {
		m.t.Errorf("%s reads %q, and %d letters are unread; want %q", execution, delivered, unread, want)
	}
}

func (m *mailbox) left(want string) {
	m.t.Helper()
	if left := words(must(m.Unread(m.ctx, scope.Investigation))(m.t)); left != want {
		m.t.Errorf("unread is %q, want %q", left, want)
	}
}

func (m *mailbox) ends(stage string) {
	m.t.Helper()
	end := at(9)
	ended := record.Stage{Investigation: scope.Investigation, Name: stage, Status: agent.StatusCompleted, EndedAt: &end}
	ok(m.t, m.SaveStage(m.ctx, ended, nil, nil))
}

func testMail(t *testing.T, open opener) {
	m := newMailbox(t, open())
	m.deliver("s/A", "")
	m.post("r", 1, "all", "", "s")
	m.post("r", 1, "all", "", "s") // an activity retry
	m.post("r", 2, "one", "B")
	m.post("r", 3, "later", "C")
	same(t, "a letter", must(m.TakeMail(m.ctx, in("s/A")))(t), []transcript.Letter{{
		Investigation: scope.Investigation, Seq: 1, Ordinal: 1, RunID: "r", Stage: "s", By: "Ada", Text: "all", At: at(1).UTC(),
	}})
	m.left("all one later")
	m.deliver("s/A", "all")
	m.deliver("s/A", "")
	m.deliver("s/B", "all one")
	m.left("later")
	m.deliver("t/A", "")
	m.deliver("t/B", "") // another execution with that agent name has read it
	m.post("r", 4, "free", "")
	m.deliver("t/C", "later free")
	m.deliver("t/A", "free")
	m.deliver("s/A", "") // it is reserved for the first reader's stage
	m.left("")
	m.post("r", 9, "a\x00b", "")
	m.deliver("u/A", "a\uFFFDb")
	m.newerIsCounted()
	m.tooMuchAtOnce()

	m.post("r", 30, "to all", "", "lead") // sub-agents of the stage get it, too
	m.post("r", 31, "to one of them", "A/L-2", "lead")
	m.deliver("lead/A", "to all")
	m.deliver("lead/A/L-1", "to all")
	m.deliver("lead/A/L-2", "to all to one of them")
	m.left("")
}

// newerIsCounted: letters that arrive during a model call are unread when it ends.
func (m *mailbox) newerIsCounted() {
	m.t.Helper()
	m.post("r", 10, "early", "", "v")
	early := must(m.TakeMail(m.ctx, in("v/A")))(m.t)
	m.post("r", 11, "late", "", "v")
	m.last["v/A"]++
	if delivered, unread := m.quotes("v/A", early); delivered != "early" || unread != 1 {
		m.t.Errorf("told %q, %d unread", delivered, unread)
	}
	second := must(m.LookupReply(m.ctx, in("v/A"), m.last["v/A"], writer("v/A")))(m.t)
	if len(second.Step) != 2 || second.Unread != 1 || second.Step[0].Mail != early[0].Seq {
		m.t.Errorf("looked up again: %+v", second)
	}
	m.deliver("v/A", "late")
}

// tooMuchAtOnce: a model call gets no more letters than fit, but always at least one.
func (m *mailbox) tooMuchAtOnce() {
	m.t.Helper()
	for n := range 3 {
		m.post("r", 20+n, strings.Repeat("x", 40<<10), "", "w")
	}
	for left := range 3 {
		m.last["w/A"]++
		if delivered, unread := m.quotes("w/A", must(m.TakeMail(m.ctx, in("w/A")))(m.t)); len(delivered) != 40<<10 || unread != 2-left {
			m.t.Errorf("told %d bytes, %d unread", len(delivered), unread)
		}
	}
}

// Of stages that run at the same time, exactly one gets a letter without a stage.
func testMailRace(t *testing.T, open opener) {
	m := newMailbox(t, open())
	for n := range 5 {
		m.post("r", n+1, "x", "")
	}
	other := open()
	var all sync.WaitGroup
	var mu sync.Mutex
	taken := map[int64]int{}
	for n := range 8 {
		s, stage := []Store{m.Store, other}[n%2], string(rune('a'+n))
		all.Go(func() {
			for _, execution := range []string{"/A", "/A"} {
				letters, err := s.TakeMail(m.ctx, in(stage+execution))
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				for _, l := range letters {
					taken[l.Seq]++
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	for seq := range int64(5) {
		if taken[seq+1] != 2 { // one execution, which asks twice
			t.Errorf("letter %d was taken %d times", seq+1, taken[seq+1])
		}
	}
}

// After a reset, letters read after it are unread again, and letters posted after it are posted again.
func testMailReset(t *testing.T, open opener) {
	m := newMailbox(t, open())
	m.post("r1", 1, "one", "", "s")
	m.post("r1", 2, "two", "", "s")
	m.deliver("s/A", "one two")
	must(m.LookupReply(m.ctx, in("s/A"), 1, writer("again")))(t) // a reset of the agent to before the call
	m.left("one two")
	if second := words(must(m.TakeMail(m.ctx, in("s/A")))(t)); second != "one two" {
		t.Errorf("after a reset the agent reads %q", second)
	}
	m.post("r2", 2, "two", "", "s") // a reset of the investigation to between the two
	m.left("one two")
	stale := transcript.Letter{Investigation: scope.Investigation, Ordinal: 3, RunID: "r1"}
	if err := m.Post(m.ctx, stale, nil); !errors.Is(err, store.ErrStaleRun) {
		t.Errorf("a letter of the run that was replaced: %v", err)
	}
	m.post("r3", 3, "three", "", "s") // continued as new
	m.left("one two three")
	mine := transcript.Letter{Investigation: scope.Investigation, Source: "s/A", Ordinal: 1, RunID: "again", Text: "mine", Agent: "A"}
	ok(t, m.Post(m.ctx, mine, []string{"s"}))
	m.left("one two three mine")
}

// Letters that a stage leaves unread go to the next one, unless a parallel stage has a copy, too.
func testMailOfStages(t *testing.T, open opener) {
	m := newMailbox(t, open())
	m.post("r", 1, "both", "", "s", "t")
	m.post("r", 2, "only s", "", "s")
	m.post("r", 3, "claimed", "")
	must(m.TakeMail(m.ctx, in("s/A")))(t) // whose model call fails
	m.left("both only s claimed")
	m.ends("s")
	m.left("both only s claimed")
	m.deliver("t/A", "both only s claimed")
	m.left("")

	m.post("r", 4, "two copies", "", "u", "v")
	m.ends("u")
	m.ends("u") // an activity retry
	m.ends("v")
	m.left("two copies")
	m.post("r", 5, "too late", "", "v") // its stage has ended, so it goes to the next one, too
	m.deliver("w/A", "two copies too late")

	m.post("r", 6, "read beside", "", "x", "y")
	m.deliver("x/A", "read beside")
	m.ends("y")
	m.ends("x")
	m.deliver("z/A", "")
	m.left("")

	m.post("r", 7, "running", "", "p")
	running := record.Stage{Investigation: scope.Investigation, Name: "p", Status: agent.StatusRunning}
	ok(t, m.SaveStage(m.ctx, running, nil, nil))
	m.deliver("q/A", "")
	m.deliver("p/A", "running")
}
