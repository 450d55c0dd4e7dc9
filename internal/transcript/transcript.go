// Package transcript is the append-only log of an execution: the messages a
// model was sent, its thinking, replies, calls, results and errors. It is a
// journal (what is written once stays) and the timeline that people watch.
package transcript

import (
	"cmp"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
)

// Kind says what an entry is.
type Kind string

// The kinds of entries.
const (
	KindSystem   Kind = "system"   // the system prompt of an execution
	KindUser     Kind = "user"     // the task, guidance, a nudge
	KindMemory   Kind = "memory"   // an agent's core memory as it has become since the model was last shown it
	KindReply    Kind = "reply"    // a model's whole reply: thinking, text, calls
	KindCall     Kind = "call"     // the intent to call a tool, written before the call
	KindResult   Kind = "result"   // what came of a call
	KindSummary  Kind = "summary"  // what a model is shown in place of a large result
	KindTry      Kind = "try"      // a model call that failed; whether another is made is the workflow's to say
	KindFallback Kind = "fallback" // a provider failed, the next one takes over
	KindNotice   Kind = "notice"   // what people should know and the model is not told
)

// Scope is whose entry it is: one execution of one investigation.
type Scope struct {
	Investigation string `json:"investigation"`
	Execution     string `json:"execution"` // "<stage>/<agent>"
}

// Key is the identity of an entry within its scope. It is made from where the
// workflow stands, never from a provider's call id: those repeat.
type Key struct {
	Iteration int `json:"iteration"` // from 1
	Position  int `json:"position"`
}

// Compare orders keys as entries stand in the log.
func (k Key) Compare(other Key) int {
	return cmp.Or(cmp.Compare(k.Iteration, other.Iteration), cmp.Compare(k.Position, other.Position))
}

// callBase is the first position of tool calls; what comes before belongs to the
// model call. A call has rowsPerCall positions: its intent, its result, and the
// result's summary.
const (
	callBase    = 1 << 20
	rowsPerCall = 3
)

// TryKey is the key of an iteration's n-th model call that failed (from 1). It
// comes before the iteration's own rows, which are written with its reply.
func TryKey(iteration, n int) Key { return Key{iteration, 2*n - callBase} }

// HopKey is the key of the entry that says that another provider takes over after the n-th
// model call.
func HopKey(iteration, n int) Key { return Key{iteration, 2*n + 1 - callBase} }

// CallKey is the key of the intent of an iteration's n-th call (from 0).
func CallKey(iteration, n int) Key { return Key{iteration, callBase + rowsPerCall*n} }

// ResultKey is the key of the result of an iteration's n-th call (from 0).
func ResultKey(iteration, n int) Key { return Key{iteration, callBase + rowsPerCall*n + 1} }

// SummaryKey is the key of the summary of the result of an iteration's n-th call (from 0).
func SummaryKey(iteration, n int) Key { return Key{iteration, callBase + rowsPerCall*n + 2} }

// lateBase is the first position of late notes, one for each call.
const lateBase = 1 << 30

// LateKey is the key of the notice about the late answer to an iteration's n-th call (from 0).
func LateKey(iteration, n int) Key { return Key{iteration, lateBase + n} }

// CallIndex is the n that CallKey, ResultKey, SummaryKey or LateKey was made with; -1 for
// a model call's entry.
func (k Key) CallIndex() int {
	switch {
	case k.Position < callBase:
		return -1
	case k.Position >= lateBase:
		return k.Position - lateBase
	}
	return (k.Position - callBase) / rowsPerCall
}

// Until is the position up to which an iteration has to be written anew when the entry at
// k is: for a call its own entries, for a model call the whole iteration.
func (k Key) Until() int {
	if n := k.CallIndex(); n >= 0 && k.Position < lateBase {
		return CallKey(k.Iteration, n+1).Position
	}
	return math.MaxInt32
}

// Entry is one row of the log.
type Entry struct {
	Scope
	Key
	// Seq numbers the entries of an investigation from 1 without gaps: the cursor of every stream.
	Seq  int64     `json:"seq"`
	Kind Kind      `json:"kind"`
	At   time.Time `json:"at"`
	// Writer is the activity that wrote it: entries of another run at the same
	// key mean that Temporal was reset.
	Writer     Writer `json:"writer"`
	Superseded bool   `json:"superseded,omitempty"`
	Body
}

// Mark identifies an entry of an investigation for good. A store that was set back gives the
// number to another entry, but not at the same microsecond.
type Mark struct {
	Seq int64
	At  int64 // in microseconds since 1970
}

// MarshalText writes a mark as histories have it, of which each step has some: both numbers, to the base of 36.
func (m Mark) MarshalText() ([]byte, error) {
	return []byte(strconv.FormatInt(m.Seq, markBase) + "." + strconv.FormatInt(m.At, markBase)), nil
}

// UnmarshalText reads what MarshalText has written.
func (m *Mark) UnmarshalText(text []byte) error {
	seq, at, _ := strings.Cut(string(text), ".")
	var errs [2]error
	m.Seq, errs[0] = strconv.ParseInt(seq, markBase, 64)
	m.At, errs[1] = strconv.ParseInt(at, markBase, 64)
	return errors.Join(errs[:]...)
}

const markBase = 36

// Mark returns the mark of an entry that is stored; the zero mark if it is not.
func (e Entry) Mark() Mark {
	if e.Seq == 0 {
		return Mark{}
	}
	return Mark{e.Seq, e.At.UnixMicro()}
}

// Writer names the workflow run and the attempt of an activity that wrote an entry.
type Writer struct {
	RunID      string `json:"run_id"`
	ActivityID string `json:"activity_id"` // "<id>/<attempt>"
}

