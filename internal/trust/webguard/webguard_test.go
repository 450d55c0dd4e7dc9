package webguard

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
)

// TestHandler sends the bytes that browsers, and others, send.
func TestHandler(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "served") }),
		"inquest.example.com", "10.1.2.3"))
	t.Cleanup(server.Close)
	for name, tc := range map[string]struct {
		host, more string
		served     bool
	}{
		"address":               {host: "127.0.0.1:8233", served: true},
		"another loopback":      {host: "127.8.8.8", served: true},
		"localhost":             {host: "localhost:8233", served: true},
		"upper case":            {host: "LocalHost", served: true},
		"IPv6":                  {host: "[::1]:8233", served: true},
		"IPv6, long":            {host: "[0:0:0:0:0:0:0:1]", served: true},
		"IPv4 in IPv6":          {host: "[::ffff:127.0.0.1]:80", served: true},
		"a name of ours":        {host: "inquest.example.com:8233", served: true},
		"an address of ours":    {host: "10.1.2.3", served: true},
		"its own page":          {host: "localhost:8233", more: "Origin: http://localhost:8233", served: true},
		"behind TLS":            {host: "inquest.example.com", more: "Origin: https://inquest.example.com", served: true},
		"a foreign name":        {host: "evil.example:8233"},
		"a name like ours":      {host: "inquest.example.com.evil.example"},
		"below ours":            {host: "evil.inquest.example.com"},
		"below localhost":       {host: "evil.localhost"},
		"an address as a name":  {host: "127.0.0.1.nip.io"},
		"a trailing dot":        {host: "localhost."},
		"a leading dot":         {host: ".localhost"},
		"an address, dot":       {host: "127.0.0.1."},
		"short address":         {host: "127.1"},
		"a number":              {host: "2130706433"},
		"hexadecimal":           {host: "0x7f000001"},
		"octal":                 {host: "0177.0.0.1"},
		"any address":           {host: "0.0.0.0:8233"},
		"any IPv6 address":      {host: "[::]:8233"},
		"a foreign address":     {host: "192.0.2.1"},
		"user":                  {host: "localhost@evil.example"},
		"user before":           {host: "evil.example@localhost"},
		"user and password":     {host: "localhost:80@evil.example"},
		"two ports":             {host: "localhost:80:80"},
		"no port's number":      {host: "localhost:x"},
		"too large a port":      {host: "localhost:99999"},
		"empty port":            {host: "localhost:"},
		"IPv6 without brackets": {host: "::1"},
		"a name in brackets":    {host: "[localhost]"},
		"half a bracket":        {host: "[::1"},
		"after the bracket":     {host: "[::1].evil.example"},
		"a zone":                {host: "[fe80::1%25lo]"},
		"a path":                {host: "localhost/x"},
		"a list":                {host: "localhost, evil.example"},
		"wide letters":          {host: "ｌｏｃａｌｈｏｓｔ"},
		"none":                  {host: ""},
		"foreign origin":        {host: "localhost:8233", more: "Origin: http://evil.example"},
		"other port":            {host: "localhost:8233", more: "Origin: http://localhost:3000"},
		"other name of ours":    {host: "localhost:8233", more: "Origin: http://127.0.0.1:8233"},
		"no origin's name":      {host: "localhost:8233", more: "Origin: null"},
		"a file":                {host: "localhost:8233", more: "Origin: file://"},
		"two origins":           {host: "localhost:8233", more: "Origin: http://localhost:8233\r\nOrigin: http://evil.example"},
		"a socket's origin":     {host: "localhost:8233", more: "Upgrade: websocket\r\nConnection: Upgrade\r\nOrigin: http://evil.example"},
		"forwarded":             {host: "evil.example", more: "X-Forwarded-Host: localhost\r\nForwarded: host=localhost"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status := send(t, server.Listener.Addr(), "GET / HTTP/1.1", tc.host, tc.more)
			if served := status == http.StatusOK; served != tc.served || !served && status != http.StatusForbidden &&
				status != http.StatusBadRequest {
				t.Errorf("status %d", status)
			}
		})
	}
	// The host of an absolute target counts, whatever the header says.
	if status := send(t, server.Listener.Addr(), "GET http://evil.example/ HTTP/1.1", "localhost", ""); status != http.StatusForbidden {
		t.Errorf("absolute target: status %d", status)
	}
}

func send(t *testing.T, to net.Addr, line, host, more string) int {
	t.Helper()
	conn, err := net.Dial("tcp", to.String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if more != "" {
		more += "\r\n"
	}
	fmt.Fprintf(conn, "%s\r\nHost: %s\r\n%sConnection: close\r\n\r\n", line, host, more)
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	return response.StatusCode
}

// FuzzHost checks that net/url, too, reads every allowed host as one of ours.
func FuzzHost(f *testing.F) {
	for _, host := range []string{
		"localhost", "LOCALHOST:80", "127.0.0.1:8233", "[::1]", "[::ffff:127.0.0.1]:1", "evil.example", "localhost.", "127.1",
		"localhost@evil", "x:80@localhost",
		"127.0.0.1.nip.io", "[::1]evil", "[fe80::1%lo]", "ｌocalhost", "loc\u212Alhost", "10.1.2.3", "localhost:+1", "localhost:080", "", "[]",
		"::1", "0", "localhost#x", "localhost\\x",
	} {
		f.Add(host)
	}
	local := &net.TCPAddr{IP: net.IPv4(10, 1, 2, 3), Port: 8233}
	f.Fuzz(func(t *testing.T, host string) {
		if !allowed(host, local, []string{"ours.example"}) {
			return
		}
		u, err := url.Parse("http://" + host + "/x")
		if err != nil || u.User != nil || u.Path != "/x" || u.RawQuery != "" || u.Fragment != "" {
			t.Fatalf("%q is taken, and is no host: %v", host, err)
		}
		name := strings.ToLower(u.Hostname())
		ip, err := netip.ParseAddr(name)
		ours := err == nil && (ip.Unmap().IsLoopback() || ip.Unmap() == netip.MustParseAddr("10.1.2.3"))
		if name != "localhost" && name != "ours.example" && !ours {
			t.Errorf("%q is taken for ours", host)
		}
	})
}

func TestProxy(t *testing.T) {
	t.Parallel()
	behind := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Host, r.URL) }))
	t.Cleanup(behind.Close)
	to, err := url.Parse(behind.URL)
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(Proxy(to))
	t.Cleanup(front.Close)
	for host, want := range map[string]int{"localhost:8233": http.StatusOK, "evil.example": http.StatusForbidden} {
		if got := send(t, front.Listener.Addr(), "GET /a?b=c HTTP/1.1", host, ""); got != want {
			t.Errorf("%s: status %d", host, got)
		}
	}
	request, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, front.URL+"/a?b=c", nil)
	response, err := front.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if body, _ := io.ReadAll(response.Body); string(body) != request.Host+"/a?b=c" {
		t.Errorf("passed on as %s", body)
	}
}
