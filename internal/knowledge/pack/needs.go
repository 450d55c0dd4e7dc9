package pack

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"time"
)

// Host is the machine on which a server is to run.
type Host struct {
	Getenv func(name string) string
	// Programs reports whether a program is in PATH.
	Programs func(name string) bool
	// Exists reports whether a file is in the folder in which the worker starts.
	Exists func(name string) bool
	// Context returns the current context of the kubeconfig. An empty string means that there is none.
	Context func() string
	// Dial connects to host:port. Nil means that addresses are not tried.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// dialTimeout is the time that an address has to accept a connection.
const dialTimeout = 2 * time.Second

// Missing says why a pack cannot be used on a host, one problem each. None means that it can.
func (p Pack) Missing(ctx context.Context, host Host) (problems []string) {
	if command, _ := p.Command(); command != "" && !host.Programs(command) {
		problems = append(problems, fmt.Sprintf("%s is not in PATH: %s", command, p.install()))
	}
	if p.Kubeconfig && host.Context() == "" {
		problems = append(problems, "no kubeconfig with a current context: set KUBECONFIG")
	}
	if p.File.Name != "" && !host.Exists(p.File.Name) {
		problems = append(problems, fmt.Sprintf("%s is not in this folder. It must contain %s", p.File.Name, p.File.About))
	}
	for _, v := range p.Variables {
		value := host.Getenv(v.Name)
		switch {
		case value == "":
			problems = append(problems, fmt.Sprintf("%s is not set: %s", v.Name, v.About))
		case v.Address && host.Dial != nil:
			if err := host.reaches(ctx, value); err != nil {
				problems = append(problems, fmt.Sprintf("%s: %v", v.Name, err))
			}
		}
	}
	return problems
}

// install says how to get the program that starts the server.
func (p Pack) install() string {
	switch {
	case p.NPM != "":
		return "install Node.js (nodejs.org)"
	case p.PyPI != "":
		return "install uv (docs.astral.sh/uv)"
	}
	return "go install " + p.Go
}

// reaches connects to the address in a URL. Errors do not contain the URL, which may hold a password.
func (h Host) reaches(ctx context.Context, address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" {
		return fmt.Errorf("expected a URL, such as http://HOST:PORT")
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443", "postgres": "5432", "postgresql": "5432"}[u.Scheme]
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	conn, err := h.Dial(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if failed, ok := errors.AsType[*net.OpError](err); ok {
		err = failed.Err // without the address
	}
	if err != nil {
		return fmt.Errorf("cannot connect to %s: %w", net.JoinHostPort(u.Hostname(), port), err)
	}
	return conn.Close()
}
