package webhook

import (
	"bytes"
	"context"
	"crypto"
	"crypto/rsa"
	"crypto/sha1" //nolint:gosec // SignatureVersion 1 of Amazon SNS, which is still its default
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
)

// SNS types of envelopes, as the field Type and the header x-amz-sns-message-type have them.
const (
	snsNotification = "Notification"
	snsSubscribe    = "SubscriptionConfirmation"
	snsUnsubscribe  = "UnsubscribeConfirmation"
)

// An Envelope is what Amazon SNS posts to an HTTP endpoint: a message of a topic, or news about the subscription. See
// https://docs.aws.amazon.com/sns/latest/dg/sns-message-and-json-formats.html.
type Envelope struct {
	Type, MessageID, TopicArn, Message, Timestamp string
	Subject                                       *string // is part of what is signed only if it is there
	Token, SubscribeURL                           string
	SignatureVersion, Signature, SigningCertURL   string
}

// snsFields are the fields of an envelope that are read, all of them texts.
var snsFields = []string{
	"Type", "MessageId", "TopicArn", "Subject", "Message", "Timestamp", "Token", "SubscribeURL",
	"SignatureVersion", "Signature", "SigningCertURL",
}

// ReadEnvelope returns the SNS envelope that a body is; ok is false for any other body. The error says why a body that claims to be an
// envelope cannot be one. Readers of JSON disagree on keys that occur twice or in another case, and the signature covers fields that are
// separated by line breaks: an envelope that can be read in two ways is refused.
func ReadEnvelope(body []byte) (e Envelope, ok bool, err error) {
	keys, values, err := members(body)
	if err != nil {
		return Envelope{}, false, nil //nolint:nilerr // a body that is not a JSON object is not an envelope
	}
	fields := map[string]*string{}
	var wrong []error
	for n, key := range keys {
		if slices.ContainsFunc(keys[:n], func(other string) bool { return strings.EqualFold(other, key) }) {
			wrong = append(wrong, fmt.Errorf("it has the key %.60q twice", key))
		}
		at := slices.IndexFunc(snsFields, func(name string) bool { return strings.EqualFold(name, key) })
		if at < 0 {
			continue
		}
		name := snsFields[at]
		var text *string
		if json.Unmarshal(values[n], &text) != nil {
			wrong = append(wrong, fmt.Errorf("%s is not a text", name))
		} else if text != nil {
			fields[name] = text
		}
		if name != key {
			wrong = append(wrong, fmt.Errorf("it has the key %.60q in place of %s", key, name))
		}
		if name != "Message" && text != nil && strings.Contains(*text, "\n") {
			wrong = append(wrong, fmt.Errorf("%s has a line break", name))
		}
	}
	e = newEnvelope(fields)
	types := []string{snsNotification, snsSubscribe, snsUnsubscribe}
	if !slices.Contains(types, e.Type) || e.TopicArn == "" || e.MessageID == "" {
		return Envelope{}, false, nil
	}
	if err := errors.Join(wrong...); err != nil {
		return Envelope{}, false, fmt.Errorf("the envelope of Amazon SNS cannot be used: %w", err)
	}
	return e, true, nil
}

func newEnvelope(fields map[string]*string) Envelope {
	text := func(name string) string {
		if fields[name] == nil {
			return ""
		}
		return *fields[name]
	}
	return Envelope{
		Type: text("Type"), MessageID: text("MessageId"), TopicArn: text("TopicArn"), Message: text("Message"),
		Timestamp: text("Timestamp"), Subject: fields["Subject"], Token: text("Token"), SubscribeURL: text("SubscribeURL"),
		SignatureVersion: text("SignatureVersion"), Signature: text("Signature"), SigningCertURL: text("SigningCertURL"),
	}
}

// members returns the keys of a JSON object in the order in which they are written, with their values.
func members(body []byte) (keys []string, values []json.RawMessage, err error) {
	if body, err = plainText(body); err != nil {
		return nil, nil, err
	}
	if !json.Valid(body) || !bytes.HasPrefix(bytes.TrimSpace(body), []byte("{")) {
		return nil, nil, errors.New("the body is not a JSON object")
	}
	from := json.NewDecoder(bytes.NewReader(body))
	for _, err = from.Token(); err == nil && from.More(); {
		var key json.Token
		var value json.RawMessage
		if key, err = from.Token(); err == nil {
			err = from.Decode(&value)
		}
		keys, values = append(keys, fmt.Sprint(key)), append(values, value)
	}
	return keys, values, err
}

// body returns the fields of the envelope that the signature covers. Others, such as MessageAttributes, can be anybody's.
func (e Envelope) body() map[string]any {
	out := map[string]any{
		"Type": e.Type, "MessageId": e.MessageID, "TopicArn": e.TopicArn, "Message": e.Message, "Timestamp": e.Timestamp,
	}
	if e.Subject != nil {
		out["Subject"] = *e.Subject
	}
	return out
}

// Confirms reports whether the envelope asks to confirm a subscription.
func (e Envelope) Confirms() bool { return e.Type == snsSubscribe }

// Carries reports whether the envelope has a message of the topic.
func (e Envelope) Carries() bool { return e.Type == snsNotification }

