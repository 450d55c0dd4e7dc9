package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/webhook"
	"github.com/inquest-dev/inquest/internal/webhook/webhooktest"
)

// topic is the topic in the documented configuration.
const topic = "arn:aws:sns:us-east-1:123456789012:alarms"

// openSNS returns a world with the documented webhook for CloudWatch alarms, and a signer that signs messages as Amazon does.
func openSNS(t *testing.T) (*world, *webhooktest.SNS) {
	t.Helper()
	file := block(t, "Amazon SNS and CloudWatch", "inquest.yaml")
	w := open(t, strings.Replace(file, "  http:\n", "  http:\n    "+rootToken()+"\n", 1)+strings.ReplaceAll(oneChain, "shop:", "cloudwatch:"))
	w.as = "root"
	amazon := webhooktest.NewSNS(time.Now())
	w.api.webhooks.sns = webhook.NewSNS(amazon, nil)
	return w, amazon
}

// Amazon SNS needs no token for the configured topics. Their subscriptions are confirmed once.
func TestSNS(t *testing.T) {
	t.Parallel()
	w, amazon := openSNS(t)
	for _, step := range []struct {
		name, kind, topic, message string
		unsigned                   bool
		status                     int
		want                       webhook.Counts
		asked                      int // requests for confirmations so far
	}{
		{"another topic", "SubscriptionConfirmation", topic + "2", "", false, 401, webhook.Counts{}, 0},
		{"an unsigned subscription", "SubscriptionConfirmation", topic, "", true, 401, webhook.Counts{}, 0},
		{"a subscription", "SubscriptionConfirmation", topic, "", false, 202, webhook.Counts{}, 1},
		{"an unsigned alarm", "Notification", topic, alarm("ALARM"), true, 401, webhook.Counts{}, 1},
		{"an alarm", "Notification", topic, alarm("ALARM"), false, 202, webhook.Counts{New: 1}, 1},
		{"no data", "Notification", topic, alarm("INSUFFICIENT_DATA"), false, 202, webhook.Counts{Ignored: 1}, 1},
		{"its end", "Notification", topic, alarm("OK"), false, 202, webhook.Counts{Resolved: 1}, 1},
		{"words", "Notification", topic, "hello", false, 422, webhook.Counts{}, 1},
		{"another state", "Notification", topic, alarm("?"), false, 422, webhook.Counts{}, 1},
		{"the end of the subscription", "UnsubscribeConfirmation", topic, "", false, 202, webhook.Counts{}, 1},
	} {
		e := map[string]any{
			"Type": step.kind, "MessageId": "m", "TopicArn": step.topic, "Message": step.message, "Token": "2336",
			"Timestamp":      time.Now().UTC().Format("2006-01-02T15:04:05.000Z"),
			"SubscribeURL":   amazonURL + "/?Action=ConfirmSubscription&TopicArn=" + step.topic + "&Token=2336",
			"SigningCertURL": amazonURL + "/SimpleNotificationService-a.pem",
		}
		if !step.unsigned {
			amazon.Sign(e, "1")
		}
		raw, _ := json.Marshal(e)
		got := w.call("", "POST", "/webhooks/sns", string(raw), "Content-Type", "text/plain; charset=UTF-8", "X-Amz-Sns-Message-Type", step.kind)
		var out system.Delivery
		_ = json.Unmarshal([]byte(got.body), &out)
		confirmed := 0
		for _, address := range amazon.Asked() {
			if strings.Contains(address, "ConfirmSubscription") {
				confirmed++
			}
		}
		if got.status != step.status || out.Counts != step.want || confirmed != step.asked {
			t.Errorf("%s: %d %s, %d confirmations", step.name, got.status, got.body, confirmed)
		}
	}
	if got := w.call("", "POST", "/webhooks/sns", "{}"); got.status != http.StatusUnauthorized {
		t.Errorf("no envelope: %d", got.status)
	}
}

