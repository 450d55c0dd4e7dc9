// Package compress makes a conversation fit a model's context window. It makes
// a view: what is stored never changes. It is pure and deterministic: no I/O,
// no model call, the same answer every time.
package compress

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/inquest-dev/inquest/internal/agent"
)

// The strategies that can be asked for.
const (
	// Summarize and Window replace the older part by a summary of its questions.
	// Where nothing is older than what is kept, there is nothing to sum up, and
	// both are Truncate.
	Summarize = "summarize"
	Window    = "window"
	// Truncate leaves the older part out.
	Truncate = "truncate"
)

// The strategies that only a Result names.
const (
	None           = "none"            // it fits as it is
	ShortenResults = "shorten_results" // shortening tool results was enough
)

// ErrContextTooLong: the conversation cannot be made to fit, because its system
// text alone is too long, or the window is too small for even a few markers.
var ErrContextTooLong = errors.New("context too long")

// Options say what a conversation has to fit into.
type Options struct {
	Enabled bool
	// MaxTokens is the window, in tokens; ToolTokens of it are taken by the
	// schemas of tools.
	MaxTokens  int
	ToolTokens int
	// Threshold is the part of the window from which a conversation is compressed: 0 < x ≤ 1.
	Threshold float64
	// KeepRecent is how many messages at the end stay as they are; 0 = none.
	KeepRecent int
	// Strategy is Summarize, Truncate or Window; "" is Window.
	Strategy string
	// ShortenResultsFirst is for investigations: the oldest tool results are
	// shortened before a strategy leaves anything out, the task always stays, and
	// what is left out is named.
	ShortenResultsFirst bool
	// Steady is for conversations that are sent again after every reply, to providers that
	// remember how a request began: what was sent once stays as it was until there is no room.
	Steady bool
	// Count estimates the tokens of a conversation. It must be additive: what a
	// message adds must not depend on the others (as with token.Messages).
	Count func([]agent.Message) int
}

// Result is a view of a conversation.
type Result struct {
	Messages   []agent.Message
	Original   int     // tokens, without those of tools
	Compressed int     // tokens, without those of tools
	Ratio      float64 // Compressed/Original; 1.0 if untouched
	Strategy   string
}

// Validate returns all that is wrong with the settings.
func (o Options) Validate() error {
	var errs []error
	if o.MaxTokens < 1 {
		errs = append(errs, errors.New("max_context_tokens must be at least 1"))
	}
	if !(o.Threshold > 0 && o.Threshold <= 1) { // refuses NaN too
		errs = append(errs, errors.New("compression_threshold must be between 0 and 1"))
	}
	if o.KeepRecent < 0 {
		errs = append(errs, errors.New("keep_recent_messages must be non-negative"))
	}
	if !slices.Contains([]string{"", Summarize, Truncate, Window}, o.Strategy) {
		errs = append(errs, fmt.Errorf("strategy must be 'summarize', 'truncate' or 'window', not %q", o.Strategy))
	}
	return errors.Join(errs...)
}

// View returns the conversation as a model should be sent it: as it is while it
// takes no more than MaxTokens × Threshold, else less than that and less than
// nine tenths of MaxTokens. System messages are kept word for word, and a call
// and its results are kept or left out together. The messages passed in are not
// changed, and the slice returned is a new one.
func View(msgs []agent.Message, opts Options) (Result, error) {
	if opts.Count == nil {
		return Result{}, errors.New("compress: no way to count tokens")
	}
	if opts.Enabled {
		if err := opts.Validate(); err != nil {
			return Result{}, err
		}
	}
	c := newConversation(msgs, opts)
	total := c.total(c.parts)
	if !opts.Enabled || float64(total+opts.ToolTokens) <= opts.threshold() {
		return Result{Messages: slices.Clone(msgs), Original: total, Compressed: total, Ratio: 1, Strategy: None}, nil
	}
	view := c.once
	if opts.Steady {
		view = c.inSteps
	}
	parts, strategy, err := view()
	if err != nil {
		return Result{}, err
	}
	result := Result{Messages: messages(parts), Original: total, Compressed: c.total(parts), Strategy: strategy}
	result.Ratio = float64(result.Compressed) / float64(total)
	return result, nil
}

func (o Options) threshold() float64 { return float64(o.MaxTokens) * o.Threshold }

// limit is the most tokens that the messages of a compressed view may take.
func (o Options) limit() int {
	target := min(float64(o.MaxTokens)*0.9, o.threshold())
	return int(math.Ceil(target)) - 1 - o.ToolTokens
}
