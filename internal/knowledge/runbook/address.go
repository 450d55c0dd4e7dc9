package runbook

import "net/netip"

// special4 are the IPv4 networks that are not on the public Internet (RFC 6890 and its successors).
var special4 = prefixes(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24",
	"192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
)

// unicast6 is the part of IPv6 that is assigned to the public Internet, and special6 are exceptions within it: protocols
// such as Teredo and 6to4, which lead to an embedded IPv4 address, and documentation.
var (
	unicast6 = netip.MustParsePrefix("2000::/3")
	special6 = prefixes("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")
)

// nat64 holds addresses that a translator maps to the IPv4 address in their last four bytes (RFC 6052).
var nat64 = netip.MustParsePrefix("64:ff9b::/96")

func prefixes(texts ...string) (all []netip.Prefix) {
	for _, text := range texts {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}

// public reports whether an address is on the public Internet, in whatever form it is written.
func public(addr netip.Addr) bool {
	addr = addr.Unmap()
	if nat64.Contains(addr) {
		bytes := addr.As16()
		addr = netip.AddrFrom4([4]byte(bytes[12:]))
	}
	special := special4
	if !addr.Is4() {
		special = special6
		if addr.Zone() != "" || !unicast6.Contains(addr) {
			return false
		}
	}
	for _, network := range special {
		if network.Contains(addr) {
			return false
		}
	}
	return true
}
