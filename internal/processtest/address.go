// Package processtest is for tests that start processes. It gives them addresses, and ends the processes with the
// test: also where the test binary is killed, as `go test` does when its time is up, and no cleanup runs.
package processtest

import (
	"fmt"
	"net"
	"os"
	"sync/atomic"
)

// tried counts the ports that this process has looked at.
var tried atomic.Int32

// FreeAddress is one where nobody listens, host:port. Its port is below those that the kernel gives to whoever
// asks for any, so what is stopped there can be started there again.
func FreeAddress() (address string, err error) {
	const first, ports = 20000, 10000
	for range ports {
		n := os.Getpid()*6180 + int(tried.Add(1)) // the processes of one run of tests begin far from one another
		address = fmt.Sprintf("127.0.0.1:%d", first+n%ports)
		var l net.Listener
		if l, err = net.Listen("tcp", address); err == nil {
			return address, l.Close()
		}
	}
	return "", err
}
