package webhook

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/webhook/webhooktest"
)

const (
	snsTopic = "arn:aws:sns:us-west-2:123456789012:MyTopic"
	snsAt    = "https://sns.us-west-2.amazonaws.com"
)

func readEnvelope(t *testing.T, body []byte) Envelope {
	t.Helper()
	e, ok := ReadEnvelope(body)
	if !ok {
		t.Fatalf("%s is no envelope", body)
	}
	return e
}

// The examples of AWS's documentation, with a signature of our own: envelopes are accepted if Amazon has signed them as they are.
func TestEnvelopes(t *testing.T) {
	t.Parallel()
	now := time.Date(2012, 5, 2, 0, 55, 0, 0, time.UTC)
	change := func(field string, to any) func(map[string]any) {
		return func(e map[string]any) {
			if e[field] = to; to == nil {
				delete(e, field)
			}
		}
	}
	amazon := webhooktest.NewSNS(now)
	for name, test := range map[string]struct {
		fixture string
		version string
		before  func(map[string]any) // changes what is signed
		after   func(map[string]any) // changes what was signed
		want    error
	}{
		"notification":         {"sns-notification", "1", nil, nil, nil},
		"version 2":            {"sns-notification", "2", nil, nil, nil},
		"without a subject":    {"sns-notification", "1", change("Subject", nil), nil, nil},
		"an empty subject":     {"sns-notification", "2", change("Subject", ""), nil, nil},
		"line breaks":          {"sns-notification", "2", change("Message", "a\nb\u00fc\U0001f600\"<"), nil, nil},
		"subscription":         {"sns-subscription", "1", nil, nil, nil},
		"subscription, 2":      {"sns-subscription", "2", nil, nil, nil},
		"unsubscription":       {"sns-subscription", "1", change("Type", "UnsubscribeConfirmation"), nil, nil},
		"China":                {"sns-notification", "2", china, nil, nil},
		"another message":      {"sns-notification", "1", nil, change("Message", "rm"), ErrEnvelope},
		"another subject":      {"sns-notification", "2", nil, change("Subject", nil), ErrEnvelope},
		"another time":         {"sns-notification", "1", nil, change("Timestamp", "2012-05-02T00:54:07.655Z"), ErrEnvelope},
		"another type":         {"sns-notification", "1", nil, change("Type", "UnsubscribeConfirmation"), ErrEnvelope},
		"another address":      {"sns-subscription", "1", nil, change("SubscribeURL", snsAt+"/?Action=ConfirmSubscription&x=y"), ErrEnvelope},
		"no signature":         {"sns-notification", "1", nil, change("Signature", nil), ErrEnvelope},
		"no base64":            {"sns-notification", "1", nil, change("Signature", "%"), ErrEnvelope},
		"another version":      {"sns-notification", "1", nil, change("SignatureVersion", "2"), ErrEnvelope},
		"version 3":            {"sns-notification", "1", nil, change("SignatureVersion", "3"), ErrEnvelope},
		"http":                 {"sns-notification", "1", nil, change("SigningCertURL", "http://sns.us-west-2.amazonaws.com"+cert), ErrEnvelope},
		"another host":         {"sns-notification", "1", nil, change("SigningCertURL", "https://evil.example"+cert), ErrEnvelope},
		"a host before":        {"sns-notification", "1", nil, change("SigningCertURL", snsAt+".evil.example"+cert), ErrEnvelope},
		"a bucket":             {"sns-notification", "1", nil, change("SigningCertURL", "https://sns.s3.amazonaws.com"+cert), ErrEnvelope},
		"another region":       {"sns-notification", "1", nil, change("SigningCertURL", "https://sns.eu-west-1.amazonaws.com"+cert), ErrEnvelope},
		"a port":               {"sns-notification", "1", nil, change("SigningCertURL", snsAt+":8443"+cert), ErrEnvelope},
		"a user":               {"sns-notification", "1", nil, change("SigningCertURL", snsAt+"@evil"+cert), ErrEnvelope},
		"another path":         {"sns-notification", "1", nil, change("SigningCertURL", snsAt+"/mine.pem"), ErrEnvelope},
		"another topic":        {"sns-notification", "1", change("TopicArn", snsTopic+"2"), nil, ErrTopic},
		"old":                  {"sns-notification", "1", change("Timestamp", "2012-05-01T00:54:06.655Z"), nil, ErrOldEnvelope},
		"without a time":       {"sns-notification", "1", change("Timestamp", nil), nil, ErrOldEnvelope},
		"another key":          {"sns-notification", "1", nil, func(e map[string]any) { webhooktest.NewSNS(now).Sign(e, "1") }, ErrEnvelope},
		"a certificate's end":  {"sns-notification", "1", nil, change("SigningCertURL", certAt("old")), ErrEnvelope},
		"no such certificate":  {"sns-notification", "1", nil, change("SigningCertURL", certAt("none")), ErrEnvelope},
		"Amazon is away":       {"sns-notification", "1", nil, change("SigningCertURL", certAt("away")), ErrSNS},
		"no certificate there": {"sns-notification", "1", nil, change("SigningCertURL", certAt("empty")), ErrEnvelope},
	} {
		e := map[string]any{}
		if err := json.Unmarshal(fixture(t, test.fixture), &e); err != nil {
			t.Fatal(err)
		}
		if e["SigningCertURL"] = snsAt + cert; test.before != nil {
			test.before(e)
		}
		if amazon.Sign(e, test.version); test.after != nil {
			test.after(e)
		}
		raw, _ := json.Marshal(e)
		checker := NewSNS(amazon, func() time.Time { return now })
		topics := []string{snsTopic, "arn:aws-cn:sns:cn-north-1:123456789012:MyTopic"}
		err := checker.Check(t.Context(), readEnvelope(t, raw), topics, SNSTolerance)
		if !errors.Is(err, test.want) || (err == nil) != (test.want == nil) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
}

const cert = "/SimpleNotificationService-f3ecfb7224c7233fe7bb5f59f96de52f.pem"

func certAt(name string) string { return snsAt + "/SimpleNotificationService-" + name + ".pem" }

func china(e map[string]any) {
	e["TopicArn"], e["SigningCertURL"] = "arn:aws-cn:sns:cn-north-1:123456789012:MyTopic", "https://sns.cn-north-1.amazonaws.com.cn"+cert
}

// A subscription is confirmed at Amazon and nowhere else.
func TestConfirmation(t *testing.T) {
	t.Parallel()
	amazon := webhooktest.NewSNS(time.Now())
	for address, want := range map[string]error{
		snsAt + "/?Action=ConfirmSubscription&TopicArn=" + snsTopic + "&Token=2336":                         nil,
		snsAt + "/?Action=ConfirmSubscription&Token=wrong":                                                  ErrEnvelope,
		snsAt + "/?Action=ConfirmSubscription&Token=redirect":                                               ErrEnvelope,
		snsAt + "/?Action=DeleteTopic&TopicArn=" + snsTopic:                                                 ErrEnvelope,
		"https://169.254.169.254/latest/meta-data/?Action=ConfirmSubscription":                              ErrEnvelope,
		"http://sns.us-west-2.amazonaws.com/?Action=ConfirmSubscription":                                    ErrEnvelope,
		"https://sns.us-west-2.amazonaws.com.evil.example/?Action=ConfirmSubscription":                      ErrEnvelope,
		"https://sns.us-west-2.amazonaws.com:22/?Action=ConfirmSubscription":                                ErrEnvelope,
		"https://sns.us-west-2.amazonaws.com%2f@evil.example/?Action=ConfirmSubscription&TopicArn=" + "arn": ErrEnvelope,
		"": ErrEnvelope,
	} {
		e := Envelope{Type: "SubscriptionConfirmation", TopicArn: snsTopic, SubscribeURL: address}
		before := len(amazon.Asked())
		err := NewSNS(amazon, nil).Confirm(t.Context(), e)
		if !errors.Is(err, want) || (err == nil) != (want == nil) {
			t.Errorf("%s: %v, want %v", address, err, want)
		}
		for _, asked := range amazon.Asked()[before:] {
			if !strings.HasPrefix(asked, snsAt+"/?Action=ConfirmSubscription") {
				t.Errorf("%s: asked %s", address, asked)
			}
		}
	}
}

// Made-up certificate addresses do not make us flood Amazon, and a certificate that is known is not fetched again.
func TestCertificatesAreBounded(t *testing.T) {
	t.Parallel()
	now := time.Date(2012, 5, 2, 0, 55, 0, 0, time.UTC)
	amazon := webhooktest.NewSNS(now)
	checker := NewSNS(amazon, func() time.Time { return now })
	e := map[string]any{}
	_ = json.Unmarshal(fixture(t, "sns-notification"), &e)
	check := func(address string) error {
		e["SigningCertURL"] = snsAt + address
		amazon.Sign(e, "2")
		raw, _ := json.Marshal(e)
		return checker.Check(t.Context(), readEnvelope(t, raw), nil, SNSTolerance)
	}
	for range 50 {
		if err := check(cert); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 200 {
		if err := check(fmt.Sprintf("/SimpleNotificationService-none%d.pem", n)); err == nil {
			t.Fatal("accepted")
		}
	}
	if got := len(amazon.Asked()); got > certsInMinute {
		t.Errorf("Amazon was asked %d times", got)
	}
	if err := check(cert); err != nil {
		t.Errorf("the known certificate: %v", err)
	}
	now = now.Add(2 * time.Minute)
	if err := check("/SimpleNotificationService-other.pem"); err != nil {
		t.Errorf("a minute later: %v", err)
	}
}

func TestNoEnvelope(t *testing.T) {
	t.Parallel()
	for _, body := range []string{`{}`, `{`, ``, `[]`, `{"Type": "Notification"}`, `{"Type": "Other", "TopicArn": "a", "MessageId": "b"}`,
		`{"Type": 1, "TopicArn": "a", "MessageId": "b"}`} {
		if e, ok := ReadEnvelope([]byte(body)); ok {
			t.Errorf("%s: %+v", body, e)
		}
	}
}
