package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/llm/llmtest"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/webhook"
	"github.com/inquest-dev/inquest/workflows"
)

const webhookConfig = `
llm_providers:
  lab-model: {type: openai, model: gpt-4o, base_url: "{{.E2E_MODEL}}", api_key_env: E2E_KEY}
defaults: {llm_provider: lab-model}
system: {http: {webhooks: {alertmanager: {max_running: 2, max_per_minute: 100}}}}
agents: {Digger: {}}
agent_chains: {dig: {alert_types: [Slow], stages: [{name: dig, agents: [{name: Digger}]}]}}
`

// TestLongWebhookFlood sends 30 alerts of three groups to the whole system, which has capacity for two investigations and is killed
// meanwhile. Each group gets one investigation, the third when there is capacity, and their agents learn about the other alerts.
func TestLongWebhookFlood(t *testing.T) {
	takesLong(t)
	t.Parallel()
	release := make(chan struct{})
	let := sync.OnceFunc(func() { close(release) })
	t.Cleanup(let)
	w := newWorld(t, func(llmtest.Request) llmtest.Reply {
		select {
		case <-release:
		case <-time.After(patience):
		}
		return llmtest.Text("it is the disk")
	}, webhookConfig)
	address := freeAddress(t)
	dev := w.dev("--http", address)
	send := func(n int, status string) error {
		body := fmt.Sprintf(`{"version":"4","groupKey":"g%d","alerts":[{"status":%q,"labels":{"alertname":"Slow"},
			"annotations":{"summary":"h%d is slow"},"startsAt":"2026-11-23T02:00:00Z","fingerprint":"f%[3]d"}]}`, n%3, status, n)
		response, err := http.Post("http://"+address+"/webhooks/alertmanager", "application/json", strings.NewReader(body))
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusAccepted {
			return fmt.Errorf("%s", response.Status)
		}
		return nil
	}
	deliver := func(from, to int, status string) {
		for n := from; n < to; n++ {
			eventually(t, "the alert is taken", func() bool { return send(n, status) == nil })
		}
	}
	s := w.open()
	count := func() map[string]int {
		all, err := s.Alerts(t.Context(), store.AlertFilter{})
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]int{}
		for _, r := range all {
			out[r.Place]++
		}
		return out
	}
	deliver(0, 15, "firing")
	dev.kill()
	w.dev("--http", address)
	deliver(0, 30, "firing")
	eventually(t, "two groups have an investigation", func() bool {
		c := count()
		return c[webhook.Started] == 2 && c[webhook.Joined]+c[webhook.Waiting] == 28 && c[webhook.Joined] >= 9
	})
	deliver(0, 1, "resolved")
	let()
	var ended []record.Investigation
	eventually(t, "the last group has one, too, and all have ended", func() bool {
		all, err := s.Investigations(t.Context(), store.Filter{})
		if err != nil {
			t.Fatal(err)
		}
		ended = all
		c := count()
		for _, r := range all {
			if r.EndedAt == nil {
				return false
			}
		}
		return c[webhook.Waiting] == 0 && len(all) == c[webhook.Started] && len(all) >= 3
	})
	t.Logf("%v in %d investigations", count(), len(ended))
	for _, r := range ended {
		if r.Status != "completed" || r.Metadata["webhook"] != "alertmanager" || r.Envelope.By != "webhook alertmanager (local)" {
			t.Errorf("%+v", r)
		}
	}
	delivered := false
	for _, req := range w.model.Requests() {
		for _, m := range req.Messages {
			delivered = delivered || strings.Contains(m.Text(), "were added to this investigation")
		}
	}
	if all, _ := s.Alerts(t.Context(), store.AlertFilter{}); len(all) != 30 || !delivered {
		t.Errorf("%d alerts; the agents have heard of others: %t", len(all), delivered)
	}
	if *recordHistories {
		w.recordOf("intake", slices.DeleteFunc(w.list(), func(id string) bool { return !strings.HasPrefix(id, workflows.IntakeID("")) }))
	}
}
