// Package processtest supports tests that start processes. It provides addresses and ends the processes together with the test. That
// works even if no cleanup runs, for example because `go test` kills the test binary after a timeout.
package processtest

import (
	"net"
	"os"
	"strconv"
	"sync"
)

// given holds the ports assigned to this process. Each is marked by a UDP socket that other processes can detect.
var given struct {
	sync.Mutex
	marks []net.PacketConn
	tried int
}

// FreeAddress returns a host:port where nothing listens and that no other call returns while this process runs. The port is below the
// kernel's ephemeral ports, so a server that stops there can be started there again.
func FreeAddress() (address string, err error) {
	given.Lock()
	defer given.Unlock()
	const first, ports = 20000, 10000
	for range ports {
		given.tried++
		address = net.JoinHostPort("127.0.0.1", strconv.Itoa(first+(os.Getpid()*6180+given.tried)%ports))
		var mark net.PacketConn
		if mark, err = net.ListenPacket("udp", address); err != nil {
			continue
		}
		var l net.Listener
		if l, err = net.Listen("tcp", address); err == nil {
			given.marks = append(given.marks, mark)
			return address, l.Close()
		}
		_ = mark.Close()
	}
	return "", err
}
