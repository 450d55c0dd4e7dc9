package job

import (
	"cmp"
	"fmt"
	"sync"

	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/plan"
)

// Window is how much of a conversation a model's server accepts, as its refusals show. The zero value means that it has refused
// nothing.
type Window struct {
	// Tokens is the context window, as the server counts it.
	Tokens int
	// Ratio is the server's count of a request divided by ours, at least 1. Zero means 1.
	Ratio float64
	// Named means that the server named the number. Otherwise Tokens is a guess that it accepted.
	Named bool
}

// Room returns how many tokens the window has by our count; zero if it is unknown.
func (w Window) Room() int { return int(float64(w.Tokens) / max(w.Ratio, 1)) }

// Reply returns how many tokens a reply may have if a request asks for at most limit: no more than a quarter of the window, because
// many servers refuse a request whose prompt and reply together may exceed it.
func (w Window) Reply(limit int) int {
	if w.Tokens == 0 {
		return limit
	}
	return min(limit, w.Room()/4)
}

// String says how the window is known, for a notice.
func (w Window) String() string {
	if w.Named {
		return fmt.Sprintf("the server accepts %d tokens", w.Tokens)
	}
	return fmt.Sprintf("the server refused a longer one without naming its limit, and accepts %d tokens", w.Tokens)
}

// leastGuess is the smallest window that is tried if a server does not name its own.
const leastGuess = 1000 // tokens

// Narrower returns a window that is smaller than w after a refusal of a request that took sent tokens by our count, out of room, and
// asked for a reply of at most reply tokens. ok is false if the refusal had another reason, or if nothing smaller is left to try.
func (w Window) Narrower(refused llm.Error, sent, room, reply int) (_ Window, ok bool) {
	if refused.Kind != llm.ErrContextTooLong {
		return w, false
	}
	room = cmp.Or(w.Room(), room)
	next := Window{Tokens: refused.Window, Ratio: float64(refused.Prompt) / float64(max(sent, 1)), Named: true}
	if next.Tokens > 0 && (next.Room() < room || next.Reply(reply) < w.Reply(reply)) {
		return next, true
	}
	next = Window{Tokens: sent / 2}
	return next, next.Tokens >= leastGuess && next.Tokens < room
}

// windows holds the windows of models whose servers have refused a request as too long, for the worker's lifetime.
type windows struct{ known sync.Map } // keys: windowOf; values: Window

type windowOf struct{ provider, model string }

// Of returns the window of a provider's model; zero if it is unknown.
func (w *windows) Of(p plan.Provider) Window {
	known, _ := w.known.Load(windowOf{p.Name, p.Model})
	window, _ := known.(Window)
	return window
}

// Learn records a window in which the server has accepted a request.
func (w *windows) Learn(p plan.Provider, window Window) {
	w.known.Store(windowOf{p.Name, p.Model}, window)
}
