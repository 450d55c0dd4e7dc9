package webhook

import (
	"context"
	"crypto"
	"crypto/rsa"
	"crypto/sha1" //nolint:gosec // SignatureVersion 1 of Amazon SNS, which is still its default
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
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

// ReadEnvelope returns the SNS envelope that a body is. The second result is false for any other body.
func ReadEnvelope(body []byte) (e Envelope, ok bool) {
	plain, err := plainText(body)
	if err != nil || json.Unmarshal(plain, &e) != nil {
		return Envelope{}, false
	}
	types := []string{snsNotification, snsSubscribe, snsUnsubscribe}
	return e, slices.Contains(types, e.Type) && e.TopicArn != "" && e.MessageID != ""
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

const (
	snsTimeout    = 10 * time.Second
	maxCert       = 64 << 10
	maxCerts      = 64
	certsInMinute = 10 // requests for certificates that are not known yet
	// SNSTolerance is how old an envelope may be: SNS retries a delivery for up to an hour, and repeats its timestamp.
	SNSTolerance = 75 * time.Minute
)

var (
	snsHost = regexp.MustCompile(`^sns\.([a-z]{2}(?:-[a-z]+)+-[0-9]{1,2})\.amazonaws\.com(?:\.cn)?$`)
	snsCert = regexp.MustCompile(`^/SimpleNotificationService-[0-9A-Za-z]{1,64}\.pem$`)
)

// SNS checks the signatures of Amazon SNS and confirms subscriptions. It asks Amazon's hosts, and no others. It may be used by
// several goroutines at once.
type SNS struct {
	client *http.Client
	now    func() time.Time

	mu     sync.Mutex
	certs  map[string]*x509.Certificate
	minute time.Time // in which fetched certificates are counted
	asked  int
}

// NewSNS returns a checker that asks Amazon by transport; nil means http.DefaultTransport. The clock is time.Now if now is nil.
func NewSNS(transport http.RoundTripper, now func() time.Time) *SNS {
	if now == nil {
		now = time.Now
	}
	return &SNS{now: now, certs: map[string]*x509.Certificate{}, client: &http.Client{
		Transport: transport, Timeout: snsTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Check refuses an envelope that Amazon SNS has not signed. Topics are the ARNs that count; without any, all do.
func (s *SNS) Check(ctx context.Context, e Envelope, topics []string, tolerance time.Duration) error {
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
	if err == nil && (!snsCert.MatchString(at.Path) || at.RawQuery != "") {
		err = errors.New("it is no certificate of SNS")
	}
	if err != nil {
		return fmt.Errorf("%w: SigningCertURL: %w", ErrEnvelope, err)
	}
	cert, err := s.certificate(ctx, at.String())
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
		return nil, errors.New("it is no https address of Amazon SNS")
	}
	found, arn := snsHost.FindStringSubmatch(u.Host), strings.Split(e.TopicArn, ":")
	if found == nil || len(arn) != 6 || arn[2] != "sns" || found[1] != arn[3] {
		return nil, fmt.Errorf("%.100q is not the host of Amazon SNS in the topic's region", u.Host)
	}
	return u, nil
}

func (s *SNS) certificate(ctx context.Context, address string) (*x509.Certificate, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if cert := s.certs[address]; cert != nil {
		return cert, nil
	}
	// Whoever names a topic can make up addresses of certificates: that must not become a flood.
	if now := s.now(); now.Sub(s.minute) >= time.Minute {
		s.minute, s.asked = now, 0
	}
	if s.asked++; s.asked > certsInMinute {
		return nil, fmt.Errorf("%w: more than %d certificates in a minute", ErrSNS, certsInMinute)
	}
	raw, err := s.get(ctx, address)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(raw)
	if block == nil {
		return nil, fmt.Errorf("%w: SigningCertURL has no certificate", ErrEnvelope)
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%w: SigningCertURL: %w", ErrEnvelope, err)
	}
	if len(s.certs) >= maxCerts {
		clear(s.certs)
	}
	s.certs[address] = cert
	return cert, nil
}

// Confirm confirms the subscription of an envelope that Check has accepted.
func (s *SNS) Confirm(ctx context.Context, e Envelope) error {
	at, err := e.ours(e.SubscribeURL)
	if err == nil && at.Query().Get("Action") != "ConfirmSubscription" {
		err = errors.New("it does not confirm a subscription")
	}
	if err != nil {
		return fmt.Errorf("%w: SubscribeURL: %w", ErrEnvelope, err)
	}
	_, err = s.get(ctx, at.String())
	return err
}

func (s *SNS) get(ctx context.Context, address string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	answer, err := s.client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSNS, err)
	}
	defer func() { _ = answer.Body.Close() }()
	raw, err := io.ReadAll(io.LimitReader(answer.Body, maxCert))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrSNS, err)
	case answer.StatusCode == http.StatusOK:
		return raw, nil
	case answer.StatusCode >= http.StatusInternalServerError || answer.StatusCode == http.StatusTooManyRequests:
		return nil, fmt.Errorf("%w: it answers %s", ErrSNS, answer.Status)
	}
	return nil, fmt.Errorf("%w: Amazon answers %s", ErrEnvelope, answer.Status)
}