// signed is the text that the signature covers: names and values of these fields, in the order of their names, a line each.
func (e Envelope) signed() string {
	fields := []string{"Message", e.Message, "MessageId", e.MessageID}
	if e.Type == snsNotification {
		if e.Subject != nil {
			fields = append(fields, "Subject", *e.Subject)
		}
		fields = append(fields, "Timestamp", e.Timestamp)
	} else {
		fields = append(fields, "SubscribeURL", e.SubscribeURL, "Timestamp", e.Timestamp, "Token", e.Token)
	}
	fields = append(fields, "TopicArn", e.TopicArn, "Type", e.Type)
	return strings.Join(fields, "\n") + "\n"
}

// The reasons for which an SNS envelope is refused.
var (
	ErrTopic       = errors.New("the webhook does not take messages of this SNS topic")
	ErrEnvelope    = errors.New("the SNS message is not signed by Amazon SNS")
	ErrOldEnvelope = errors.New("the SNS message is too old, or its timestamp is missing")
	// ErrSNS is temporary: Amazon SNS did not answer, or was asked too often within a minute.
	ErrSNS = errors.New("Amazon SNS cannot be asked at the moment")
)

// SNSTolerance is how old an envelope may be: SNS retries a delivery for up to an hour, and repeats its timestamp.
const SNSTolerance = 75 * time.Minute

// snsHosts are the domains of Amazon's services, by the partition in an ARN.
var snsHosts = map[string]string{
	"aws": "amazonaws.com", "aws-us-gov": "amazonaws.com", "aws-cn": "amazonaws.com.cn", "aws-eusc": "amazonaws.eu",
}

var (
	snsRegion = regexp.MustCompile(`^[a-z]{2,4}(?:-[a-z]+)+-[0-9]{1,2}$`)
	snsCert   = regexp.MustCompile(`^/SimpleNotificationService-[0-9A-Za-z]{1,64}\.pem$`)
)

// Check refuses an envelope that Amazon SNS has not signed. It accepts messages of the topics with these ARNs, and of every topic if
// there are none. The sender is the address of whoever delivers the envelope: each has a budget of certificates that are not known yet.
func (s *SNS) Check(ctx context.Context, e Envelope, sender string, topics []string, tolerance time.Duration) error {
	if len(topics) > 0 && !slices.Contains(topics, e.TopicArn) {
		return fmt.Errorf("%w: %.200q", ErrTopic, e.TopicArn)
	}
	// A time zone of the sender's would still be a moment; SNS writes UTC.
	if at, err := time.Parse(time.RFC3339, e.Timestamp); err != nil || s.now().Sub(at).Abs() > tolerance {
		return ErrOldEnvelope
	}
	signature, err := base64.StdEncoding.DecodeString(e.Signature)
	if err != nil || len(signature) == 0 {
		return fmt.Errorf("%w: it has no signature", ErrEnvelope)
	}
	at, err := e.ours(e.SigningCertURL)
	if err == nil && (!snsCert.MatchString(at.EscapedPath()) || at.RawQuery != "" || at.ForceQuery) {
		err = errors.New("it is not the address of a certificate of SNS")
	}
	if err != nil {
		return fmt.Errorf("%w: SigningCertURL: %w", ErrEnvelope, err)
	}
	cert, err := s.certificate(ctx, at.String(), sender)
	if err != nil {
		return err
	}
	key, ok := cert.PublicKey.(*rsa.PublicKey)
	if !ok || s.now().Before(cert.NotBefore) || s.now().After(cert.NotAfter) {
		return fmt.Errorf("%w: its certificate is not valid now", ErrEnvelope)
	}
	if !e.verify(key, signature) {
		return fmt.Errorf("%w: the signature is that of another message", ErrEnvelope)
	}
	return nil
}

func (e Envelope) verify(key *rsa.PublicKey, signature []byte) bool {
	switch e.SignatureVersion {
	case "1":
		sum := sha1.Sum([]byte(e.signed())) //nolint:gosec // see the import
		return rsa.VerifyPKCS1v15(key, crypto.SHA1, sum[:], signature) == nil
	case "2":
		sum := sha256.Sum256([]byte(e.signed()))
		return rsa.VerifyPKCS1v15(key, crypto.SHA256, sum[:], signature) == nil
	}
	return false
}

// ours parses a URL of an envelope, which must be on the SNS host of the topic's own region.
func (e Envelope) ours(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" || u.User != nil || u.Fragment != "" || u.Opaque != "" {
		return nil, errors.New("it is not an https address of Amazon SNS")
	}
	arn := strings.Split(e.TopicArn, ":")
	if len(arn) != 6 || arn[2] != "sns" || snsHosts[arn[1]] == "" || !snsRegion.MatchString(arn[3]) {
		return nil, fmt.Errorf("%.200q is not the ARN of a topic", e.TopicArn)
	}
	if u.Host != "sns."+arn[3]+"."+snsHosts[arn[1]] {
		return nil, fmt.Errorf("%.100q is not the host of Amazon SNS in the topic's region", u.Host)
	}
	return u, nil
}

// Confirm confirms the subscription of an envelope that Check has accepted.
func (s *SNS) Confirm(ctx context.Context, e Envelope) error {
	at, err := e.ours(e.SubscribeURL)
	if err == nil {
		query, wrong := url.ParseQuery(at.RawQuery)
		want := url.Values{"Action": {"ConfirmSubscription"}, "TopicArn": {e.TopicArn}, "Token": {e.Token}}
		if wrong != nil || at.EscapedPath() != "/" || !reflect.DeepEqual(query, want) {
			err = errors.New("it does not confirm the subscription of this topic by this token")
		}
	}
	if err != nil {
		return fmt.Errorf("%w: SubscribeURL: %w", ErrEnvelope, err)
	}
	_, err = s.get(ctx, at.String())
	return err
}
