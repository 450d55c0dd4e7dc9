package slack_test

import (
	"fmt"
	"testing"
	"time"

	slackgo "github.com/slack-go/slack"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/face/slack/workspacetest"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/webhook"
)

// firing receives an alert over a webhook and starts its investigation.
func (w *world) firing(project, fingerprint string) (id string) {
	w.Helper()
	ctx := w.Context()
	if _, err := w.store.ReceiveAlerts(ctx, []webhook.Received{{
		Webhook: "am", Project: project, Fingerprint: fingerprint, Group: fingerprint, State: webhook.Firing, StartsAt: time.Now(),
		Workflow: "dig", Request: []byte(`{}`),
	}}); err != nil {
		w.Fatal(err)
	}
	placed, err := w.store.PlaceAlerts(ctx, func(string) webhook.Limits { return webhook.DefaultLimits })
	if err != nil || len(placed.Starts) != 1 {
		w.Fatalf("%+v, %v", placed, err)
	}
	id = "dig-" + fingerprint + ":run"
	w.becomes(id, agent.StatusRunning, "", record.Waits{})
	if err := w.store.AlertStarted(ctx, placed.Starts[0].ID, id); err != nil {
		w.Fatal(err)
	}
	return id
}

// TestAlertsAreRecognised posts the messages of other apps about alerts that webhooks bring, before or after them. Each investigation
// reports in the thread of its alert's message.
func TestAlertsAreRecognised(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	messages := map[string]slackgo.Msg{
		// slack_configs of Alertmanager with its own templates for title and text, and the fingerprints in the footer
		"c3f1e8a2b40d9576": {Attachments: []slackgo.Attachment{{
			Color: "danger", Fallback: "[FIRING:1] HighLatency checkout | http://alertmanager:9093/#/alerts?receiver=slack",
			Title: "[FIRING:1] HighLatency checkout", TitleLink: "http://alertmanager:9093/#/alerts?receiver=slack",
			Footer: "c3f1e8a2b40d9576 ",
		}}},
		// PagerDuty links its incident
		"Q1J0WA8YGHX2VB": {Text: "Triggered #4711", Blocks: slackgo.Blocks{BlockSet: []slackgo.Block{
			slackgo.NewSectionBlock(slackgo.NewTextBlockObject(slackgo.MarkdownType,
				"*<https://acme.pagerduty.com/incidents/Q1J0WA8YGHX2VB|#4711>* Checkout is slow", false, false), nil, nil),
		}}},
		// Grafana's contact point with {{ .Fingerprint }} in its text
		"57c6d9296de2ad39": {Attachments: []slackgo.Attachment{{
			Title: "[FIRING:1] DiskFull (db-1)", TitleLink: "http://grafana:3000/alerting/list", Footer: "Grafana v11.2.0",
			Text: "**Firing**\n\nLabels:\n - alertname = DiskFull\nFingerprint: 57c6d9296de2ad39\nSilence: http://grafana:3000/alerting/silence/new",
		}}},
	}
	before := map[string]bool{"c3f1e8a2b40d9576": true}
	for fingerprint, message := range messages {
		var thread, id string
		if before[fingerprint] {
			thread = w.Announce(channel, "B0ALERTS", message)
			id = w.firing("shop", fingerprint)
		} else {
			id = w.firing("shop", fingerprint)
			thread = w.Announce(channel, "B0ALERTS", message)
		}
		w.Until("the status of "+fingerprint, func() bool { return len(w.ours(thread, "running")) == 1 })
		w.becomes(id, agent.StatusCompleted, "The cause of "+fingerprint, record.Waits{})
		w.Until("the report of "+fingerprint, func() bool { return len(w.ours(thread, "The cause of "+fingerprint)) == 1 })
	}
}

// TestMessagesOfOtherApps posts messages that are about no alert of the channel's project. The last alert shows that all were handled.
func TestMessagesOfOtherApps(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	secret := w.firing("payments", "secret-project-1")
	w.Announce(channel, "B0ALERTS", slackgo.Msg{Text: "FIRING secret-project-1"})
	mine := w.firing("shop", "my-own-message-1")
	w.Announce(channel, workspacetest.BotID, slackgo.Msg{Text: "my-own-message-1"})
	sender := w.firing("shop", "B0ALERTS") // names the app, not an alert
	other := w.firing("shop", "other-channel-1")
	w.Announce("C9999999999", "B0ALERTS", slackgo.Msg{Text: "other-channel-1"})
	w.firing("shop", "the-last-1")
	last := w.Announce(channel, "B0ALERTS", slackgo.Msg{Text: "Is the deploy 12345 done? The last: _the-last-1_"})
	w.Until("the last", func() bool { return len(w.ours(last, "running")) == 1 })
	for _, id := range []string{secret, mine, sender, other} {
		if all, err := w.store.ChatMessages(t.Context(), id); err != nil || len(all) > 0 {
			t.Errorf("%s: %+v, %v", id, all, err)
		}
	}
	if got := fmt.Sprint(len(w.started)); got != "0" {
		t.Errorf("%s investigations were started", got)
	}
}

// TestReplyToAnnouncement replies to a message that may yet turn out to be about an alert. The reply does not wait for that.
func TestReplyToAnnouncement(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	thread := w.Announce(channel, "B0ALERTS", slackgo.Msg{Text: "The deploy 1234567 is done."})
	w.Say(channel, thread, "U1", "<@"+workspacetest.Bot+"> why was that?")
	w.investigation(thread)
}
