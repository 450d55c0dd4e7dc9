package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// temporalKey is the API key of the gateway.
const temporalKey = "temporal-key-never-to-be-seen"

// gateway stands in front of Temporal, like a cloud's gateway: it speaks TLS with a certificate from a private
// authority, and admits clients with the API key or a certificate from that authority.
type gateway struct {
	address   string
	authority *authority
	mu        sync.Mutex
	callers   map[string]bool // methods that were called with the key
}

func newGateway(t *testing.T, temporal string) *gateway {
	t.Helper()
	g := &gateway{authority: newAuthority(t), callers: map[string]bool{}}
	plain := new(http.Transport)
	plain.Protocols = new(http.Protocols)
	plain.Protocols.SetUnencryptedHTTP2(true)
	silent := log.New(io.Discard, "", 0)
	// There is no FlushInterval: with one, the proxy might send the headers of a header-only response before
	// its end, and gRPC reads a status only from the end of a stream.
	forward := &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: "http", Host: temporal}) },
		Transport: plain, ErrorLog: silent,
	}
	server := httptest.NewUnstartedServer(g.guard(forward))
	server.EnableHTTP2, server.Config.ErrorLog = true, silent
	server.TLS = &tls.Config{
		Certificates: []tls.Certificate{g.authority.issue(t)},
		ClientCAs:    g.authority.pool(), ClientAuth: tls.VerifyClientCertIfGiven,
	}
	server.StartTLS()
	t.Cleanup(func() { server.Config.Close() }) // long polls would block
	g.address = server.Listener.Addr().String()
	return g
}

// guard rejects clients without key or certificate, with a gRPC status.
func (g *gateway) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		byKey := r.Header.Get("Authorization") == "Bearer "+temporalKey
		if !byKey && len(r.TLS.VerifiedChains) == 0 {
			w.Header().Set("Content-Type", "application/grpc")
			w.Header().Set("Grpc-Status", "16")
			w.Header().Set("Grpc-Message", "who are you?")
			return
		}
		if byKey {
			g.mu.Lock()
			g.callers[filepath.Base(r.URL.Path)] = true
			g.mu.Unlock()
		}
		next.ServeHTTP(w, r)
	})
}

// calledByKey reports whether a method was called with the key.
func (g *gateway) calledByKey(method string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.callers[method]
}

// authority makes certificates for loopback addresses.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	file        string // its certificate
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{key: newKey(t), file: filepath.Join(t.TempDir(), "authority.pem")}
	a.certificate = &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "tests"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	der := a.sign(t, a.certificate, a.key)
	var err error
	if a.certificate, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	writePEM(t, a.file, "CERTIFICATE", der)
	return a
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func (a *authority) sign(t *testing.T, template *x509.Certificate, key *ecdsa.PrivateKey) []byte {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

func (a *authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.certificate)
	return pool
}

// issue makes a certificate for a server, or a client.
func (a *authority) issue(t *testing.T) tls.Certificate {
	t.Helper()
	key := newKey(t)
	der := a.sign(t, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "loopback"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// clientFiles makes a certificate and its key as files.
func (a *authority) clientFiles(t *testing.T) (certificate, key string) {
	t.Helper()
	issued, dir := a.issue(t), t.TempDir()
	der, err := x509.MarshalPKCS8PrivateKey(issued.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	certificate, key = filepath.Join(dir, "client.pem"), filepath.Join(dir, "client.key")
	writePEM(t, certificate, "CERTIFICATE", issued.Certificate[0])
	writePEM(t, key, "PRIVATE KEY", der)
	return certificate, key
}

func writePEM(t *testing.T, path, kind string, der []byte) {
	t.Helper()
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
}
