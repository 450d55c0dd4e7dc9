// Package tool is how the rest of Inquest sees tools: what they are called,
// what they may do, whether a call is allowed, and what came of it.
package tool

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
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
	// RiskFrom says who set Risk; "" = SourceProgram.
	RiskFrom Source `json:"risk_from,omitempty"`
	// Idempotent: the call may be made again though it changes something.
	Idempotent bool `json:"idempotent,omitempty"`
	// Own: it touches only our own store, so it runs where the workflow does.
	Own bool `json:"own,omitempty"`
	// Unusable says why the tool cannot be used: a limit that what its server says of it is past.
	Unusable string `json:"unusable,omitempty"`
}

// Definition is what the tool is, as a hash: another one means that its server says
// something else of it.
func (s Spec) Definition() string {
	text, _ := json.Marshal([]any{s.Name, s.Description, string(s.Schema), s.Unusable, s.saidRisk()})
	return fmt.Sprintf("%x", sha256.Sum256(text))
}

// saidRisk is what the server says of the risk: not what the configuration does.
func (s Spec) saidRisk() string {
	risk := "configured"
	if s.RiskFrom != SourceConfiguration {
		risk = fmt.Sprintf("%s (%s)", shownRisk(s.Risk), s.RiskFrom)
	}
	if s.Idempotent {
		risk += ", idempotent"
	}
	return risk
}

// Digest is what a person approves: these arguments of a tool that is so defined.
func (d Decision) Digest() string {
	server, own := Split(d.Spec.Name)
	text, _ := json.Marshal([]string{server, own, string(d.Arguments), d.Spec.Definition()})
	return fmt.Sprintf("%x", sha256.Sum256(text))
}

// Catalogue is what one server offers to one execution.
type Catalogue struct {
	Server string `json:"server"`
	Tools  []Spec `json:"tools,omitempty"`
	// Error says why the server could not be asked, in words of ours; then there are no tools.
	Error string `json:"error,omitempty"`
	// Words are the server's own about it, masked: for people, and for no model.
	Words string `json:"words,omitempty"`
	// Away is the Error of a server that may be back soon.
	Away string `json:"-"`
	// Changed says what the server says otherwise than when it was last asked.
	Changed []string `json:"changed,omitempty"`
}

// ServerError is why a server cannot be asked for its tools.
type ServerError struct {
	Why  string // in words of ours
	Away string // the same, if the server may be back soon; else empty
	Err  error  // with the server's own
}

func (e *ServerError) Error() string { return e.Err.Error() }

// Unwrap returns the error with the server's words.
func (e *ServerError) Unwrap() error { return e.Err }

// Call is one call of a tool.
type Call struct {
	Name      string // "server.tool", or a built-in's name
	Arguments json.RawMessage
	// Key is the idempotency key <investigation>/<execution>/<iteration>/<position>/<digest>,
	// of what is called and the run whose reply asks for it.
	Key string
	// Session names the execution, for servers that keep state by session.
	Session string
	// Investigation and Execution say who calls: built-in tools work on their own
	// caller's things alone.
	Investigation, Execution string
	// Class says whether the request may go out more than once. Any value but Safe and Idempotent means that it may not.
	Class Idempotency
	// Iteration is that of the reply that asks for the call; its calls run side by side.
	Iteration int
	// Progress is told how far the call is, if the tool says it; nil = nobody is.
	Progress func(text string)
	// Fence is called directly before the request goes out, each time that it goes out. If it returns an error,
	// the request must not go out, and that error is the call's; nil = every request may.
	Fence func(context.Context) error
	// Ask asks people what the tool's server wants to know while the call is under way, and waits for their answer. It
	// returns false if they decline, or nobody answers in time. The call's own time must stand still meanwhile. Nil means
	// that nobody can be asked.
	Ask func(context.Context, Question) (content json.RawMessage, accepted bool)
	// Late receives the answer to a call that was given up after the request had gone out, if the answer arrives
	// while the session lives. It runs in a goroutine of its own, after Call has returned. Nil means that nobody
	// needs late answers.
	Late func(Result)
}

// Question is what a tool's server asks people (MCP elicitation in form mode).
type Question struct {
	Server  string
	Message string
	Schema  json.RawMessage // of the answer: an object of plain values
}

// Repeatable reports whether the request may go out again after it may have reached the tool.
func (c Call) Repeatable() bool { return c.Class == Safe || c.Class == Idempotent }

// Allowed returns an error if the request of the call must not go out now.
func (c Call) Allowed(ctx context.Context) error {
	if c.Fence == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	return c.Fence(ctx)
}

// Caller lists and runs tools: an MCP pool, or the built-in tools.
type Caller interface {
	// List returns the tools of one server, every page of them.
	List(ctx context.Context, server plan.Server, session string) ([]Spec, error)
	// Call runs a tool. Whatever the tool or its server does wrong is a Result;
	// the error is for a ctx that ended, or that of the call's Fence.
	Call(ctx context.Context, call Call) (Result, error)
}

// Split parts a name into its server and the tool's own name; a built-in has no server.
func Split(name string) (server, own string) {
	server, own, ok := strings.Cut(name, ".")
	if !ok {
		return "", name
	}
	return server, own
}

const dot = "__"

// maxWireName is the longest tool name that models take, in bytes.
const maxWireName = 64

// WireName spells a tool's name for models that allow only letters, digits, "_"
// and "-" in it, and 64 of them, of which the first is no digit and no "-". It
// cannot be undone: Set.Decide finds the tool among those of the agent.
func WireName(name string) string {
	name = strings.Map(wireRune, strings.ReplaceAll(name, ".", dot))
	if name != "" && strings.ContainsAny(name[:1], "0123456789-") {
		name = "_" + name // Google refuses the others, and outgoing.Name would write it so behind the tool's back
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
