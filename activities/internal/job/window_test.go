package job

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/plan"
)

// TestNarrower checks the window that a refusal shows for a prompt of 1000 tokens, and how long replies may be in it.
func TestNarrower(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		known          Window
		window, prompt int // in the refusal
		want           Window
		reply          int
	}{
		"the server counts as we do":      {window: 8000, prompt: 1000, want: Window{Tokens: 8000, Ratio: 1, Named: true}, reply: 2000},
		"it counts twice as much":         {window: 8000, prompt: 2000, want: Window{Tokens: 8000, Ratio: 2, Named: true}, reply: 2000},
		"its number cannot be the prompt": {window: 8000, prompt: 50_000, want: Window{Tokens: 8000, Ratio: 4, Named: true}, reply: 2000},
		"it does not say how much it is":  {window: 8000, want: Window{Tokens: 8000, Named: true}, reply: 2000},
		"the reply is short":              {window: 20_000, prompt: 1000, want: Window{Tokens: 20_000, Ratio: 1, Named: true}, reply: 4000},
		"the same again, without a number": {known: Window{Tokens: 8000, Named: true}, window: 8000,
			want: Window{Tokens: 8000, Ratio: 1.5, Named: true}, reply: 2000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refused := llm.Error{Kind: llm.ErrContextTooLong, Window: tt.window, Prompt: tt.prompt}
			got, ok := tt.known.Narrower(refused, 1000, 100_000, 4000)
			if diff := cmp.Diff(tt.want, got); !ok || diff != "" || got.Reply(4000) != tt.reply {
				t.Errorf("%v, replies of %d tokens, want %d; (-want +got):\n%s", ok, got.Reply(4000), tt.reply, diff)
			}
		})
	}
}

// TestWindowsExpire checks that a learned window is valid for an hour, for one model at one address.
func TestWindowsExpire(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		here := plan.Provider{Name: "p", Model: "m", BaseURL: "http://a/v1"}
		elsewhere, other := here, here
		elsewhere.BaseURL, other.Model = "http://b/v1", "n"
		small := Window{Tokens: 8192, Named: true}
		var known windows
		known.Learn(&here, small)
		for name, tt := range map[string]struct {
			provider plan.Provider
			want     Window
		}{"here": {here, small}, "another address": {elsewhere, Window{}}, "another model": {other, Window{}}} {
			if got := known.Of(&tt.provider); got != tt.want {
				t.Errorf("%s: %+v, want %+v", name, got, tt.want)
			}
		}
		time.Sleep(59 * time.Minute)
		if got := known.Of(&here); got != small {
			t.Errorf("after 59 minutes: %+v", got)
		}
		time.Sleep(2 * time.Minute)
		if got := known.Of(&here); got != (Window{}) {
			t.Errorf("after an hour: %+v", got)
		}
	})
}
