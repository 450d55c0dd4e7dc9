package terminal_test

import (
	"testing"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/face/terminal"
	"github.com/inquest-dev/inquest/internal/record"
)

func TestScore(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		score record.Score
		want  string
	}{
		"with reasons": {record.Score{Status: agent.StatusCompleted, Score: new(42), Judgement: record.Judgement{
			Tags: []string{"wrong_conclusion"}, Assessment: "Wrong.\x1b[31m", MissingTools: "A tracing tool.\n", By: "Ada",
		}}, "score: 42 of 100 · wrong_conclusion · requested by Ada\n\nWrong.␛[31m\n\nMissing tools:\nA tracing tool.\n"},
		"none": {
			record.Score{Status: agent.StatusFailed, Judgement: record.Judgement{Error: "no reply ended with a score"}},
			"score: failed · no reply ended with a score\n",
		},
		"at work": {record.Score{Status: agent.StatusRunning}, "score: running\n"},
	} {
		if got := terminal.Score(tt.score); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
