// Package transcript is the append-only log of an execution: messages to a model, its thinking, replies, calls, results and errors.
// It is both a journal (rows are written once and never change) and the timeline that people watch.
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

// Kind is the kind of an entry.
type Kind string

// The kinds of entries.
const (
	KindSystem   Kind = "system"   // the system prompt of an execution
	KindUser     Kind = "user"     // the task, guidance, a nudge
	KindMemory   Kind = "memory"   // an agent's core memory after a change that the model has not been shown
	KindReply    Kind = "reply"    // a model's complete reply: thinking, text, calls
	KindCall     Kind = "call"     // the intent to call a tool, written before the call
	KindResult   Kind = "result"   // the outcome of a call
	KindSummary  Kind = "summary"  // replaces a large result for the model
	KindTry      Kind = "try"      // a failed model call; the workflow decides on a retry
	KindFallback Kind = "fallback" // a provider failed and the next one takes over
	KindNotice   Kind = "notice"   // information for people, not for the model
)

// Scope is the owner of an entry: one execution of one investigation.
type Scope struct {
	Investigation string `json:"investigation"`
	Execution     string `json:"execution"` // "<stage>/<agent>"
}

// Key identifies an entry within its scope. It is derived from the position of the workflow, never from a provider's call ID,
// because those repeat.
type Key struct {
	Iteration int `json:"iteration"` // from 1
	Position  int `json:"position"`
}

// Compare orders keys as in the log.
func (k Key) Compare(other Key) int {
	return cmp.Or(cmp.Compare(k.Iteration, other.Iteration), cmp.Compare(k.Position, other.Position))
}

// callBase is the first position of tool calls. Lower positions belong to the model call. A call has rowsPerCall positions: its
// intent, its result, and the result's summary.
const (
	callBase    = 1 << 20
	rowsPerCall = 3
)

// TryKey is the key of an iteration's n-th failed model call (from 1). It precedes the iteration's other rows, which are written
// with its reply.
func TryKey(iteration, n int) Key { return Key{iteration, 2*n - callBase} }

// HopKey is the key of the entry about the change of provider after the n-th model call.
func HopKey(iteration, n int) Key { return Key{iteration, 2*n + 1 - callBase} }

// CallKey is the key of the intent of an iteration's n-th call (from 0).
func CallKey(iteration, n int) Key { return Key{iteration, callBase + rowsPerCall*n} }

// ResultKey is the key of the result of an iteration's n-th call (from 0).
func ResultKey(iteration, n int) Key { return Key{iteration, callBase + rowsPerCall*n + 1} }

// SummaryKey is the key of the summary of the result of an iteration's n-th call (from 0).
func SummaryKey(iteration, n int) Key { return Key{iteration, callBase + rowsPerCall*n + 2} }

// lateBase is the first position of late notices, one for each call.
const lateBase = 1 << 30

// LateKey is the key of the notice about the late answer to an iteration's n-th call (from 0).
func LateKey(iteration, n int) Key { return Key{iteration, lateBase + n} }

// CallIndex is the n of CallKey, ResultKey, SummaryKey or LateKey; -1 for an entry of a model call.
func (k Key) CallIndex() int {
	switch {
	case k.Position < callBase:
		return -1
	case k.Position >= lateBase:
		return k.Position - lateBase
	}
	return (k.Position - callBase) / rowsPerCall
}

// Until is the position up to which an iteration must be rewritten together with the entry at k: for a call, its own entries; for a
// model call, the whole iteration.
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
	// Seq numbers the entries of an investigation from 1 without gaps. It is the cursor of every stream.
	Seq  int64     `json:"seq"`
	Kind Kind      `json:"kind"`
	At   time.Time `json:"at"`
	// Writer is the activity that wrote the entry. Entries of different runs at the same key mean that Temporal was reset.
	Writer     Writer `json:"writer"`
	Superseded bool   `json:"superseded,omitempty"`
	Body
}

// Mark identifies an entry of an investigation permanently. A store that was restored from a backup may reuse the number, but not
// with the same microsecond.
type Mark struct {
	Seq int64
	At  int64 // in microseconds since 1970
}

// MarshalText encodes a mark for histories, where each step has some: both numbers in base 36.
func (m Mark) MarshalText() ([]byte, error) {
	return []byte(strconv.FormatInt(m.Seq, markBase) + "." + strconv.FormatInt(m.At, markBase)), nil
}

