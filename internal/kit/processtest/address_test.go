package processtest

import (
	"net"
	"testing"
)

// No address is returned twice, and each can be listened on.
func TestFreeAddress(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 50 {
		address, err := FreeAddress()
		if err != nil || seen[address] {
			t.Fatalf("%s again, or %v", address, err)
		}
		seen[address] = true
		if mark, err := net.ListenPacket("udp", address); err == nil {
			_ = mark.Close()
			t.Errorf("%s is not marked", address)
		}
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		_ = l.Close()
	}
}
