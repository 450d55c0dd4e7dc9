package compress

import (
	"math"
	"slices"

	"github.com/inquest-dev/inquest/internal/agent"
)

// step is the fraction of the limit to which results are shortened at a time, so that the next requests can begin in the same way.
const step = 0.75

// once compresses the whole conversation.
func (c *conversation) once() ([]part, string, error) { return c.until(len(c.parts)) }

// until compresses the first n messages. Only the last version of the core memory counts.
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

// inSteps replays the requests of the conversation, one before each reply. When a request is too long, its compressed form becomes
// the beginning of the following ones, until one of them is too long again. So no state needs to be stored.
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

// requests returns how many messages each request had, including the current one.
func (c *conversation) requests() (out []int) {
	for i, p := range c.parts {
		if p.Role == agent.Assistant {
			out = append(out, i)
		}
	}
	return append(out, len(c.parts))
}
