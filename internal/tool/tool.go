// Package tool defines the interface to tools: their names, their risk, the decision whether a call is allowed, and the
// results.
package tool

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
)

// Spec describes a tool, as its server or our registry lists it.
type Spec struct {
	// Name is "server.tool", or the bare name of a built-in tool.
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"schema,omitempty"` // JSON schema of the arguments
	Risk        agent.Risk      `json:"risk"`
	// RiskFrom is the origin of Risk. Empty means SourceProgram.
	RiskFrom Source `json:"risk_from,omitempty"`
	// Idempotent means that a call may be repeated although it changes something.
	Idempotent bool `json:"idempotent,omitempty"`
	// Own means that the tool touches only our own store, so it runs where the workflow does.
	Own bool `json:"own,omitempty"`
	// Unusable says why the tool cannot be used: its server's description exceeds a limit.
	Unusable string `json:"unusable,omitempty"`
}

// Definition returns a hash of the tool's description. It changes if the server describes the tool differently.
func (s Spec) Definition() string {
	text, _ := json.Marshal([]any{s.Name, s.Description, string(s.Schema), s.Unusable, s.saidRisk()})
	return fmt.Sprintf("%x", sha256.Sum256(text))
}

// saidRisk returns the risk according to the server, and not the configured one. A server that says that a tool writes counts as one that
// does not say it, as in the releases that did not tell these apart: else an upgrade would change the definitions of these tools, so that
// pending approvals and rules would no longer hold.
func (s Spec) saidRisk() string {
	risk, from := "configured", s.RiskFrom
	if s.Risk == agent.RiskWrite && from == SourceAnnotation {
		from = SourceDefault
	}
	if from != SourceConfiguration {
		risk = fmt.Sprintf("%s (%s)", shownRisk(s.Risk), from)
	}
	if s.Idempotent {
		risk += ", idempotent"
	}
	return risk
}

// Digest identifies the object of an approval: these arguments of a tool with this definition.
func (d Decision) Digest() string {
	server, own := Split(d.Spec.Name)
	text, _ := json.Marshal([]string{server, own, string(d.Arguments), d.Spec.Definition()})
	return fmt.Sprintf("%x", sha256.Sum256(text))
}

// Catalogue is the list of tools that one server offers to one execution.
type Catalogue struct {
	Server string `json:"server"`
	Tools  []Spec `json:"tools,omitempty"`
	// Error says why the server could not be asked, without quoting it; then there are no tools.
	Error string `json:"error,omitempty"`
	// Words are the server's own error text, masked, for people and never for a model.
	Words string `json:"words,omitempty"`
	// Failure is the error behind Error. It is zero in a catalogue from the store.
	Failure ServerError `json:"-"`
	// Partial says why the server may have more tools, without quoting it. Empty means that the list is complete.
	Partial string `json:"partial,omitempty"`
	// Changed lists the differences from the server's previous description of its tools.
	Changed []string `json:"changed,omitempty"`
	// Recorded means that the server was not asked: these are the tools that it listed for another investigation.
	Recorded bool `json:"recorded,omitempty"`
}

// ServerError is the error of a server that could not be asked for its tools, or for all of them.
type ServerError struct {
	Why  string // without quoting the server
	Away string // the same, if the server may be back soon; otherwise empty
	Err  error  // with the server's own text
	// Partial means that the server listed some of its tools before the error, which were returned with it.
	Partial bool
	// NotStarted means that the operating system could not start the server's process.
	NotStarted bool
	// Pending is how long the server has been starting or, if Running is set, has not answered a request for its tools.
	// It is zero if the request did not fail for lack of time. A server that is no process counts as running. Output is
	// the last line of its standard error.
	Pending time.Duration
	Running bool
	Output  string
}

func (e *ServerError) Error() string { return e.Err.Error() }

// Unwrap returns the error with the server's text.
func (e *ServerError) Unwrap() error { return e.Err }

// Call is one call of a tool.
type Call struct {
	Name      string // "server.tool", or the name of a built-in tool
	Arguments json.RawMessage
	// Written are the arguments as the model or a person wrote them, before they were fitted to the schema and the limits.
	Written string
	// Waived means that a person would have to approve the call if it were made, so it must only be replayed.
	Waived bool
	// Key is the idempotency key <investigation>/<execution>/<iteration>/<position>/<digest>. The digest covers the
	// tool, the arguments and the run whose reply requests the call.
	Key string
	// Session identifies the execution, for servers with state by session.
	Session string
	// Investigation and Execution identify the caller: built-in tools only access their own caller's data.
	Investigation, Execution string
	// Class says whether the request may be sent more than once. Any value except Safe and Idempotent means that it may
	// not.
	Class Idempotency
	// Sent is how many requests of the call earlier attempts may have sent. The result's Sends includes them.
	Sent int
	// Iteration is the iteration of the reply that requests the call. The calls of one reply run in parallel.
	Iteration int
	// Progress receives the progress of the call, if the tool reports any. Nil means that it is not needed.
	Progress func(text string)
	// Fence is called directly before each time the request is sent. If it returns an error, the request must not be
	// sent, and the call returns that error. Nil allows every request.
	Fence func(context.Context) error
	// Ask asks people a question of the tool's server during the call, and waits for their answer. It returns false if
	// they decline, or nobody answers in time. Pause the call's context meanwhile. Nil means that nobody can be asked.
	Ask func(context.Context, Question) (content json.RawMessage, accepted bool)
	// Late receives the answer to an abandoned call after the request was sent, if the answer arrives while the session
	// lives. It runs in a separate goroutine, after Call has returned. Nil means that late answers are not needed.
	Late func(Result)
}

// Question is what a tool's server asks people (MCP elicitation in form mode).
type Question struct {
	Server  string
	Message string
	Schema  json.RawMessage // of the answer: an object of plain values
}

// Repeatable reports whether the request may be sent again after it may have reached the tool.
func (c Call) Repeatable() bool { return c.Class == Safe || c.Class == Idempotent }

// Allowed returns an error if the call's request must not be sent now.
func (c Call) Allowed(ctx context.Context) error {
	if c.Fence == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	return c.Fence(ctx)
}

// Caller lists and runs tools: an MCP pool, or the built-in tools.
type Caller interface {
	// List returns the tools of one server, from all pages. An error that is a Partial *ServerError comes with the tools that the
	// server has listed.
	List(ctx context.Context, server plan.Server, session string) ([]Spec, error)
	// Call runs a tool. Errors of the tool or its server are in the Result. The error is for a ctx that ended, or comes
	// from the call's Fence.
	Call(ctx context.Context, call Call) (Result, error)
}

// Split splits a name into its server and the tool's own name. A built-in tool has no server.
func Split(name string) (server, own string) {
	server, own, ok := strings.Cut(name, ".")
	if !ok {
		return "", name
	}
	return server, own
}

const dot = "__"

// maxWireName is the longest tool name that models accept, in bytes.
const maxWireName = 64

// WireName converts a tool's name to the form for models, which allow only letters, digits, "_" and "-", at most 64
// characters, and no leading digit or "-". The conversion cannot be reversed: Set.Decide looks the tool up among the
// agent's tools.
func WireName(name string) string {
	name = strings.Map(wireRune, strings.ReplaceAll(name, ".", dot))
	if name != "" && strings.ContainsAny(name[:1], "0123456789-") {
		name = "_" + name // Google refuses the others, and outgoing.Name would change it unnoticed
	}
	if len(name) <= maxWireName {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return fmt.Sprintf("%s_%x", name[:maxWireName-9], sum[:4])
}

func wireRune(r rune) rune {
	if r < 128 && (r == '_' || r == '-' || unicode.IsLetter(r) || unicode.IsDigit(r)) {
		return r
	}
	return '_'
}
