package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestSecrecy checks the interpretation of addresses, the environment and a service file.
func TestSecrecy(t *testing.T) {
	service := filepath.Join(t.TempDir(), "services")
	err := os.WriteFile(service, []byte("[plain]\nhost=db.example\n[full]\nhost=db.example\nsslmode=verify-full\n"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		dsn  string
		env  map[string]string
		want Secrecy
		kind error
	}{
		"nothing said":            {dsn: "postgres://u:p@db.example/d", kind: ErrCleartext},
		"an address of IPv4":      {dsn: "postgres://u:p@192.0.2.1/d", kind: ErrCleartext},
		"prefer":                  {dsn: "postgres://u:p@db.example/d?sslmode=prefer", kind: ErrCleartext},
		"allow":                   {dsn: "postgres://u:p@db.example/d?sslmode=allow", kind: ErrCleartext},
		"disable":                 {dsn: "postgres://u:p@db.example/d?sslmode=disable", want: Clear},
		"require":                 {dsn: "postgres://u:p@db.example/d?sslmode=require", want: Unverified},
		"verify-ca":               {dsn: "postgres://u:p@db.example/d?sslmode=verify-ca"},
		"verify-full":             {dsn: "postgres://u:p@db.example/d?sslmode=verify-full"},
		"loopback":                {dsn: "postgres://u:p@127.0.0.1/d"},
		"loopback of IPv6":        {dsn: "postgres://u:p@[::1]/d"},
		"localhost":               {dsn: "postgres://u:p@localhost/d"},
		"a socket":                {dsn: "postgres:///d?host=/run/postgresql"},
		"a name like loopback's":  {dsn: "postgres://u:p@localhost.example/d", kind: ErrCleartext},
		"the second of two hosts": {dsn: "postgres://u:p@127.0.0.1,db.example/d", kind: ErrCleartext},
		"two hosts, verified":     {dsn: "postgres://u:p@a.example,b.example/d?sslmode=verify-full"},
		"PGSSLMODE":               {dsn: "postgres://u:p@db.example/d", env: map[string]string{"PGSSLMODE": "verify-full"}},
		"PGSSLMODE, overruled": {dsn: "postgres://u:p@db.example/d?sslmode=allow", env: map[string]string{"PGSSLMODE": "verify-full"},
			kind: ErrCleartext},
		"PGHOST":                    {dsn: "postgres:///d", env: map[string]string{"PGHOST": "db.example"}, kind: ErrCleartext},
		"a service":                 {dsn: "postgres:///d?service=plain&servicefile=" + service, kind: ErrCleartext},
		"a service, verified":       {dsn: "postgres:///d?service=full", env: map[string]string{"PGSERVICEFILE": service}},
		"a host within the setting": {dsn: "postgres:///d?host=db.example", kind: ErrCleartext},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for name, value := range test.env {
				t.Setenv(name, value)
			}
			got, err := SecrecyOf(test.dsn)
			if !errors.Is(err, test.kind) || got != test.want && test.kind == nil {
				t.Errorf("SecrecyOf(%s) = %q, %v", test.dsn, got, err)
			}
		})
	}
}

// A man in the middle without TLS that asks for a cleartext password gets none. If the address does not mention TLS, it is not even
// dialled.
func TestPasswordIsNotGivenAway(t *testing.T) {
	t.Parallel()
	received := make(chan string, 100)
	listener := inTheMiddle(t, received)
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	host, ok := addressOfThisHost()
	if !ok {
		t.Skip("this host has no address beyond loopback")
	}
	for _, mode := range []string{"", "?sslmode=prefer", "?sslmode=verify-full", "?sslmode=require"} {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		s, err := Open(ctx, At("postgres://inquest:S3cretPw@"+net.JoinHostPort(host, port)+"/inquest"+mode))
		cancel()
		if err == nil {
			s.Close()
			t.Errorf("%q: opened", mode)
		}
	}
	if len(received) > 0 {
		t.Errorf("a password was sent: %q", <-received)
	}
	if s, err := Open(t.Context(), At("postgres://inquest:S3cretPw@"+net.JoinHostPort(host, port)+"/inquest?sslmode=disable")); err == nil {
		s.Close()
	}
	if said := <-received; !strings.Contains(said, "S3cretPw") { // the server does ask
		t.Errorf("without TLS it was sent %q", said)
	}
}

// inTheMiddle speaks PostgreSQL up to the password: it refuses TLS (N) and asks for a cleartext password
// (AuthenticationCleartextPassword).
func inTheMiddle(t *testing.T, received chan<- string) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				for {
					var length [4]byte
					if _, err := io.ReadFull(conn, length[:]); err != nil {
						return
					}
					rest := make([]byte, min(binary.BigEndian.Uint32(length[:])-4, 1<<16))
					if _, err := io.ReadFull(conn, rest); err != nil {
						return
					}
					if bytes.Equal(rest, []byte{4, 210, 22, 47}) { // SSLRequest
						_, _ = conn.Write([]byte("N"))
						continue
					}
					_, _ = conn.Write([]byte{'R', 0, 0, 0, 8, 0, 0, 0, 3})
					answer, _ := io.ReadAll(io.LimitReader(conn, 14))
					received <- string(answer)
					return
				}
			}()
		}
	}()
	return listener
}

func addressOfThisHost() (string, bool) {
	addresses, _ := net.InterfaceAddrs()
	for _, a := range addresses {
		if ip, ok := a.(*net.IPNet); ok && ip.IP.To4() != nil && !ip.IP.IsLoopback() {
			return ip.IP.String(), true
		}
	}
	return "", false
}
