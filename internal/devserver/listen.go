package devserver

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"
)

// AddressInUseError means that another program listens on the configured address.
type AddressInUseError struct {
	What string // which address: "listen" (the frontend) or "ui"
	Addr string // host:port
}

func (e *AddressInUseError) Error() string {
	return fmt.Sprintf("%s address %s is in use", e.What, e.Addr)
}

// addresses are the listening addresses of one server. The ports of the internal services are free ones, picked at every start, so
// that several servers can run in parallel.
type addresses struct {
	frontend, ui              *net.TCPAddr // ui is nil without a UI
	history, matching, worker *net.TCPAddr
}

// pickAddresses holds every address until all are found, so that none is used twice, and then releases them. Temporal and its UI
// open their listeners themselves, and end the process if they cannot.
func pickAddresses(listen, ui string) (addresses, error) {
	var p picker
	defer p.release()
	a := addresses{frontend: p.pick("listen", listen)}
	if ui != "" {
		a.ui = p.pick("ui", ui)
	}
	for _, inner := range []**net.TCPAddr{&a.history, &a.matching, &a.worker} {
		*inner = p.pick("inner", "127.0.0.1:0")
	}
	return a, p.err
}

// picker keeps the first error, so that callers need no checks between picks.
type picker struct {
	held []*net.TCPListener
	err  error
}

func (p *picker) pick(what, address string) *net.TCPAddr {
	if p.err != nil {
		return nil
	}
	want, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		p.err = fmt.Errorf("%s address %q: %w", what, address, err)
		return nil
	}
	if want.IP == nil { // ":7233"
		want.IP = net.IPv4zero
	}
	l, err := net.ListenTCP("tcp", want)
	if errors.Is(err, syscall.EADDRINUSE) {
		p.err = &AddressInUseError{What: what, Addr: address}
		return nil
	}
	if err != nil {
		p.err = fmt.Errorf("%s address %s: %w", what, address, err)
		return nil
	}
	p.held = append(p.held, l)
	got := l.Addr().(*net.TCPAddr)
	if want.Port == 0 {
		p.err = keepFromOthers(l)
	}
	return &net.TCPAddr{IP: want.IP, Port: got.Port}
}

func (p *picker) release() {
	for _, l := range p.held {
		_ = l.Close()
	}
}

// keepFromOthers makes the kernel skip the listener's port for a minute when a program asks for any free port. A connection that
// the listening side closes leaves the port in TIME_WAIT, in which it can still be bound by number (Go sets SO_REUSEADDR).
func keepFromOthers(l *net.TCPListener) error {
	out, err := net.Dial("tcp", dialAddress(l.Addr().(*net.TCPAddr)))
	if err != nil {
		return fmt.Errorf("reserve a port: %w", err)
	}
	defer out.Close()
	in, err := l.Accept()
	if err != nil {
		return fmt.Errorf("reserve a port: %w", err)
	}
	return in.Close()
}

// dialAddress is the address for clients on this host: for a listener on all interfaces, the loopback address.
func dialAddress(a *net.TCPAddr) string {
	ip := a.IP
	switch {
	case ip.Equal(net.IPv4zero):
		ip = net.IPv4(127, 0, 0, 1)
	case ip.Equal(net.IPv6unspecified):
		ip = net.IPv6loopback
	}
	return net.JoinHostPort(ip.String(), strconv.Itoa(a.Port))
}
