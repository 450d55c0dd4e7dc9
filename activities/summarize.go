package activities

import (
	"context"
	"sync"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/token"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// parallelSummaries is how many summaries are made at a time.
const parallelSummaries = 4

// summarize has every result summarised that is too large for a conversation and
// has no summary yet, and returns the entries with the summaries. Each one is a
// step of its own, written as soon as it is there: what was paid for stays,
// whatever becomes of the rest (spec: tools, "Results").
func (g *generation) summarize(ctx context.Context, stored []transcript.Entry) ([]transcript.Entry, error) {
	work := g.unsummarized(stored)
	made, errs := make([]transcript.Entry, len(work)), make([]error, len(work))
	until := time.Now().Add(g.summaryTime())
	slots := make(chan struct{}, parallelSummaries)
	var running sync.WaitGroup
	for i, s := range work {
		running.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			made[i], errs[i] = s.write(ctx, until)
		})
	}
	running.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return append(stored, made...), nil
}

// unsummarized are the results that are still to be summarised, in order.
func (g *generation) unsummarized(stored []transcript.Entry) (work []summary) {
	known := transcript.Summaries(stored)
	for _, e := range stored {
		if _, ok := known[e.Key]; ok || e.Kind != transcript.KindResult {
			continue
		}
		name, _ := tool.Split(e.Call.Name)
		server, _ := g.server(name)
		s := summary{generation: g, result: e}
		if server.Summarization == nil {
			continue
		}
		s.settings = *server.Summarization
		// No token is shorter than a byte, and most results are short.
		if len(e.Text) > s.settings.Threshold && token.Count(s.provider().Model, e.Text) > s.settings.Threshold {
			work = append(work, s)
		}
	}
	return work
}

// summaryTime is how long the summaries before a reply may take together: half
// of what the iteration has.
func (g *generation) summaryTime() time.Duration {
	if limit := g.agent.Timeouts.Iteration.D(); limit > 0 {
		return limit / 2
	}
	return 5 * time.Minute
}

// summaryUsage is what the summaries after the last reply took; nil = there are none.
func summaryUsage(stored []transcript.Entry) *agent.Usage {
	var sum *agent.Usage
	for i := len(stored) - 1; i >= 0 && stored[i].Kind != transcript.KindReply; i-- {
		if e := stored[i]; e.Kind == transcript.KindSummary && e.Usage != nil {
			if sum == nil {
				sum = new(agent.Usage)
			}
			*sum = sum.Add(*e.Usage)
		}
	}
	return sum
}