// UnmarshalText decodes the result of MarshalText.
func (m *Mark) UnmarshalText(text []byte) error {
	seq, at, _ := strings.Cut(string(text), ".")
	var errs [2]error
	m.Seq, errs[0] = strconv.ParseInt(seq, markBase, 64)
	m.At, errs[1] = strconv.ParseInt(at, markBase, 64)
	return errors.Join(errs[:]...)
}

const markBase = 36

// Mark returns the mark of a stored entry, or the zero mark if the entry is not stored.
func (e Entry) Mark() Mark {
	if e.Seq == 0 {
		return Mark{}
	}
	return Mark{e.Seq, e.At.UnixMicro()}
}

// Writer names the workflow run and the activity attempt that wrote an entry.
type Writer struct {
	RunID      string `json:"run_id"`
	ActivityID string `json:"activity_id"` // "<id>/<attempt>"
}

// Body is the content of an entry: fields of several kinds, and the parts that only some kinds have. The store keeps it as one flat
// JSON object, in this order.
type Body struct {
	Text     string `json:"text,omitempty"`
	Thinking string `json:"thinking,omitempty"` // of a reply
	Said
	// Calls are the calls that a reply asks for, each with its data from the catalogue.
	Calls []Call `json:"calls,omitempty"`
	// Call is the call of an intent, a result or a summary.
	Call *Call `json:"call,omitempty"`
	// Status is how a call ended. ErrorType is the error of the call, the model call, or the summary. A summary with an error is
	// only the beginning of the result.
	Status    string `json:"status,omitempty"`
	ErrorType string `json:"error_type,omitempty"`
	// ToolSearch of a system prompt means that the agent is offered only its tools of Inquest and those in Found and Calls.
	ToolSearch bool `json:"tool_search,omitempty"`
	// Untrusted lists the sources of untrusted text in the entry, in words.
	Untrusted []string `json:"untrusted,omitempty"`
	// Shared is the number of the same entry of the investigation that this one was forked from; 0 means that it was written here.
	Shared int64 `json:"shared,omitempty"`
	Result
	Answer
	Reply
}

// Said holds the fields of user entries besides the text.
type Said struct {
	By string `json:"by,omitempty"` // the author, in a conversation
	// Mail is the number of the letter that the entry quotes; 0 means none.
	Mail int64 `json:"mail,omitempty"`
}

// Result holds the fields of a call's result. The call's intent has the decision, too.
type Result struct {
	// Pause is for how many minutes the result pauses the agent's heartbeats; 0 means not at all.
	Pause int `json:"pause,omitempty"`
	// Decision is a person's decision on the call, in words, or that person's rule that made a decision unnecessary.
	Decision string `json:"decision,omitempty"`
	// Rule is the ID of that rule; empty means none.
	Rule string `json:"rule,omitempty"`
	// Given names the person who gave the text of a shared result in a fork, instead of the tool. Empty means that it is the tool's.
	Given string `json:"given,omitempty"`
	// Recorded is the result of another investigation that answered a call of its fork, as "<investigation>/<row>". The tool was not
	// called. Empty means that it was.
	Recorded string `json:"recorded,omitempty"`
	// Refused means that the call was not made, because By denied it or the decision timed out.
	Refused bool `json:"refused,omitempty"`
	// Digest is the digest of the call that was decided on: see tool.Decision.
	Digest string `json:"digest,omitempty"`
	// Found are the names of the tools that the call has found, best first. They are offered from the next reply on.
	Found []string `json:"found,omitempty"`
	// Blob names the complete text if it is too large for the entry; Size is its length in bytes.
	Blob string `json:"blob,omitempty"`
	Size int    `json:"size,omitempty"`
	// Artifacts name the blobs of the parts that are not text.
	Artifacts []string `json:"artifacts,omitempty"`
	// Kept describes each artifact, so that it need not be read for that. Older entries have none.
	Kept []Kept `json:"kept,omitempty"`
	// Images are the artifacts that can be sent to models, reduced in size.
	Images []agent.Image `json:"images,omitempty"`
	agent.Fault
}

