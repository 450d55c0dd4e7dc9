package webhook

import (
	"encoding/json"
	"errors"
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
	e, ok, err := ReadEnvelope(body)
	if !ok {
		t.Fatalf("%s is no envelope: %v", body, err)
	}
	return e
}

// The examples in AWS's documentation, signed with our own key. Envelopes are accepted only as Amazon signed them.
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
		before  func(map[string]any) // changes the envelope before it is signed
		after   func(map[string]any) // changes the envelope after it was signed
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
		"Europe's own cloud":   {"sns-notification", "2", europe, nil, nil},
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
		"an escaped path":      {"sns-notification", "1", nil, change("SigningCertURL", snsAt+"/%53imple"+cert[len("/Simple"):]), ErrEnvelope},
		"a path with a parent": {"sns-notification", "1", nil, change("SigningCertURL", snsAt+"/x/.."+cert), ErrEnvelope},
		"a query":              {"sns-notification", "1", nil, change("SigningCertURL", snsAt+cert+"?x=y"), ErrEnvelope},
		"an empty query":       {"sns-notification", "1", nil, change("SigningCertURL", snsAt+cert+"?"), ErrEnvelope},
		"a host in capitals":   {"sns-notification", "1", nil, change("SigningCertURL", "https://SNS.us-west-2.amazonaws.com"+cert), ErrEnvelope},
		"a root domain":        {"sns-notification", "1", nil, change("SigningCertURL", snsAt+"."+cert), ErrEnvelope},
		"another partition":    {"sns-notification", "1", nil, change("SigningCertURL", snsAt+".cn"+cert), ErrEnvelope},
		"Amazon refuses us":    {"sns-notification", "1", nil, change("SigningCertURL", certAt("forbidden")), ErrSNS},
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
		topics := []string{
			snsTopic, "arn:aws-cn:sns:cn-north-1:123456789012:MyTopic", "arn:aws-eusc:sns:eusc-de-east-1:123456789012:MyTopic",
		}
		err := checker.Check(t.Context(), readEnvelope(t, raw), "", topics, SNSTolerance)
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

func europe(e map[string]any) {
	e["TopicArn"] = "arn:aws-eusc:sns:eusc-de-east-1:123456789012:MyTopic"
	e["SigningCertURL"] = "https://sns.eusc-de-east-1.amazonaws.eu" + cert
}

