package compress

import (
	"fmt"
	"slices"
	"sort"

	"github.com/inquest-dev/inquest/internal/agent"
)

// part is a message with its token count, which is computed once.
type part struct {
	agent.Message
	cost int
	from *part // the original of a shortened part; nil if complete
}

func (p part) whole() part {
	if p.from != nil {
		return *p.from
	}
	return p
}

// conversation is a conversation that must fit into a limit.
type conversation struct {
	Options
	limit int    // maximum tokens of a view
	base  int    // tokens of an empty conversation
	parts []part // all messages, unchanged
	cuts  []int  // possible ends of the older part: see cutsOf
	task  int    // index of an investigation's first user message; -1 means none
}

func newConversation(msgs []agent.Message, opts Options) *conversation {
	c := &conversation{Options: opts, limit: opts.limit(), base: opts.Count(nil), task: -1}
	for _, m := range msgs {
		c.parts = append(c.parts, c.part(m))
	}
	c.cuts = cutsOf(msgs, opts.KeepRecent)
	if opts.ShortenResultsFirst {
		c.task = slices.IndexFunc(c.parts, isUser)
	}
	return c
}

func (c *conversation) part(m agent.Message) part {
	return part{Message: m, cost: c.Count([]agent.Message{m}) - c.base}
}

func (c *conversation) total(parts []part) int {
	total := c.base
	for _, p := range parts {
		total += p.cost
	}
	return total
}

func (c *conversation) fits(parts []part) bool { return c.total(parts) <= c.limit }

// compress returns the mildest view that fits, and its strategy.
func (c *conversation) compress() ([]part, string, error) {
	if err := c.checkSystem(); err != nil {
		return nil, "", err
	}
	for _, limit := range []int{c.goal(), c.limit} {
		if parts, some := c.withoutImages(limit); some && c.total(parts) <= limit {
			return parts, ShortenResults, nil
		}
	}
	if c.ShortenResultsFirst {
		for _, limit := range []int{c.goal(), c.limit} {
			if parts := c.shortenResults(limit); c.total(parts) <= limit {
				return parts, ShortenResults, nil
			}
		}
	}
	if parts, strategy, ok := c.leaveOut(); ok {
		return parts, strategy, nil
	}
	return c.lastResort()
}

// withoutImages leaves out the images of older results, oldest first, until the conversation fits into limit. some reports whether
// there are any.
func (c *conversation) withoutImages(limit int) (parts []part, some bool) {
	parts = slices.Clone(c.parts)
	total := c.total(parts)
	for i := 0; i < c.cuts[0] && total > limit; i++ {
		if len(parts[i].Images) > 0 {
			some = true
			total -= parts[i].cost
			parts[i] = c.part(blind(parts[i].Message))
			total += parts[i].cost
		}
	}
	return parts, some
}

// goal is the limit for shortening results.
func (c *conversation) goal() int {
	if c.Steady {
		return int(float64(c.limit) * step)
	}
	return c.limit
}

func (c *conversation) checkSystem() error {
	system := slices.DeleteFunc(slices.Clone(c.parts), isText)
	if n := c.total(system); n > c.limit {
		return fmt.Errorf("%w: the system text takes %d tokens of %d", ErrContextTooLong, n, max(c.limit, 0))
	}
	return nil
}

// shortenResults shortens the results of the older part, oldest first, until the conversation fits into limit. It shortens recent
// results only if that would be necessary even without the older part.
func (c *conversation) shortenResults(limit int) []part {
	parts := slices.Clone(c.parts)
	total := c.total(parts)
	for i := 0; i < c.cuts[0] && total > limit; i++ {
		if isResult(parts[i]) {
			total -= parts[i].cost
			parts[i] = c.shortenTo(parts[i], oldResult)
			total += parts[i].cost
		}
	}
	if recent, _ := c.layout(c.cuts[0], true); total > c.limit && !c.fits(recent) {
		return c.level(parts, isResult, shortResult)
	}
	return parts
}

// leaveOut leaves the older part out. If the rest is still too long, it shortens the longest results in it, and then keeps fewer
// recent messages, as many as fit.
func (c *conversation) leaveOut() ([]part, string, bool) {
	var parts []part
	var strategy string
	try := func(i int) bool {
		parts, strategy = c.layout(c.cuts[i], true)
		parts = c.level(parts, isResult, shortResult)
		return c.fits(parts)
	}
	if try(0) {
		return parts, strategy, true
	}
	i := sort.Search(len(c.cuts), try)
	return parts, strategy, i < len(c.cuts) && try(i)
}

// lastResort shortens every text except the system's. It first keeps the last turn, and then leaves even that out.
func (c *conversation) lastResort() ([]part, string, error) {
	for _, summary := range []bool{true, c.ShortenResultsFirst} { // omissions in an investigation are always named
		for _, cut := range []int{c.cuts[len(c.cuts)-1], len(c.parts)} {
			parts, strategy := c.layout(cut, summary)
			parts = c.level(parts, isResult, shortResult)
			parts = c.level(parts, isText, 0)
			if c.fits(parts) {
				return parts, strategy, nil
			}
		}
	}
	return nil, "", fmt.Errorf("%w: %d tokens are too few", ErrContextTooLong, max(c.limit, 0))
}

func messages(parts []part) []agent.Message {
	out := make([]agent.Message, len(parts))
	for i, p := range parts {
		out[i] = p.Message
	}
	return out
}

func isSystem(p part) bool { return p.Role == agent.System }
func isUser(p part) bool   { return p.Role == agent.User && !p.Memory }
func isResult(p part) bool { return p.Role == agent.ToolRole }
func isText(p part) bool   { return !isSystem(p) && !p.Memory }
