// Package eval judges configurations by finished investigations. A case holds the request of one, a tape of its tools and replies, and
// what is expected of a run. A run gets its tool results from the tape. The package knows nothing of Temporal, a store or a model.
package eval

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/artifact"
	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/kit/reveal"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// Tape is the recorded part of an investigation: the tools that its servers listed, the replies of its models, and the results of its
// tool calls. Everything on it is masked as in the store.
type Tape struct {
	// StartedAt is when the investigation began.
	StartedAt time.Time
	Servers   []tool.Catalogue
	Replies   []Reply
	Results   []Result
}

// At is a place in an investigation.
type At struct {
	Agent     string `json:"agent"`     // the execution: "<stage>/<agent>"
	Iteration int    `json:"iteration"` // from 1
}

// Reply is the reply of a model.
type Reply struct {
	At
	Text     string `json:"text,omitempty"`
	Thinking string `json:"thinking,omitempty"`
	Calls    []Call `json:"calls,omitempty"`
	// Finish is why the model stopped. Empty means that it was done, or asked for tools.
	Finish string `json:"finish,omitempty"`
	// ActionsExecuted is the YES or NO at the end of an action agent's reply.
	ActionsExecuted *bool `json:"actions_executed,omitempty"`

	row int64 // number of the entry; 0 in a file
}

// Call is a tool call as the model wrote it, even if a person changed its arguments.
type Call struct {
	Tool string `json:"tool"`
	// Arguments are JSON, or a JSON string with a text that is not a JSON object.
	Arguments json.RawMessage `json:"arguments"`
}

// Result is the result of a tool call.
type Result struct {
	At
	N int `json:"n"` // of the call in its reply, from 0
	Call
	Status    string `json:"status"`
	ErrorType string `json:"error_type,omitempty"`
	agent.Fault
	Text string `json:"text"` // in full
	// Summary replaced the text for the model, if the text was too large.
	Summary   string          `json:"summary,omitempty"`
	Artifacts []tool.Artifact `json:"artifacts,omitempty"`

	row  int64
	blob string // the hash of the whole text, if the text is only its beginning
}

// line is a line of a tape's file: one of these.
type line struct {
	Header *header         `json:"tape,omitempty"`
	Server *tool.Catalogue `json:"server,omitempty"`
	Reply  *Reply          `json:"reply,omitempty"`
	Result *Result         `json:"result,omitempty"`
}

// header is the first line of a tape's file.
type header struct {
	Version   int       `json:"version"`
	StartedAt time.Time `json:"started_at,omitzero"`
}

// version is the version of the format of tapes and results. Newer ones are refused.
const version = 1

// Record makes a tape of an investigation's entries. catalogues are those of all its executions, and blobs has what the entries refer to.
func Record(ctx context.Context, entries []transcript.Entry, catalogues []tool.Catalogue, blobs artifact.Blobs) (t Tape, err error) {
	for _, c := range catalogues {
		known := func(other tool.Catalogue) bool { return other.Server == c.Server }
		if n := slices.IndexFunc(t.Servers, known); n < 0 {
			t.Servers = append(t.Servers, tool.Catalogue{Server: c.Server, Tools: c.Tools, Error: c.Error, Partial: c.Partial})
		} else if t.Servers[n].Error != "" { // a server may be missing at first
			t.Servers[n].Tools, t.Servers[n].Error, t.Servers[n].Partial = c.Tools, c.Error, c.Partial
		}
	}
	slices.SortFunc(t.Servers, func(a, b tool.Catalogue) int { return cmp.Compare(a.Server, b.Server) })
	for _, e := range entries {
		if e.Superseded {
			continue
		}
		switch e.Kind {
		case transcript.KindReply:
			if e.Provider != "" { // written by a model
				t.Replies = append(t.Replies, replyOf(e))
			}
		case transcript.KindResult:
			r, err := resultOf(ctx, e, blobs)
			if err != nil {
				return t, err
			}
			if n := slices.IndexFunc(t.Replies, func(asks Reply) bool { return asks.At == r.At }); n >= 0 && r.N < len(t.Replies[n].Calls) {
				r.Call = t.Replies[n].Calls[r.N]
			}
			t.Results = append(t.Results, r)
		case transcript.KindSummary:
			for n, r := range t.Results {
				if r.At == at(e) && r.N == e.CallIndex() {
					t.Results[n].Summary = e.Text
				}
			}
		}
	}
	slices.SortStableFunc(t.Replies, func(a, b Reply) int { return a.compare(b.At) })
	slices.SortStableFunc(t.Results, func(a, b Result) int { return cmp.Or(a.compare(b.At), cmp.Compare(a.N, b.N)) })
	return t, nil
}

func at(e transcript.Entry) At { return At{e.Execution, e.Iteration} }

func (a At) compare(b At) int {
	return cmp.Or(cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.Iteration, b.Iteration))
}

