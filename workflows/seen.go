package workflows

import (
	"slices"

	"github.com/inquest-dev/inquest/internal/transcript"
)

// maxSeen bounds the entries that an activity is told to require: a reply has at most 64 calls. maxSeenOn bounds
// those that one stage hands on to the next: the last entries of that many agents.
const (
	maxSeen   = 80
	maxSeenOn = 16
)

// addSeen adds marks to those that are known, and keeps the newest. It never changes known.
func addSeen(known []transcript.Mark, marks ...transcript.Mark) []transcript.Mark {
	known = slices.Clone(known)
	for _, m := range marks {
		if m.Seq > 0 && !slices.Contains(known, m) {
			known = append(known, m)
		}
	}
	slices.SortStableFunc(known, func(a, b transcript.Mark) int { return int(a.Seq - b.Seq) })
	return newest(known, maxSeen)
}

// newestSeen is the mark with the highest number, alone.
func newestSeen(known []transcript.Mark) []transcript.Mark { return newest(addSeen(known), 1) }

// replaceSeen forgets the entries that a model call has required: its reply, which it wrote after them, stands for all.
func (r *agentRun) replaceSeen(reply transcript.Mark) {
	if reply.Seq > 0 {
		r.state.Seen = []transcript.Mark{reply}
	}
}
