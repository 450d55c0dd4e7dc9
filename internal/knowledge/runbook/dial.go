package runbook

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"time"

	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/kit/reveal"
)

// maxAddresses is how many addresses of a host are tried.
const maxAddresses = 4

var (
	// errPrivate means that a host has an address that is not on the public Internet.
	errPrivate = errors.New("its host resolves to a private or local address; only public addresses are allowed")
	errSlow    = errors.New("it did not arrive in time")
)

// dialUnder returns the dial function of a request. The name is resolved once, all addresses are checked, and the connection
// is to a checked address, so a name that changes its address in between (DNS rebinding) gains nothing. The context of
// http.Transport has no deadline, so the request's own is used.
func (f *Fetcher) dialUnder(ctx context.Context) func(_ context.Context, _, address string) (net.Conn, error) {
	return func(_ context.Context, _, address string) (net.Conn, error) {
		host, portText, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		port, err := strconv.ParseUint(portText, 10, 16)
		if err != nil {
			return nil, err
		}
		addrs, err := f.network.Lookup(ctx, host)
		if err != nil {
			return nil, err
		}
		for _, addr := range addrs {
			if !public(addr) {
				return nil, errPrivate
			}
		}
		return f.connect(ctx, addrs[:min(len(addrs), maxAddresses)], uint16(port))
	}
}

// connect connects to the first address that accepts. Each gets an equal share of the remaining time.
func (f *Fetcher) connect(ctx context.Context, addrs []netip.Addr, port uint16) (net.Conn, error) {
	deadline, _ := ctx.Deadline() // Fetch has set one
	err := error(&net.DNSError{Err: "no addresses", IsNotFound: true})
	for n, addr := range addrs {
		var conn net.Conn
		share := time.Until(deadline) / time.Duration(len(addrs)-n)
		trying, cancel := context.WithTimeout(ctx, share)
		conn, err = f.network.Connect(trying, netip.AddrPortFrom(addr.Unmap(), port))
		cancel()
		if err == nil {
			return conn, conn.SetDeadline(deadline) // also for the TLS handshake, which does not follow ctx
		}
	}
	return nil, err
}

// maxDetail is the maximum length of another program's message in an error, in bytes.
const maxDetail = 200

// plainly describes a failed exchange with a host, without our own addresses.
func plainly(host string, err error) error {
	switch {
	case errors.Is(err, errPrivate):
		return errPrivate
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return errSlow
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return fmt.Errorf("the host %s cannot be resolved", host)
	}
	if failed, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return fmt.Errorf("the certificate of %s is not valid: %s", host, detail(failed.Err))
	}
	if failed, ok := errors.AsType[*net.OpError](err); ok {
		return fmt.Errorf("the connection to %s failed: %s", host, detail(failed.Err))
	}
	return fmt.Errorf("the request to %s failed: %s", host, detail(err))
}

func detail(err error) string { return clip.Text(reveal.Text(err.Error()), maxDetail) }