// A message signed by Amazon cannot be changed to carry another alarm.
func TestForgedSNS(t *testing.T) {
	t.Parallel()
	w, amazon := openSNS(t)
	signed := func(message string) string {
		e := map[string]any{"Type": "Notification", "MessageId": "m", "TopicArn": topic, "Message": message,
			"Timestamp": time.Now().UTC().Format("2006-01-02T15:04:05.000Z"), "SigningCertURL": amazonURL + "/SimpleNotificationService-a.pem"}
		amazon.Sign(e, "2")
		raw, _ := json.Marshal(e)
		return string(raw)
	}
	evil := alarm("ALARM")
	quoted, _ := json.Marshal(evil)
	for name, test := range map[string]struct {
		body   string
		status int
	}{
		"a folded key":      {`{"message":` + string(quoted) + "," + signed(alarm("OK"))[1:], http.StatusUnauthorized},
		"a key twice":       {`{"Message":` + string(quoted) + "," + signed(alarm("OK"))[1:], http.StatusUnauthorized},
		"fields beside it":  {evil[:len(evil)-1] + "," + signed("hello")[1:], http.StatusUnprocessableEntity},
		"nothing is forged": {signed(alarm("OK")), http.StatusAccepted},
	} {
		if got := w.call("", "POST", "/webhooks/sns", test.body, "Content-Type", "text/plain"); got.status != test.status {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
	if rows := w.alerts(""); len(rows) != 0 {
		t.Errorf("%+v", rows)
	}
	const twice = `{"Type": "Notification", "MessageId": "m", "TopicArn": "` + topic + `", "Message": "a", "Message": "b"}`
	if got := hooked(t, "").call("", "POST", "/webhooks/sns", twice); got.status != http.StatusUnprocessableEntity {
		t.Errorf("without topics: %d %s", got.status, got.body)
	}
}

const amazonURL = "https://sns.us-east-1.amazonaws.com"

func alarm(state string) string {
	at := time.Now().UTC().Format("2006-01-02T15:04:05.000+0000")
	return fmt.Sprintf(`{"AlarmName": "cpu high", "NewStateValue": %q, "StateChangeTime": %q}`, state, at)
}

// With a custom mapping for the envelope and no topics, as in an API without tokens, a CloudWatch alarm starts an investigation, and
// foreign subscriptions are not confirmed.
func TestMappedSNS(t *testing.T) {
	t.Parallel()
	w := hooked(t, `sns: {chain: shop, mapping: {fingerprint: [Message.AlarmName], status: [Message.NewStateValue], firing: [ALARM],
		resolved: [OK], title: [Subject], starts_at: [Timestamp]}}`)
	amazon := webhooktest.NewSNS(time.Now())
	w.api.webhooks.sns = webhook.NewSNS(amazon, nil)
	const envelope = `{"Type": "Notification", "MessageId": "m-1", "TopicArn": "arn:aws:sns:us-east-1:123456789012:alarms",
		"Subject": "ALARM: \"cpu high\"", "Message": %q, "Timestamp": "2026-11-25T06:59:01.000Z"}`
	for message, want := range map[string]string{
		`{"AlarmName": "cpu high", "NewStateValue": "ALARM", "OldStateValue": "OK"}`: `202 {"new":1,`,
		`{"AlarmName": "cpu high", "NewStateValue": "WHAT"}`:                         `its status is \"WHAT\"`,
		`cpu high`: `it has no status at Message.NewStateValue: Message is text that is not JSON`,
	} {
		got := w.call("", "POST", "/webhooks/sns", fmt.Sprintf(envelope, message), "Content-Type", "text/plain; charset=UTF-8")
		if said := fmt.Sprint(got.status, " ", got.body); !strings.Contains(said, want) || !strings.HasPrefix(said, "202") && got.status != 422 {
			t.Errorf("%s: %s", message, said)
		}
	}
	subscription := strings.Replace(fmt.Sprintf(envelope, "hello"), "Notification", "SubscriptionConfirmation", 1)
	if got := w.call("", "POST", "/webhooks/sns", subscription); got.status != http.StatusUnauthorized || len(amazon.Asked()) > 0 {
		t.Errorf("%d %s, asked %q", got.status, got.body, amazon.Asked())
	}
}