// Body is what an entry says: what entries of several kinds have, and the parts that
// belong to some kinds alone. In the store it is one flat JSON object, in this order.
type Body struct {
	Text     string `json:"text,omitempty"`
	Thinking string `json:"thinking,omitempty"` // of a reply
	Said
	// Calls are what a reply asks for, each with what the catalogue says of it.
	Calls []Call `json:"calls,omitempty"`
	// Call is the one that an intent, a result or a summary belongs to.
	Call *Call `json:"call,omitempty"`
	// Status is how a call ended. ErrorType says what failed: the call, the model call, or
	// the summary, which then is no more than the result's beginning.
	Status    string `json:"status,omitempty"`
	ErrorType string `json:"error_type,omitempty"`
	// Untrusted is where text in the entry comes from that nobody vouches for, in words.
	Untrusted []string `json:"untrusted,omitempty"`
	Result
	Answer
	Reply
}

// Said is what an entry of a user says besides its text.
type Said struct {
	By string `json:"by,omitempty"` // who said it, in a conversation
	// Mail is the number of the letter that the entry quotes; 0 = none.
	Mail int64 `json:"mail,omitempty"`
}

// Result is what the result of a call says. The call's intent has the decision, too.
type Result struct {
	// Pause is for how many minutes the result pauses the agent's heartbeats; 0 = not.
	Pause int `json:"pause,omitempty"`
	// Decision is what a person said about the call, in words, or the rule of a person by which it needed nobody's word.
	Decision string `json:"decision,omitempty"`
	// Rule is the id of that rule; "" = none.
	Rule string `json:"rule,omitempty"`
	// Refused: the call was not made, because of the decision of By, or because nobody has decided.
	Refused bool `json:"refused,omitempty"`
	// Digest is that of the call that was decided: see tool.Decision.
	Digest string `json:"digest,omitempty"`
	// Blob names the whole of a text that was too large to stand here; Size is its length in bytes.
	Blob string `json:"blob,omitempty"`
	Size int    `json:"size,omitempty"`
	// Artifacts name blobs of the parts that are not text.
	Artifacts []string `json:"artifacts,omitempty"`
	// Kept says of each of them what it is, so that nobody has to read it for that; none = it was written before.
	Kept []Kept `json:"kept,omitempty"`
	// Images are those among them that models can be sent, made small.
	Images []agent.Image `json:"images,omitempty"`
	agent.Fault
}

// Kept is an artifact without its content.
type Kept struct {
	Name     string `json:"name,omitempty"`
	MIMEType string `json:"mime_type,omitempty"`
	Size     int    `json:"size"` // in bytes
}

// Answer is what came of asking a model, for a reply or a summary: why it stopped, who
// answered, what it took. A try says who was asked, and what that may have taken.
type Answer struct {
	Finish   string       `json:"finish,omitempty"`
	Provider string       `json:"provider,omitempty"`
	Model    string       `json:"model,omitempty"`
	Usage    *agent.Usage `json:"usage,omitempty"`
	// ElapsedMS is how long a call took that failed, in milliseconds.
	ElapsedMS int64 `json:"elapsed_ms,omitempty"`
}

// Reply is what a reply alone has.
type Reply struct {
	// SummaryUsage is what the summaries took that were made for it, each of which has
	// its own Usage. Compression says how the view was made to fit.
	SummaryUsage  *agent.Usage    `json:"summary_usage,omitempty"`
	Compression   *Compression    `json:"compression,omitempty"`
	ProviderState json.RawMessage `json:"provider_state,omitempty"`
	// Own is how much of the text are the model's own words, in bytes, where its provider's sources stand below; 0 = all.
	Own int `json:"own,omitempty"`
	// Invalid says what of the reply is not what the agent's contract asks for.
	Invalid string `json:"invalid,omitempty"`
	// ActionsExecuted is the YES or NO that an action agent's last reply ended with.
	ActionsExecuted *bool `json:"actions_executed,omitempty"`
	// NoReport says why the text is no report, although there are no calls; an empty string means that it may be one.
	NoReport NoReport `json:"no_report,omitempty"`
	// Forced: the reply was asked for without tools, at the limit or on conclude.
	Forced bool `json:"forced,omitempty"`
}

// NoReport is why the text of a reply is no report.
type NoReport string

// The reasons.
const (
	OnlyCall     NoReport = "the text of a tool call"
	OnlyThoughts NoReport = "only thoughts"
)

// Call is a tool call in the log.
type Call struct {
	ID        string     `json:"id"` // unique within the execution
	Name      string     `json:"name"`
	Arguments string     `json:"arguments"`
	Risk      agent.Risk `json:"risk,omitempty"`
	Class     string     `json:"class,omitempty"` // tool.Idempotency
	Queue     string     `json:"queue,omitempty"`
	// Own: the tool touches only our own store.
	Own bool `json:"own,omitempty"`
	// Edited says who has put these arguments in the place of the agent's, as the agent is told; "" = nobody has.
	Edited string `json:"edited,omitempty"`
	// Respelled says which arguments were respelled for the tool's schema, as the agent is told.
	Respelled string `json:"respelled,omitempty"`
	// Untrusted is where untrusted text comes from that the execution had read when it asked for the call. Of calls that
	// only read, nobody keeps it.
	Untrusted []string `json:"untrusted,omitempty"`
	// Step is the step of the plan that the call carries out, in the plan's words. An empty string means that no plan has it.
	Step string `json:"step,omitempty"`
}

// Compression records how a conversation was made to fit.
type Compression struct {
	OriginalTokens   int     `json:"original_token_count"`
	CompressedTokens int     `json:"compressed_token_count"`
	Ratio            float64 `json:"compression_ratio"` // compressed/original; 1.0 untouched
	Strategy         string  `json:"strategy_used"`
}
