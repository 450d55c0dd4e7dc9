package notify_test

import (
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/face/notify"
	"github.com/inquest-dev/inquest/internal/record"
)

// Nobody hears of a trial, whatever it does.
func TestTrialsAreSilent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, config.Notifications{
			Channels: map[string]config.NotificationChannel{"all": hook("all")}, Routes: []config.NotificationRoute{{Channels: []string{"all"}}},
		})
		for _, trial := range []bool{true, false} {
			id := map[bool]string{true: "trial", false: "incident"}[trial]
			r := w.start(id, func(r *record.Investigation) { r.Envelope.Trial = trial })
			w.waits(id, 1, "c1")
			asked := w.passes(10 * time.Second)
			w.finish(r)
			if sent := append(asked, w.passes(10*time.Second)...); (len(sent) == 0) != trial {
				t.Errorf("trial %v: %q", trial, sent)
			}
		}
	})
}

// People hear of a check only when it brings news, but of everything that it asks them.
func TestChecksSpeakOfChanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, config.Notifications{
			Channels: map[string]config.NotificationChannel{"all": hook("all")}, Routes: []config.NotificationRoute{{Channels: []string{"all"}}},
		})
		end := func(id string, check *agent.Check) {
			r := w.start(id, func(r *record.Investigation) {
				r.Envelope.Schedule = &agent.Schedule{Name: "nightly", Every: "1h", Check: true}
			})
			if id == "asks" {
				w.waits(id, 1, "c1")
				w.passes(10 * time.Second)
				w.waits(id, 2)
			}
			r.Envelope.Check = check
			w.finish(r)
		}
		ok, before := agent.Check{Verdict: agent.VerdictOK}, &agent.EarlierCheck{Verdict: agent.VerdictOK}
		first, same := ok.After(nil), ok.After(before)
		bad := agent.Check{Verdict: agent.VerdictProblem, Problems: []agent.Problem{{Name: "pool"}}}.After(before)
		end("first", &first)
		w.wants("the first", w.passes(10*time.Second), "all: finished first")
		end("same", &same)
		w.wants("no news", w.passes(10*time.Second))
		end("bad", &bad)
		end("none", nil)
		w.wants("news, and one without a verdict", w.passes(10*time.Second), "all: finished bad", "all: finished none")
		end("asks", &same)
		if w.passes(10 * time.Second); w.bodies["waiting asks c1"] == nil || w.bodies["finished asks"] != nil {
			t.Errorf("a check that asks: %s", w.bodies["finished asks"])
		}
		checkSchema(t, w.bodies)
		var e notify.Event
		if err := json.Unmarshal(w.bodies["finished bad"], &e); err != nil || e.Check == nil || e.Check.New[0] != "pool" ||
			e.Investigation.Schedule != "nightly" {
			t.Errorf("%s", w.bodies["finished bad"])
		}
	})
}