func replyOf(e transcript.Entry) Reply {
	r := Reply{At: at(e), Text: e.OwnText(), Thinking: e.Thinking, Finish: e.Finish, ActionsExecuted: e.ActionsExecuted, row: e.Seq}
	if f := llm.Finish(e.Finish); f == llm.FinishStop || f == llm.FinishToolCalls {
		r.Finish = ""
	}
	for _, c := range e.Calls {
		r.Calls = append(r.Calls, callOf(c))
	}
	return r
}

func callOf(c transcript.Call) Call {
	args, err := tool.Canonical(c.Arguments)
	if err != nil {
		args, _ = json.Marshal(c.Arguments) // a string can always be written
	}
	return Call{c.Name, args}
}

// canonical returns the call with its arguments in the form in which they are compared.
func (c Call) canonical() Call {
	if args, err := tool.Canonical(string(c.Arguments)); err == nil {
		c.Arguments = args
	}
	return c
}

// written returns the arguments in the form in which a model writes them.
func (c Call) written() string {
	var text string
	if json.Unmarshal(c.Arguments, &text) == nil {
		return text
	}
	return string(c.Arguments)
}

func (c Call) key() string { return c.Tool + " " + string(c.Arguments) }

// shown returns the call in one line for people.
func (c Call) shown() string { return oneLine(c.key()) }

// maxShown limits the texts of models and tools in messages, in characters.
const maxShown = 200

// oneLine returns a text of a model or a tool as one short line.
func oneLine(text string) string {
	return clip.Line(strings.Join(strings.Fields(reveal.Unseen(text)), " "), maxShown)
}

// shortResult returns a result without what is not in the entry.
func shortResult(e transcript.Entry) Result {
	return Result{
		At: at(e), N: e.CallIndex(), Call: callOf(*e.Call), Status: e.Status, ErrorType: e.ErrorType, Fault: e.Fault,
		Text: transcript.WithoutImageNotes(e.Text), blob: e.Blob, row: e.Seq, // a run adds the notes for its own model
	}
}

func resultOf(ctx context.Context, e transcript.Entry, blobs artifact.Blobs) (Result, error) {
	r := shortResult(e)
	if r.blob != "" {
		text, err := blobs.Blob(ctx, r.blob)
		if err != nil {
			return r, fmt.Errorf("the result of %s in row %d: %w", e.Call.Name, e.Seq, err)
		}
		r.Text, r.blob = transcript.WithoutImageNotes(string(text)), ""
	}
	for _, hash := range e.Artifacts {
		a, err := artifact.Load(ctx, blobs, hash)
		if err != nil {
			return r, fmt.Errorf("an artifact of %s in row %d: %w", e.Call.Name, e.Seq, err)
		}
		r.Artifacts = append(r.Artifacts, a)
	}
	return r, nil
}

// lines returns the tape's lines: the header, the servers, then the replies and results in order of their places, each reply before the
// results of its calls.
func (t Tape) lines() []line {
	out := []line{{Header: &header{version, t.StartedAt}}}
	for n := range t.Servers {
		out = append(out, line{Server: &t.Servers[n]})
	}
	rest := t.Results // some have no reply: the calls of a tool plan, which no model asks for
	for n, r := range t.Replies {
		for ; len(rest) > 0 && rest[0].compare(r.At) < 0; rest = rest[1:] {
			out = append(out, line{Result: &rest[0]})
		}
		out = append(out, line{Reply: &t.Replies[n]})
	}
	for n := range rest {
		out = append(out, line{Result: &rest[n]})
	}
	return out
}

// Encode writes the tape as JSON, one server, reply or result per line.
func (t Tape) Encode() ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	for _, l := range t.lines() {
		if err := enc.Encode(l); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}

// DecodeTape reads what Encode wrote. Its errors name the line.
func DecodeTape(text []byte) (t Tape, err error) {
	var problems []error
	n := 0
	for row := range bytes.Lines(text) {
		n++
		if len(bytes.TrimSpace(row)) == 0 {
			continue
		}
		var l line
		dec := json.NewDecoder(bytes.NewReader(row))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&l); err != nil {
			problems = append(problems, fmt.Errorf("line %d: %w", n, err))
			continue
		}
		set := 0
		if h := l.Header; h != nil {
			t.StartedAt, set = h.StartedAt, set+1
			if h.Version > version {
				return t, fmt.Errorf("it has version %d, and this program knows version %d: use a newer release", h.Version, version)
			}
		}
		if l.Server != nil {
			t.Servers, set = append(t.Servers, *l.Server), set+1
		}
		if l.Reply != nil {
			for n, c := range l.Reply.Calls {
				l.Reply.Calls[n] = c.canonical()
			}
			t.Replies, set = append(t.Replies, *l.Reply), set+1
		}
		if l.Result != nil {
			l.Result.Call = l.Result.canonical()
			t.Results, set = append(t.Results, *l.Result), set+1
		}
		if set != 1 || dec.More() {
			problems = append(problems, fmt.Errorf(`line %d: expected one of "tape", "server", "reply" and "result"`, n))
		}
	}
	return t, errors.Join(problems...)
}
