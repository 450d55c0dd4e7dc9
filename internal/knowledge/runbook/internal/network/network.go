// Package network is how runbooks are fetched over the network. Only packages below internal/knowledge/runbook can import it, so a
// program cannot replace the network, and tests can.
package network

import (
	"context"
	"crypto/x509"
	"net"
	"net/netip"
	"time"
)

// Network resolves names and connects to addresses. Every address is checked between the two.
type Network struct {
	// Lookup returns the addresses of a host.
	Lookup func(ctx context.Context, host string) ([]netip.Addr, error)
	// Connect connects to an address that was checked.
	Connect func(ctx context.Context, to netip.AddrPort) (net.Conn, error)
	// Roots are the trusted certificate authorities. Nil means those of the system.
	Roots *x509.CertPool
	// Within limits a fetch as a whole: resolution, redirects and the body.
	Within time.Duration
	// Now is the clock of the cache.
	Now func() time.Time
}

// within is the time limit of a fetch.
const within = 5 * time.Second

// Real returns the network of this host.
func Real() Network {
	return Network{
		Lookup: func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host+".") // with the dot, no search domain is appended
		},
		Connect: func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", to.String())
		},
		Within: within,
		Now:    time.Now,
	}
}
