// Package webguard keeps foreign web pages away from servers that ask nobody who
// they are. That only this host reaches a server is no wall: a browser here does,
// on behalf of any page whose name its owner lets resolve to an address of ours.
package webguard

import (
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// Handler serves requests that name a host of ours, and answers others with 403: an
// address of this host or "localhost" (nobody can make those names of theirs), or
// one of the names. Requests that a page of another origin makes are refused, too.
func Handler(next http.Handler, names ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !Known(r, names...):
			http.Error(w, "This server is not known by that name: use localhost, or tell it the name that you use.", http.StatusForbidden)
		case !sameOrigin(r):
			http.Error(w, "Pages of other origins are not served.", http.StatusForbidden)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// Known reports whether a request names a host of ours, as Handler has it.
func Known(r *http.Request, names ...string) bool {
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return allowed(r.Host, local, names)
}

// allowed reports whether a Host header is one of ours. local is where the request
// came in; nil = it is not known.
func allowed(header string, local net.Addr, names []string) bool {
	host, ok := split(header)
	if !ok {
		return false
	}
	for _, name := range append([]string{"localhost"}, names...) {
		if equal(host, strings.Trim(name, "[]")) {
			return true
		}
	}
	ip, err := netip.ParseAddr(host)
	if err != nil || ip.Zone() != "" {
		return false
	}
	return ip.Unmap().IsLoopback() || ip.Unmap() == addressOf(local)
}

// split takes host and port apart. Only what browsers send is taken.
func split(header string) (host string, ok bool) {
	if strings.HasPrefix(header, "[") {
		end := strings.IndexByte(header, ']')
		if end < 0 || !strings.Contains(header[:end], ":") {
			return "", false
		}
		return header[1:end], isPort(header[end+1:])
	}
	host, port, found := strings.Cut(header, ":")
	if found {
		port = ":" + port
	}
	return host, host != "" && isPort(port)
}

// isPort reports whether text is nothing, or a colon and a port.
func isPort(text string) bool {
	digits, found := strings.CutPrefix(text, ":")
	if !found {
		return text == ""
	}
	_, err := strconv.ParseUint(digits, 10, 16)
	return err == nil && digits[0] != '+'
}

// equal compares names without regard to ASCII case alone: to Unicode, K is also a
// letter outside of it.
func equal(a, b string) bool {
	lower := func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}
	return strings.Map(lower, a) == strings.Map(lower, b)
}

func addressOf(local net.Addr) netip.Addr {
	tcp, ok := local.(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}
	return tcp.AddrPort().Addr().Unmap()
}

// sameOrigin reports whether a request comes from a page of this very server, or
// from no page: browsers name the origin of all that can be read or has effects.
func sameOrigin(r *http.Request) bool {
	for _, origin := range r.Header.Values("Origin") {
		u, err := url.Parse(origin)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || !equal(u.Host, r.Host) {
			return false
		}
	}
	return true
}

// Proxy passes what Handler lets through on to another server, as it came.
func Proxy(to *url.URL, names ...string) http.Handler {
	return Handler(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.Host = r.In.Host
	}}, names...)
}