// A subscription is confirmed only at Amazon.
func TestConfirmation(t *testing.T) {
	t.Parallel()
	amazon := webhooktest.NewSNS(time.Now())
	const query = "/?Action=ConfirmSubscription&TopicArn=" + snsTopic + "&Token="
	for _, test := range []struct {
		token, address string
		want           error
	}{
		{"2336", snsAt + query + "2336", nil},
		{"wrong", snsAt + query + "wrong", ErrEnvelope},
		{"redirect", snsAt + query + "redirect", ErrEnvelope},
		{"2336", snsAt + query + "2337", ErrEnvelope},
		{"2336", snsAt + query + "2336&Action=DeleteTopic", ErrEnvelope},
		{"2336", snsAt + query + "2336&action=DeleteTopic", ErrEnvelope},
		{"2336", snsAt + query + "2336;x", ErrEnvelope},
		{"2336", snsAt + "/x" + query + "2336", ErrEnvelope},
		{"2336", snsAt + "/?Action=ConfirmSubscription&TopicArn=" + snsTopic + "2&Token=2336", ErrEnvelope},
		{"2336", snsAt + "/?Action=DeleteTopic&Token=2336&TopicArn=" + snsTopic, ErrEnvelope},
		{"2336", "https://169.254.169.254" + query + "2336", ErrEnvelope},
		{"2336", "http://sns.us-west-2.amazonaws.com" + query + "2336", ErrEnvelope},
		{"2336", "https://sns.us-west-2.amazonaws.com.evil.example" + query + "2336", ErrEnvelope},
		{"2336", "https://sns.us-west-2.amazonaws.com:22" + query + "2336", ErrEnvelope},
		{"2336", "https://sns.us-west-2.amazonaws.com%2f@evil.example" + query + "2336", ErrEnvelope},
		{"2336", "", ErrEnvelope},
	} {
		address, want := test.address, test.want
		e := Envelope{Type: "SubscriptionConfirmation", TopicArn: snsTopic, Token: test.token, SubscribeURL: address}
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

func TestNoEnvelope(t *testing.T) {
	t.Parallel()
	for _, body := range []string{`{}`, `{`, ``, `[]`, `{"Type": "Notification"}`, `{"Type": "Other", "TopicArn": "a", "MessageId": "b"}`,
		`{"Type": 1, "TopicArn": "a", "MessageId": "b"}`} {
		if e, ok, err := ReadEnvelope([]byte(body)); ok || err != nil {
			t.Errorf("%s: %+v, %v", body, e, err)
		}
	}
}

// An envelope signed by Amazon cannot be changed to say something else.
func TestForgedEnvelopes(t *testing.T) {
	t.Parallel()
	now := time.Date(2012, 5, 2, 0, 55, 0, 0, time.UTC)
	amazon := webhooktest.NewSNS(now)
	checker := NewSNS(amazon, func() time.Time { return now })
	const evil = `{"AlarmName": "FORGED", "NewStateValue": "ALARM"}`
	const ok = `{"AlarmName": "real", "NewStateValue": "OK"}`
	text, _ := json.Marshal(evil)
	quoted := string(text)
	before := func(field string) func(string) string {
		return func(b string) string { return "{" + field + "," + b[1:] }
	}
	after := func(field string) func(string) string {
		return func(b string) string { return b[:len(b)-1] + "," + field + "}" }
	}
	for name, test := range map[string]struct {
		message string
		forge   func(body string) string
	}{
		"a folded key":         {ok, func(b string) string { return strings.Replace(b, `"Message"`, `"Message":`+quoted+`,"MESSAGE"`, 1) }},
		"a folded key before":  {ok, before(`"message":` + quoted)},
		"a folded key after":   {ok, after(`"message":` + quoted)},
		"a long s":             {ok, after(`"Me\u017fsage":` + quoted)},
		"a key twice":          {ok, after(`"Message":` + quoted)},
		"a key twice before":   {ok, before(`"Message":` + quoted)},
		"an escaped key":       {ok, before(`"\u004dessage":` + quoted)},
		"an object":            {ok, before(`"message":` + evil)},
		"a list of types":      {ok, before(`"Type":["Notification"]`)},
		"the alert beside it":  {"disk is full", before(evil[1 : len(evil)-1])},
		"beside an empty text": {"", before(evil[1 : len(evil)-1])},
		"beside broken JSON":   {`{"AlarmName": "a"}}`, before(evil[1 : len(evil)-1])},
		"a moved border": {evil + "\nMessageId\nm\nSubject\ns", func(b string) string {
			b = strings.Replace(b, `\nMessageId\nm\nSubject\ns"`, `"`, 1)
			return strings.Replace(b, `"MessageId":"m-1"`, `"MessageId":"m\nSubject\ns\nMessageId\nm-1"`, 1)
		}},
		"after the body": {ok, func(b string) string { return b + evil }},
	} {
		e := map[string]any{
			"Type": "Notification", "MessageId": "m-1", "TopicArn": snsTopic, "Message": test.message,
			"Timestamp": now.Format(time.RFC3339), "SigningCertURL": snsAt + cert,
		}
		amazon.Sign(e, "2")
		raw, _ := json.Marshal(e)
		forged := test.forge(string(raw))
		if forged == string(raw) {
			t.Fatalf("%s: nothing is forged", name)
		}
		format, _ := FormatOf("sns")
		r, err := NewReader(format.Mapping)
		if err != nil {
			t.Fatal(err)
		}
		envelope, ok, _ := ReadEnvelope([]byte(forged))
		if !ok || checker.Check(t.Context(), envelope, "", []string{snsTopic}, SNSTolerance) != nil {
			continue
		}
		if alerts, _, err := r.ReadSigned(envelope, strings.Clone); err == nil {
			t.Errorf("%s: %+v", name, alerts)
		}
	}
}

// Paths into the envelope lead to what Amazon has signed. A sender with a token vouches for the other fields too.
func TestSignedFields(t *testing.T) {
	t.Parallel()
	body := `{"Type": "Notification", "MessageId": "m", "TopicArn": "` + snsTopic + `", "Message": "words", "Subject": "s",
		"MessageAttributes": {"team": {"Value": "x"}}, "UnsubscribeURL": "u"}`
	r, err := NewReader(Mapping{Title: []string{"Subject"}, Group: []string{"MessageAttributes.team.Value", "MessageId"}, Data: "$"})
	if err != nil {
		t.Fatal(err)
	}
	signed, _, err := r.ReadSigned(readEnvelope(t, []byte(body)), strings.Clone)
	if err != nil || len(signed) != 1 || signed[0].Group != "m" || signed[0].Title != "s" || strings.Contains(string(signed[0].Data), "team") {
		t.Errorf("%+v, %v", signed, err)
	}
	if vouched, _, err := r.Read([]byte(body), strings.Clone); err != nil || len(vouched) != 1 || vouched[0].Group != "x" {
		t.Errorf("%+v, %v", vouched, err)
	}
}
