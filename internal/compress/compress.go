// Package compress makes a conversation fit a model's context window. It creates a view: stored entries never change. It is pure
// and deterministic: no I/O, no model call, the same result every time.
package compress

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/inquest-dev/inquest/internal/agent"
)

// The strategies that can be requested.
const (
	// Summarize and Window replace the older part with a summary of its questions. If there is no older part, there is nothing to
	// summarize, and both act as Truncate.
	Summarize = "summarize"
	Window    = "window"
	// Truncate leaves the older part out.
	Truncate = "truncate"
)

// The strategies that occur only in a Result.
const (
	None           = "none"            // it fits unchanged
	ShortenResults = "shorten_results" // shortening tool results was enough
)

// ErrContextTooLong means that the conversation cannot fit: its system text alone is too long, or the window is too small for even
// a few markers.
var ErrContextTooLong = errors.New("context too long")

// Options describe the context window and the ways to fit a conversation into it.
type Options struct {
	Enabled bool
	// MaxTokens is the window in tokens. The schemas of tools take ToolTokens of it.
	MaxTokens  int
	ToolTokens int
	// Threshold is the fraction of the window from which a conversation is compressed: 0 < x ≤ 1.
	Threshold float64
	// KeepRecent is how many messages at the end stay unchanged; 0 means none.
	KeepRecent int
	// Strategy is Summarize, Truncate or Window; empty means Window.
	Strategy string
	// ShortenResultsFirst is for investigations: the oldest tool results are shortened before a strategy leaves anything out, the
	// task always stays, and omitted parts are named.
	ShortenResultsFirst bool
	// Steady is for conversations that are sent again after every reply, to providers that cache the beginning of a request.
	// Messages that were sent once stay unchanged until there is no room.
	Steady bool
	// Count estimates the tokens of a conversation. It must be additive: the contribution of a message must not depend on the
	// others (as with token.Messages).
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

// Validate returns all problems of the settings.
func (o Options) Validate() error {
	var errs []error
	if o.MaxTokens < 1 {
		errs = append(errs, errors.New("max_context_tokens must be at least 1"))
	}
	if !(o.Threshold > 0 && o.Threshold <= 1) { // also refuses NaN
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

// View returns the conversation in the form to send to a model. It is unchanged up to MaxTokens × Threshold, and otherwise takes
// less than that and less than nine tenths of MaxTokens. System messages stay word for word, and a call and its results are kept or
// left out together. View does not change msgs and returns a new slice.
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

// limit is the maximum number of tokens of a compressed view's messages.
func (o Options) limit() int {
	target := min(float64(o.MaxTokens)*0.9, o.threshold())
	return int(math.Ceil(target)) - 1 - o.ToolTokens
}
