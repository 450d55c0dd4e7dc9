// Package runbooktest serves runbooks to tests, over TLS and under any host name.
package runbooktest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/knowledge/runbook"
	"github.com/inquest-dev/inquest/internal/knowledge/runbook/internal/network"
)

// Public is an address that hosts have unless a test says otherwise. Nothing is sent to it: all connections go to the
// test's server.
const Public = "140.82.112.3"

// World is a network with one server, which has a valid certificate for every host. Its fields must not be changed after
// the first fetch.
type World struct {
	// Handler serves the requests to all hosts.
	Handler http.Handler
	// Addresses returns the addresses of a host at its n-th resolution, from 1. Nil means Public.
	Addresses func(host string, n int) []string
	// Within limits a fetch. Zero means a minute.
	Within time.Duration
	// Now is the clock of the cache. Nil means the real one.
	Now func() time.Time
	// Lookup replaces the resolution of names, and Connect that of connections.
	Lookup  func(ctx context.Context, host string) ([]netip.Addr, error)
	Connect func(ctx context.Context, to netip.AddrPort) (net.Conn, error)

	mu       sync.Mutex
	server   net.Addr
	resolved map[string]int
	dialed   []netip.AddrPort
}

// Fetcher starts the server and returns a fetcher that uses this network.
func (w *World) Fetcher(t testing.TB, settings func() runbook.Settings) *runbook.Fetcher {
	t.Helper()
	ca := newAuthority(t)
	server := httptest.NewUnstartedServer(w.Handler)
	server.TLS = &tls.Config{GetCertificate: ca.certificate}
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.StartTLS()
	t.Cleanup(server.Close)
	w.mu.Lock()
	w.server = server.Listener.Addr()
	w.mu.Unlock()
	n := network.Real()
	n.Roots, n.Within, n.Lookup = ca.pool(), time.Minute, w.lookup
	n.Connect = func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
		w.mu.Lock()
		w.dialed = append(w.dialed, to)
		w.mu.Unlock()
		if w.Connect != nil {
			return w.Connect(ctx, to)
		}
		return w.Reach(ctx, to)
	}
	if w.Within > 0 {
		n.Within = w.Within
	}
	if w.Now != nil {
		n.Now = w.Now
	}
	return runbook.NewOn(n, settings)
}

func (w *World) lookup(ctx context.Context, host string) (addrs []netip.Addr, err error) {
	if w.Lookup != nil {
		return w.Lookup(ctx, host)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.resolved == nil {
		w.resolved = map[string]int{}
	}
	w.resolved[host]++
	texts := []string{Public}
	if w.Addresses != nil {
		texts = w.Addresses(host, w.resolved[host])
	}
	for _, text := range texts {
		addr, err := netip.ParseAddr(text)
		if err != nil {
			return nil, err
		}
		addrs = append(addrs, addr)
	}
	return addrs, nil
}

// Reach connects to the server, whatever the address.
func (w *World) Reach(ctx context.Context, _ netip.AddrPort) (net.Conn, error) {
	w.mu.Lock()
	server := w.server.String()
	w.mu.Unlock()
	return new(net.Dialer).DialContext(ctx, "tcp", server)
}

// Dialed returns the addresses that were connected to, in order.
func (w *World) Dialed() []netip.AddrPort {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]netip.AddrPort(nil), w.dialed...)
}

// authority is a certificate authority that certifies every host.
type authority struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

func newAuthority(t testing.TB) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ca := &authority{key: key, cert: &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "runbooktest"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}}
	der, err := x509.CreateCertificate(rand.Reader, ca.cert, ca.cert, &key.PublicKey, key)
	if err == nil {
		ca.cert, err = x509.ParseCertificate(der)
	}
	if err != nil {
		t.Fatal(err)
	}
	return ca
}

func (ca *authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(ca.cert)
	return pool
}

func (ca *authority) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if hello.ServerName == "" {
		return nil, errors.New("the client names no host")
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), DNSNames: []string{hello.ServerName}, KeyUsage: x509.KeyUsageDigitalSignature,
		NotBefore: ca.cert.NotBefore, NotAfter: ca.cert.NotAfter, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, ca.cert, &ca.key.PublicKey, ca.key)
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: ca.key}, err
}
