package activities_test

import (
	"context"
	"testing"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// streaming is a model whose reply ends once its first words are live.
type streaming struct {
	activities.Transcripts
	live chan transcript.Live
}

func (s streaming) SetLive(_ context.Context, live transcript.Live) error {
	s.live <- live
	return nil
}

func (s streaming) Client(plan.Provider, plan.Timeouts) (llm.Client, error) { return s, nil }

func (s streaming) Generate(_ context.Context, _ llm.Request, onDelta func(llm.Delta)) (llm.Response, error) {
	onDelta(llm.Delta{Content: "wor"})
	s.live <- <-s.live
	return llm.Response{Content: "words", Finish: llm.FinishStop}, nil
}

// The tail of a later try replaces that of an earlier one, although Temporal counts the attempts of each try from 1.
func TestLiveTailOfALaterTry(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	s := streaming{b.store, make(chan transcript.Live, 1)}
	b.act.Transcripts, b.act.Models = s, s
	for try := 1; try <= 3; try++ {
		if _, err := b.generate(activities.GenerateIn{Iteration: try, Try: try}); err != nil {
			t.Fatal(err)
		}
		if got := <-s.live; got.Text != "wor" || got.Attempt != try<<16+1 {
			t.Errorf("try %d is live as %+v", try, got)
		}
	}
}
