package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Signature describes how a sender signs: a header holds the HMAC-SHA256 of the body in hexadecimal.
type Signature struct {
	Header string
	Prefix string // of each signature in the header; others are ignored
	// TimestampHeader holds the time that is signed before the body, separated by a colon, in seconds since 1970. Empty means none.
	TimestampHeader string
	Tolerance       time.Duration // largest difference between the timestamp and now
	Secrets         []string      // all of them are valid
	// Topics holds the ARNs of the Amazon SNS topics whose messages are accepted with Amazon's signature. SNSTolerance is the maximum age
	// of such a message.
	Topics       []string
	SNSTolerance time.Duration
}

// Signs reports whether a signature can replace a token.
func (s Signature) Signs() bool { return len(s.Secrets)+len(s.Topics) > 0 }

// schemes holds the headers and prefixes of known senders.
var schemes = map[string]Signature{
	"grafana":   {Header: "X-Grafana-Alerting-Signature"},
	"pagerduty": {Header: "X-PagerDuty-Signature", Prefix: "v1="},
	"github":    {Header: "X-Hub-Signature-256", Prefix: "sha256="},
}

// SchemeOf returns the scheme with a name, without secrets.
func SchemeOf(name string) Signature { return schemes[name] }

// SchemeNames returns the names of all schemes.
func SchemeNames() []string { return slices.Sorted(maps.Keys(schemes)) }

// Reasons for refusing a request.
var (
	ErrUnsigned = errors.New("the signature is missing, or it does not match the body with any configured secret")
	ErrReplayed = errors.New("the signature's timestamp is missing, or too far from the current time")
)

// Check refuses a body without a valid signature. It compares every signature for every secret, in constant time.
func (s Signature) Check(header http.Header, body []byte, now time.Time) error {
	stamp := ""
	if s.TimestampHeader != "" {
		stamp = header.Get(s.TimestampHeader)
		seconds, err := strconv.ParseInt(stamp, 10, 64)
		if err != nil || now.Sub(time.Unix(seconds, 0)).Abs() > s.Tolerance {
			return ErrReplayed
		}
		stamp += ":"
	}
	known := false
	for _, secret := range s.Secrets {
		sum := hmac.New(sha256.New, []byte(secret))
		sum.Write([]byte(stamp))
		sum.Write(body)
		want := sum.Sum(nil)
		for said := range strings.SplitSeq(strings.Join(header.Values(s.Header), ","), ",") {
			given, ok := strings.CutPrefix(strings.TrimSpace(said), s.Prefix)
			got, err := hex.DecodeString(given)
			if same := hmac.Equal(got, want); same && ok && err == nil && secret != "" {
				known = true
			}
		}
	}
	if !known {
		return ErrUnsigned
	}
	return nil
}
