package tooltest

import (
	"net"
	"os"
	"path/filepath"
	"testing"
)

// Gate holds calls, so that a test knows that one is in progress, and can act (kill a worker) before it ends.
type Gate struct {
	// Path is the argument "gate" of a tool.
	Path     string
	listener net.Listener
}

// NewGate opens a gate for the duration of a test.
func NewGate(t testing.TB) *Gate {
	t.Helper()
	dir, err := os.MkdirTemp("", "gate") // not t.TempDir: the path of a socket is limited to 100 bytes
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "s")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		listener.Close()
		os.RemoveAll(dir)
	})
	return &Gate{Path: path, listener: listener}
}

// Wait waits for the next call to reach the gate. The call is held until release, or the end of the test.
func (g *Gate) Wait(t testing.TB) (release func()) {
	t.Helper()
	conn, err := g.listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return func() { conn.Close() }
}