// Remarks says in words what is special about a result: the decision on the call, who gave the result, or where it was recorded. It is
// empty if the tool was called without a decision.
func (r Result) Remarks() string {
	var all []string
	if r.Decision != "" {
		all = append(all, r.Decision)
	}
	if r.Given != "" {
		all = append(all, "result given by "+r.Given)
	}
	if r.Recorded != "" {
		n := strings.LastIndexByte(r.Recorded, '/')
		all = append(all, "recorded as row "+r.Recorded[n+1:]+" of "+r.Recorded[:max(n, 0)])
	}
	return strings.Join(all, "; ")
}

// Kept describes an artifact without its content.
type Kept struct {
	Name     string `json:"name,omitempty"`
	MIMEType string `json:"mime_type,omitempty"`
	Size     int    `json:"size"` // in bytes
}

// Answer is the outcome of a model call for a reply or a summary: why it stopped, which model answered, and its usage. A try has
// the model that was called and the usage that it may have caused. A result has only the time.
type Answer struct {
	Finish   string       `json:"finish,omitempty"`
	Provider string       `json:"provider,omitempty"`
	Model    string       `json:"model,omitempty"`
	Usage    *agent.Usage `json:"usage,omitempty"`
	// ElapsedMS is how long the call took, in milliseconds: of a model, or of a tool with its result. Zero means less than one, or
	// unknown, as in rows of v0.1.
	ElapsedMS int64 `json:"elapsed_ms,omitempty"`
}

// Reply holds the fields of replies only.
type Reply struct {
	// SummaryUsage is the total usage of the summaries that were made for the reply. Each summary also has its own Usage.
	// Compression says how the view was made to fit.
	SummaryUsage  *agent.Usage    `json:"summary_usage,omitempty"`
	Compression   *Compression    `json:"compression,omitempty"`
	ProviderState json.RawMessage `json:"provider_state,omitempty"`
	// Own is the length of the model's own text in bytes, if its provider's sources follow; 0 means the whole text.
	Own int `json:"own,omitempty"`
	// Invalid says how the reply violates the agent's contract.
	Invalid string `json:"invalid,omitempty"`
	// ActionsExecuted is the YES or NO at the end of an action agent's last reply.
	ActionsExecuted *bool `json:"actions_executed,omitempty"`
	// NoReport says why the text is no report, although there are no calls; an empty string means that it may be one.
	NoReport NoReport `json:"no_report,omitempty"`
	// Forced means that the reply was requested without tools, at the limit or on conclude.
	Forced bool `json:"forced,omitempty"`
}

// NoReport is why the text of a reply is not a report.
type NoReport string

// The reasons.
const (
	OnlyCall     NoReport = "the text of a tool call"
	OnlyThoughts NoReport = "only thoughts"
	// OnlyWithheld is about a reply with calls that was requested without tools.
	OnlyWithheld NoReport = "a request for tools that were no longer available"
)

// Call is a tool call in the log.
type Call struct {
	ID        string     `json:"id"` // unique within the execution
	Name      string     `json:"name"`
	Arguments string     `json:"arguments"`
	Risk      agent.Risk `json:"risk,omitempty"`
	Class     string     `json:"class,omitempty"` // tool.Idempotency
	Queue     string     `json:"queue,omitempty"`
	// Own means that the tool touches only our own store.
	Own bool `json:"own,omitempty"`
	// Edited names the person who replaced the agent's arguments, in the words for the agent; empty means that they are the
	// agent's.
	Edited string `json:"edited,omitempty"`
	// Respelled says which arguments were respelled for the tool's schema, in the words for the agent.
	Respelled string `json:"respelled,omitempty"`
	// Untrusted lists the sources of untrusted text that the execution had read before it asked for the call. It is not recorded
	// for read-only calls.
	Untrusted []string `json:"untrusted,omitempty"`
	// Repeat is set if the execution had requested the same call before, of a tool whose calls are not safe to repeat.
	Repeat *agent.Repeat `json:"repeat,omitempty"`
	// Step is the step of the plan that the call carries out, in the plan's words. An empty string means that no plan contains the
	// call.
	Step string `json:"step,omitempty"`
}

// Inward reports whether the tool is one of Inquest itself, whose results say nothing new about the systems that an agent investigates.
func (c Call) Inward() bool { return c.Own || agent.Inward(c.Name) }

// Compression records how a conversation was made to fit.
type Compression struct {
	OriginalTokens   int     `json:"original_token_count"`
	CompressedTokens int     `json:"compressed_token_count"`
	Ratio            float64 `json:"compression_ratio"` // compressed/original; 1.0 untouched
	Strategy         string  `json:"strategy_used"`
}
