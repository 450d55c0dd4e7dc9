package compress

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/clip"
)

const (
	// oldResult is how many characters an old result keeps.
	oldResult = 400
	// shortResult is the minimum number of tokens of a recent result, while something else can be left out.
	shortResult = 128
	// markerTokens is the approximate size of a marker.
	markerTokens = 32
)

// level shortens the longest of the parts that may be shortened to one common length. This is the greatest length with which
// everything fits, but not less than floor tokens.
func (c *conversation) level(parts []part, may func(part) bool, floor int) []part {
	room := c.limit - c.total(parts)
	if room >= 0 {
		return parts
	}
	var costs []int
	for _, p := range parts {
		if may(p) {
			costs, room = append(costs, p.cost), room+p.cost
		}
	}
	share := max(fairShare(costs, room), floor)
	out := slices.Clone(parts)
	for i, p := range out {
		if may(p) && p.cost > share {
			out[i] = c.squeeze(p, share)
		}
	}
	return out
}

// fairShare returns the maximum cost with which the sum of costs, each cut down to it, is at most room.
func fairShare(costs []int, room int) int {
	slices.Sort(costs)
	for i, cost := range costs {
		share := room / (len(costs) - i)
		if cost > share {
			return share
		}
		room -= cost
	}
	return math.MaxInt
}

// squeeze shortens a message to a number of tokens, or as far as possible.
func (c *conversation) squeeze(p part, tokens int) part {
	whole := p.whole()
	length := utf8.RuneCountInString(whole.Content)
	for _, call := range whole.ToolCalls {
		length += utf8.RuneCountInString(call.Arguments)
	}
	n := scale(length, tokens-markerTokens, whole.cost)
	for {
		q := c.shortenTo(p, n)
		if q.cost <= tokens || n == 0 {
			return q
		}
		n = min(scale(n, tokens-markerTokens, q.cost-markerTokens), n-1-n/10)
		n = max(n, 0)
	}
}

// scale returns n × a/b, at least 0.
func scale(n, a, b int) int {
	return int(float64(n) * float64(max(a, 0)) / float64(max(b, 1)))
}

// shortenTo shortens each text of a message to its first n characters and marks it. If this does not make the message cheaper, it
// stays unchanged.
func (c *conversation) shortenTo(p part, n int) part {
	whole := p.whole()
	m := whole.Message
	m.Content = shorten(m, n)
	m = blind(m)
	m.ToolCalls = slices.Clone(m.ToolCalls)
	for i := range m.ToolCalls {
		m.ToolCalls[i].Arguments = shortenArguments(m.ToolCalls[i].Arguments, n)
	}
	if q := c.part(m); q.cost < p.cost {
		q.from = &whole
		return q
	}
	return p
}

// blind removes the images of a message, whose text describes them.
func blind(m agent.Message) agent.Message {
	if len(m.Images) > 0 {
		m.Images = nil
		m.Content += "\n[the images are no longer shown]"
	}
	return m
}

func shorten(m agent.Message, n int) string {
	length := utf8.RuneCountInString(m.Content)
	if length <= n {
		return m.Content
	}
	marker := fmt.Sprintf("[shortened: first %d of %d characters", n, length)
	if m.Ref != "" {
		marker += "; the whole result is kept in the transcript as " + m.Ref
	}
	if n == 0 {
		return marker + "]"
	}
	return clip.Runes(m.Content, n) + "\n" + marker + "]"
}

// shortenArguments keeps arguments a JSON object, because providers refuse anything else.
func shortenArguments(arguments string, n int) string {
	length := utf8.RuneCountInString(arguments)
	if length <= n {
		return arguments
	}
	short, err := json.Marshal(map[string]string{
		"shortened": fmt.Sprintf("first %d of %d characters", n, length),
		"start":     clip.Runes(arguments, n),
	})
	if err != nil || len(short) >= len(arguments) {
		return arguments
	}
	return string(short)
}
