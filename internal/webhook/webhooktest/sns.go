// Package webhooktest provides fake webhook senders for tests.
package webhooktest

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1" //nolint:gosec // SignatureVersion 1 of Amazon SNS
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"io"
	"math/big"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// SNS imitates the HTTPS servers of Amazon SNS: it signs messages, serves its certificate and confirms subscriptions.
type SNS struct {
	key  *rsa.PrivateKey
	pem  []byte
	old  []byte // an expired certificate
	mu   sync.Mutex
	urls []string
}

// NewSNS returns an SNS whose certificate is valid at the given time.
func NewSNS(now time.Time) *SNS {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	certificate := func(from, to time.Time) []byte {
		template := &x509.Certificate{
			SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "sns.amazonaws.com"}, NotBefore: from, NotAfter: to,
		}
		der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
		if err != nil {
			panic(err)
		}
		return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	}
	return &SNS{
		key: key, pem: certificate(now.Add(-time.Hour), now.Add(24*time.Hour)),
		old: certificate(now.Add(-48*time.Hour), now.Add(-time.Hour)),
	}
}

// Sign signs the fields of an envelope as AWS documents it and adds the signature.
func (s *SNS) Sign(envelope map[string]any, version string) {
	names := []string{"Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"}
	if envelope["Type"] != "Notification" {
		names = []string{"Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"}
	}
	var text strings.Builder
	for _, name := range names {
		if value, ok := envelope[name].(string); ok {
			text.WriteString(name + "\n" + value + "\n")
		}
	}
	hash, sum := crypto.SHA1, sha1.Sum([]byte(text.String())) //nolint:gosec // see the import
	digest := sum[:]
	if version == "2" {
		long := sha256.Sum256([]byte(text.String()))
		hash, digest = crypto.SHA256, long[:]
	}
	signature, err := rsa.SignPKCS1v15(nil, s.key, hash, digest)
	if err != nil {
		panic(err)
	}
	envelope["SignatureVersion"], envelope["Signature"] = version, base64.StdEncoding.EncodeToString(signature)
}

// RoundTrip implements http.RoundTripper.
func (s *SNS) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	s.urls = append(s.urls, r.URL.String())
	s.mu.Unlock()
	answer := func(status int, body string) (*http.Response, error) {
		return &http.Response{
			StatusCode: status, Status: http.StatusText(status), Header: http.Header{"Location": {"https://evil.example/"}},
			Body: io.NopCloser(strings.NewReader(body)), Request: r,
		}, nil
	}
	switch path, token := r.URL.Path, r.URL.Query().Get("Token"); {
	case strings.HasSuffix(path, "-old.pem"):
		return answer(http.StatusOK, string(s.old))
	case strings.HasSuffix(path, "-away.pem"):
		return answer(http.StatusServiceUnavailable, "")
	case strings.HasSuffix(path, "-forbidden.pem"):
		return answer(http.StatusForbidden, "")
	case strings.HasSuffix(path, "-empty.pem"):
		return answer(http.StatusOK, "<html>")
	case strings.Contains(path, "-none"), token == "wrong":
		return answer(http.StatusNotFound, "")
	case strings.HasSuffix(path, ".pem"):
		return answer(http.StatusOK, string(s.pem))
	case token == "redirect":
		return answer(http.StatusFound, "")
	}
	return answer(http.StatusOK, "<ConfirmSubscriptionResponse/>")
}

// Asked returns the requested URLs.
func (s *SNS) Asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.urls)
}
