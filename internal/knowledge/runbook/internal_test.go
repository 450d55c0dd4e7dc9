package runbook

import (
	"fmt"
	"net/netip"
	"testing"
	"time"
)

func TestPublic(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"140.82.112.3": true, "8.8.8.8": true, "172.32.0.1": true, "100.128.0.1": true, "223.255.255.1": true,
		"2606:50c0:8000::154": true, "2a00:1450:4001::1": true, "::ffff:140.82.112.3": true, "64:ff9b::8c52:7003": true,

		"0.0.0.0": false, "0.1.2.3": false, "10.0.0.1": false, "100.64.0.1": false, "100.127.255.255": false, "127.0.0.1": false,
		"127.255.0.1": false, "169.254.169.254": false, "172.16.0.1": false, "172.31.255.255": false, "192.0.0.8": false,
		"192.0.2.1": false, "192.88.99.1": false, "192.168.0.1": false, "198.18.0.1": false, "198.19.255.255": false,
		"198.51.100.1": false, "203.0.113.1": false, "224.0.0.1": false, "239.255.255.255": false, "240.0.0.1": false,
		"255.255.255.255": false,

		"::": false, "::1": false, "::7f00:1": false, "::ffff:10.0.0.1": false, "::ffff:0:7f00:1": false, "fe80::1": false,
		"fe80::1%eth0": false, "2606:50c0:8000::154%eth0": false, "fc00::1": false, "fd12::1": false, "fec0::1": false, "ff02::1": false,
		"64:ff9b::7f00:1": false, "64:ff9b::a00:1": false, "64:ff9b::a9fe:a9fe": false, "64:ff9b:1::1": false, "100::1": false,
		"2001::1": false, "2001:db8::1": false, "2002:7f00:1::": false, "2002:8c52:7003::": false, "3fff::1": false, "5f00::1": false,
	} {
		if got := public(netip.MustParseAddr(text)); got != want {
			t.Errorf("public(%s) = %v", text, got)
		}
	}
	if public(netip.Addr{}) {
		t.Error("no address is public")
	}
}

func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 17, 14, 0, 0, 0, time.UTC)
	c := newCache(func() time.Time { return now })
	for n := range 3 * maxCached {
		now = now.Add(time.Second)
		c.put(fmt.Sprint(n), "text")
		c.put(fmt.Sprint(n), "text") // again, which replaces nothing else
	}
	if len(c.entries) != maxCached {
		t.Errorf("%d entries", len(c.entries))
	}
	if _, ok := c.get(fmt.Sprint(2*maxCached-1), time.Hour); ok {
		t.Error("an old entry is kept")
	}
	if _, ok := c.get(fmt.Sprint(2*maxCached), time.Hour); !ok {
		t.Error("a new entry is missing")
	}
}
