package compress

import (
	"math"
	"slices"

	"github.com/inquest-dev/inquest/internal/agent"
)

// step is the part of the limit that shortening results goes down to at a time, so that
// the next requests can begin as this one does.
const step = 0.75

// once compresses the whole conversation.
func (c *conversation) once() ([]part, string, error) { return c.until(len(c.parts)) }

// until compresses the first n messages. Of the core memory only the last counts.
func (c *conversation) until(n int) ([]part, string, error) {
	msgs := messages(c.parts[:n])
	last := -1
	for i, m := range msgs {
		if m.Memory {
			last = i
		}
	}
	var live []agent.Message
	for i, m := range msgs {
		if !m.Memory || i == last {
			live = append(live, m)
		}
	}
	return newConversation(live, c.Options).compress()
}

// inSteps goes through the requests that the conversation was sent in, one before each
// reply: what the first that was too long was compressed to begins those after it as well,
// until one of them is too long again. Nothing has to be remembered for that.
func (c *conversation) inSteps() (parts []part, strategy string, err error) {
	strategy = None
	most, from := math.Floor(c.threshold())-float64(c.ToolTokens), 0
	for _, at := range c.requests() {
		grown := slices.Concat(parts, c.parts[from:at])
		if float64(c.total(grown)) <= most {
			continue
		}
		shorter, how, failed := c.until(at)
		if err = failed; err == nil {
			parts, strategy, from, most = shorter, how, at, float64(c.limit)
		}
	}
	return slices.Concat(parts, c.parts[from:]), strategy, err
}

// requests are how many messages each request had, that of now included.
func (c *conversation) requests() (out []int) {
	for i, p := range c.parts {
		if p.Role == agent.Assistant {
			out = append(out, i)
		}
	}
	return append(out, len(c.parts))
}
