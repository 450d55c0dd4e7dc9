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

// Signature says how a sender signs: a header has the HMAC-SHA256 of the body, in hexadecimal.
type Signature struct {
	Header string
	Prefix string // of each signature in the header; others are not looked at
	// TimestampHeader has the seconds since 1970 that are signed in front of the body, with a colon between; "" = none are.
	TimestampHeader string
	Tolerance       time.Duration // how far those may be from now
	Secrets         []string      // each of them counts
	// Topics are the ARNs of the Amazon SNS topics whose messages are accepted by Amazon's signature, and SNSTolerance how old those
	// may be.
	Topics       []string
	SNSTolerance time.Duration
}

// Signs reports whether senders may sign in place of giving a token.
func (s Signature) Signs() bool { return len(s.Secrets)+len(s.Topics) > 0 }

// schemes are the headers and prefixes of known senders.
var schemes = map[string]Signature{
	"grafana":   {Header: "X-Grafana-Alerting-Signature"},
	"pagerduty": {Header: "X-PagerDuty-Signature", Prefix: "v1="},
	"github":    {Header: "X-Hub-Signature-256", Prefix: "sha256="},
}

// SchemeOf is the scheme with a name, without secrets.
func SchemeOf(name string) Signature { return schemes[name] }

// SchemeNames are the names of all schemes.
func SchemeNames() []string { return slices.Sorted(maps.Keys(schemes)) }

// The reasons for which a request is refused.
var (
	ErrUnsigned = errors.New("the signature is missing, or not that of the body by a secret that is known")
	ErrReplayed = errors.New("the signature's timestamp is missing, or too far from now")
)

// Check refuses a body that is not signed as it has to be. Every signature is compared with every secret's, in constant time.
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
