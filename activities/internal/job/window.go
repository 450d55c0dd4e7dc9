package job

import (
	"cmp"
	"fmt"
	"sync"
	"time"

	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/plan"
)

// Window is how much of a conversation a model's server accepts, as its refusals show. The zero value means that it has refused
// nothing.
type Window struct {
	// Tokens is the context window, as the server counts it.
	Tokens int
	// Ratio is the server's count of a request divided by ours, from 1 to maxRatio. Zero means 1.
	Ratio float64
	// Named means that the server named the number. Otherwise Tokens is a guess that it accepted.
	Named bool
}

// maxRatio bounds Window.Ratio. No server counts more than four times the tokens that we count, so a higher ratio comes from a number in
// a refusal that is not the size of the prompt, and would cut the conversation too short.
const maxRatio = 4

// Room returns how many tokens of the window, by our count, a request that asks for at most reply tokens can use; zero if the window is
// unknown.
func (w Window) Room(reply int) int {
	return int(float64(max(w.Tokens-w.Reply(reply), 0)) / max(w.Ratio, 1))
}

// Reply returns how many tokens a reply may have if a request asks for at most limit: no more than a quarter of the window, because
// many servers refuse a request whose prompt and reply together may exceed it. Servers count both numbers with their own tokens, so
// Ratio does not matter.
func (w Window) Reply(limit int) int {
	if w.Tokens == 0 {
		return limit
	}
	return min(limit, w.Tokens/4)
}

// String says how the window is known, for a notice.
func (w Window) String() string {
	if w.Named {
		return fmt.Sprintf("the server accepts only %d tokens", w.Tokens)
	}
	return fmt.Sprintf("the server refused a longer conversation without naming its limit, and accepts %d tokens", w.Tokens)
}

// leastGuess is the smallest window that is tried if a server does not name its own.
const leastGuess = 1000 // tokens

// Narrower returns a window that is smaller than w after a refusal of a request that took sent tokens by our count, out of room, and
// asked for a reply of at most reply tokens. ok is false if the refusal had another reason, or if nothing smaller is left to try.
func (w Window) Narrower(refused llm.Error, sent, room, reply int) (_ Window, ok bool) {
	if refused.Kind != llm.ErrContextTooLong {
		return w, false
	}
	room = cmp.Or(w.Room(reply), room)
	ratio := float64(refused.Prompt) / float64(max(sent, 1))
	if refused.Prompt == 0 && refused.Window == w.Tokens { // the server counts more than we do, but does not say how much
		ratio = max(w.Ratio, 1) * 1.5
	}
	next := Window{Tokens: refused.Window, Ratio: min(ratio, maxRatio), Named: true}
	if next.Tokens > 0 && (next.Room(reply) < room || next.Reply(reply) < w.Reply(reply)) {
		return next, true
	}
	next = Window{Tokens: sent / 2}
	return next, next.Tokens >= leastGuess && next.Tokens < room
}

// windowValid is how long a learned window is used. An operator may restart a model server with a larger context, and a request that is
// refused once an hour costs little.
const windowValid = time.Hour

// windows holds the windows of models whose servers have refused a request as too long. It is safe for concurrent use.
type windows struct{ known sync.Map } // keys: windowOf; values: learnedWindow

// windowOf has the address because a provider can move when the configuration is reloaded.
type windowOf struct{ provider, baseURL, model string }

type learnedWindow struct {
	Window
	at time.Time
}

func windowKey(p *plan.Provider) windowOf { return windowOf{p.Name, p.BaseURL, p.Model} }

// Of returns the window of a provider's model; zero if it is unknown.
func (w *windows) Of(p *plan.Provider) Window {
	known, _ := w.known.Load(windowKey(p))
	if learned, ok := known.(learnedWindow); ok && time.Since(learned.at) < windowValid {
		return learned.Window
	}
	return Window{}
}

// Learn records a window in which the server has accepted a request.
func (w *windows) Learn(p *plan.Provider, window Window) {
	w.known.Store(windowKey(p), learnedWindow{window, time.Now()})
}
