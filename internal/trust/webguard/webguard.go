// Package webguard protects servers without authentication from foreign web pages.
// Listening on this host only is not enough: a browser on this host sends requests
// for any page whose owner lets its name resolve to our address (DNS rebinding).
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

// Handler serves requests whose Host is an address of this host, "localhost" or one
// of the names, and answers others with 403. (Nobody else can own the first two.)
// Requests from pages of other origins get 403 too.
func Handler(next http.Handler, names ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !Known(r, names...):
			http.Error(w, "This host name is not allowed: use localhost, or configure it (system.http.hosts, dev --ui-host, worker guard --name).",
				http.StatusForbidden)
		case !sameOrigin(r):
			http.Error(w, "Requests from pages of other origins are refused.", http.StatusForbidden)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// Known reports whether a request names a host that Handler would serve.
func Known(r *http.Request, names ...string) bool {
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return allowed(r.Host, local, names)
}

// allowed reports whether a Host header names this server. local is the address that
// received the request; nil means unknown.
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

// split separates host and port. It accepts only forms that browsers send.
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

// isPort reports whether text is empty, or a colon and a port.
func isPort(text string) bool {
	digits, found := strings.CutPrefix(text, ":")
	if !found {
		return text == ""
	}
	_, err := strconv.ParseUint(digits, 10, 16)
	return err == nil && digits[0] != '+'
}

// equal compares names, ignoring the case of ASCII letters only: Unicode folding would
// also equate other characters with them, such as the Kelvin sign with k.
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

// sameOrigin reports whether a request comes from a page of this server, or from no
// page: browsers send Origin with each request that can read responses or has effects.
func sameOrigin(r *http.Request) bool {
	for _, origin := range r.Header.Values("Origin") {
		u, err := url.Parse(origin)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || !equal(u.Host, r.Host) {
			return false
		}
	}
	return true
}

// Proxy forwards the requests that Handler accepts to another server, unchanged.
func Proxy(to *url.URL, names ...string) http.Handler {
	return Handler(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.Host = r.In.Host
	}}, names...)
}
