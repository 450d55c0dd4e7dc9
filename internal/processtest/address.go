// Package processtest is for tests that start processes. It gives them addresses, and ends the processes with the
// test: also where the test binary is killed, as `go test` does when its time is up, and no cleanup runs.
package processtest

import (
	"net"
	"os"
	"strconv"
	"sync"
)

// given are the ports that this process has: each is marked by a socket of UDP, which other processes see.
var given struct {
	sync.Mutex
	marks []net.PacketConn
	tried int
}

// FreeAddress is one where nobody listens, host:port, and which no other call of FreeAddress returns while this process
// runs. Its port is below those that the kernel gives to whoever asks for any. So what is stopped there can be started
// there again.
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
