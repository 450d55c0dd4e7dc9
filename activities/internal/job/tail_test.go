package job

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// tails records the live tails; the tests use nothing else of the journal.
type tails struct {
	Transcripts
	written []string
}

func (t *tails) SetLive(_ context.Context, live transcript.Live) error {
	t.written = append(t.written, live.Text)
	return nil
}

func TestLive(t *testing.T) {
	t.Parallel()
	type chunk struct {
		after time.Duration // the previous one
		text  string
	}
	tests := map[string]struct {
		chunks []chunk
		end    time.Duration // after the last one
		want   []string
	}{
		"a short reply is never live": {[]chunk{{0, "a"}, {liveEvery / 3, "b"}}, liveEvery / 3, nil},
		"a chunk before a silence":    {[]chunk{{0, "a"}, {0, "b"}}, time.Minute, []string{"ab"}},
		"many chunks, few writes": {
			[]chunk{{0, "a"}, {liveEvery * 3 / 4, "b"}, {liveEvery / 2, "c"}, {liveEvery / 4, "d"}}, liveEvery * 4 / 5, []string{"ab", "abcd"},
		},
		"what comes last is the reply's": {[]chunk{{0, "a"}, {liveEvery * 3 / 2, "b"}}, liveEvery / 2, []string{"a"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				kept := &tails{}
				l := NewLive(&Job{Worker: &Worker{Transcripts: kept}}, 1, 1)
				for _, c := range test.chunks {
					time.Sleep(c.after)
					l.Add(t.Context(), llm.Delta{Content: c.text})
				}
				time.Sleep(test.end)
				l.Stop()
				time.Sleep(time.Minute)
				if diff := cmp.Diff(test.want, kept.written); diff != "" {
					t.Errorf("written (-want +got):\n%s", diff)
				}
			})
		})
	}
}
