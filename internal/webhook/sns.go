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

// Types of SNS envelopes, as in the field Type and the header x-amz-sns-message-type.
const (
	snsNotification = "Notification"
	snsSubscribe    = "SubscriptionConfirmation"
	snsUnsubscribe  = "UnsubscribeConfirmation"
)

// An Envelope is what Amazon SNS posts to an HTTP endpoint: a message of a topic, or a notice about the subscription. See
// https://docs.aws.amazon.com/sns/latest/dg/sns-message-and-json-formats.html.
type Envelope struct {
	Type, MessageID, TopicArn, Message, Timestamp string
	Subject                                       *string // signed only if present
	Token, SubscribeURL                           string
	SignatureVersion, Signature, SigningCertURL   string
}

// snsFields are the fields of an envelope that ReadEnvelope reads. All are strings.
var snsFields = []string{
	"Type", "MessageId", "TopicArn", "Subject", "Message", "Timestamp", "Token", "SubscribeURL",
	"SignatureVersion", "Signature", "SigningCertURL",
}

// ReadEnvelope parses an SNS envelope; ok is false for any other body. The error says why a body that claims to be an envelope is not
// valid. JSON parsers disagree about keys that occur twice or with different case, and the signature covers fields separated by line
// breaks. ReadEnvelope therefore refuses an envelope that can be read in two ways.
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
			wrong = append(wrong, fmt.Errorf("%s is not a string", name))
		} else if text != nil {
			fields[name] = text
		}
		if name != key {
			wrong = append(wrong, fmt.Errorf("it has the key %.60q instead of %s", key, name))
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
		return Envelope{}, false, fmt.Errorf("invalid Amazon SNS envelope: %w", err)
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

// members returns the keys of a JSON object in their original order, with their values.
func members(body []byte) (keys []string, values []json.RawMessage, err error) {
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

// body returns the fields that the signature covers. Anyone can forge the others, such as MessageAttributes.
func (e Envelope) body() map[string]any {
	out := map[string]any{
		"Type": e.Type, "MessageId": e.MessageID, "TopicArn": e.TopicArn, "Message": e.Message, "Timestamp": e.Timestamp,
	}
	if e.Subject != nil {
		out["Subject"] = *e.Subject
	}
	return out
}

// Confirms reports whether the envelope asks for confirmation of a subscription.
func (e Envelope) Confirms() bool { return e.Type == snsSubscribe }

// Carries reports whether the envelope holds a message of the topic.
func (e Envelope) Carries() bool { return e.Type == snsNotification }

// signed returns the text that the signature covers: the names and values of these fields, sorted by name, one per line.
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

// Reasons for refusing an SNS envelope.
var (
	ErrTopic       = errors.New("the webhook does not accept messages from this SNS topic")
	ErrEnvelope    = errors.New("the SNS message cannot be verified as one from Amazon SNS")
	ErrOldEnvelope = errors.New("the SNS message's timestamp is missing, invalid or too far from the current time")
	// ErrSNS is temporary: Amazon SNS did not answer, or the limit of requests per minute was reached.
	ErrSNS = errors.New("the SNS message cannot be verified or confirmed at the moment")
)

// SNSTolerance is the maximum age of an envelope. SNS retries a delivery for up to an hour with the same timestamp.
const SNSTolerance = 75 * time.Minute

// snsHosts holds the domains of Amazon's services, by the partition in an ARN.
var snsHosts = map[string]string{
	"aws": "amazonaws.com", "aws-us-gov": "amazonaws.com", "aws-cn": "amazonaws.com.cn", "aws-eusc": "amazonaws.eu",
}

var (
	snsRegion = regexp.MustCompile(`^[a-z]{2,4}(?:-[a-z]+)+-[0-9]{1,2}$`)
	snsCert   = regexp.MustCompile(`^/SimpleNotificationService-[0-9A-Za-z]{1,64}\.pem$`)
)

// Check refuses an envelope that Amazon SNS has not signed. It accepts messages of the topics with these ARNs, or of any topic if there
// are none. sender is the address that delivered the envelope: each sender has a budget of unknown certificates.
func (s *SNS) Check(ctx context.Context, e Envelope, sender string, topics []string, tolerance time.Duration) error {
	if len(topics) > 0 && !slices.Contains(topics, e.TopicArn) {
		return fmt.Errorf("%w: %.200q", ErrTopic, e.TopicArn)
	}
	// SNS writes UTC, but a timestamp with another zone is valid too.
	if at, err := time.Parse(time.RFC3339, e.Timestamp); err != nil || s.now().Sub(at).Abs() > tolerance {
		return ErrOldEnvelope
	}
	signature, err := base64.StdEncoding.DecodeString(e.Signature)
	if err != nil || len(signature) == 0 {
		return fmt.Errorf("%w: it has no signature", ErrEnvelope)
	}
	at, err := e.ours(e.SigningCertURL)
	if err == nil && (!snsCert.MatchString(at.EscapedPath()) || at.RawQuery != "" || at.ForceQuery) {
		err = errors.New("it is not the URL of an Amazon SNS certificate")
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
		return fmt.Errorf("%w: its certificate is expired, not yet valid, or has no RSA key", ErrEnvelope)
	}
	if !e.verify(key, signature) {
		return fmt.Errorf("%w: the signature does not match the message", ErrEnvelope)
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

// ours parses a URL in an envelope. The URL must be on the SNS host of the topic's region.
func (e Envelope) ours(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" || u.User != nil || u.Fragment != "" || u.Opaque != "" {
		return nil, errors.New("it is not an https URL of Amazon SNS")
	}
	arn := strings.Split(e.TopicArn, ":")
	if len(arn) != 6 || arn[2] != "sns" || snsHosts[arn[1]] == "" || !snsRegion.MatchString(arn[3]) {
		return nil, fmt.Errorf("%.200q is not the ARN of an SNS topic", e.TopicArn)
	}
	if u.Host != "sns."+arn[3]+"."+snsHosts[arn[1]] {
		return nil, fmt.Errorf("%.100q is not the Amazon SNS host of the topic's region", u.Host)
	}
	return u, nil
}

// Confirm confirms the subscription in an envelope that Check has accepted.
func (s *SNS) Confirm(ctx context.Context, e Envelope) error {
	at, err := e.ours(e.SubscribeURL)
	if err == nil {
		query, wrong := url.ParseQuery(at.RawQuery)
		want := url.Values{"Action": {"ConfirmSubscription"}, "TopicArn": {e.TopicArn}, "Token": {e.Token}}
		if wrong != nil || at.EscapedPath() != "/" || !reflect.DeepEqual(query, want) {
			err = errors.New("the URL does not confirm the subscription to this topic with this token")
		}
	}
	if err != nil {
		return fmt.Errorf("%w: SubscribeURL: %w", ErrEnvelope, err)
	}
	_, err = s.get(ctx, at.String())
	return err
}
