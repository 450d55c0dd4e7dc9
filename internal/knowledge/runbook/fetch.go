package runbook

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/knowledge/runbook/internal/network"
)

const (
	maxRedirects = 5
	maxHeaders   = 64 << 10 // bytes of a response
)

// Settings say what may be fetched.
type Settings struct {
	// Domains are the allowed hosts; each includes its subdomains.
	Domains []string
	// CacheTTL is how long a runbook is used again without another fetch. Zero means never.
	CacheTTL time.Duration
	// Token is sent to GitHub's hosts only. An empty string means none.
	Token string
	// Repository is the address of the repository whose runbooks List lists. An empty string means none.
	Repository string
	// Projects are the only projects for which Token and Repository are used. Nil means all.
	Projects []string
}

// of returns the settings for a project.
func (s Settings) of(project string) Settings {
	if s.Projects != nil && !slices.Contains(s.Projects, cmp.Or(project, agent.DefaultProject)) {
		s.Token, s.Repository = "", ""
	}
	return s
}

// Fetcher fetches runbooks. It is safe for concurrent use.
type Fetcher struct {
	settings func() Settings
	network  network.Network
	cache    *cache
}

// New returns a fetcher that asks for its settings at every fetch.
func New(settings func() Settings) *Fetcher { return NewOn(network.Real(), settings) }

// NewOn returns a fetcher for tests, which uses another network.
func NewOn(n network.Network, settings func() Settings) *Fetcher {
	return &Fetcher{settings: settings, network: n, cache: newCache(n.Now)}
}

// Fetch returns the text at an address, for an investigation of a project. Its errors are for people, and contain neither the token nor the
// address's query. If ctx ends, the error is its cause. Only texts are cached, not errors.
func (f *Fetcher) Fetch(ctx context.Context, project, address string) (string, error) {
	s := f.settings().of(project)
	u, err := parse(address, s.Domains)
	if err != nil {
		return "", err
	}
	u = rawFile(u)
	key := u.String()
	if s.Token == "" {
		key = "public " + key // no address has a space
	}
	if text, ok := f.cache.get(key, s.CacheTTL); ok {
		return text, nil
	}
	within, cancel := context.WithTimeout(ctx, f.network.Within)
	defer cancel()
	wanted := request{accept: "text/markdown, text/plain, */*;q=0.1", limit: MaxSize}
	if ofGitHub(u.Host) {
		wanted.token = s.Token
	}
	var text string
	body, err := f.get(within, u, s.Domains, wanted)
	if err == nil {
		text, err = Text(body)
	}
	if err != nil {
		return "", f.late(ctx, within, 1, err)
	}
	f.cache.put(key, text)
	return text, nil
}

// late returns err, or the reason why within ended. within ends after a number of fetches at the latest.
func (f *Fetcher) late(ctx, within context.Context, fetches int, err error) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case within.Err() != nil, errors.Is(err, errSlow):
		return fmt.Errorf("it did not arrive within %v", time.Duration(fetches)*f.network.Within)
	}
	return err
}

// request describes one request.
type request struct {
	accept string
	token  string // of GitHub; empty means none
	limit  int64  // bytes of the response's body
}

// get requests an address and follows redirects. Each address is checked like the first one. The token is dropped at the
// first redirect to another host.
func (f *Fetcher) get(ctx context.Context, u *url.URL, domains []string, wanted request) ([]byte, error) {
	for range maxRedirects + 1 {
		res, err := f.send(ctx, u, wanted)
		if err != nil {
			return nil, err
		}
		if !redirects(res.StatusCode) {
			body, err := read(res, wanted.limit)
			if wanted.token == "" {
				err = needsToken(u.Host, res.StatusCode, err)
			}
			return body, err
		}
		res.Body.Close()
		next, err := u.Parse(res.Header.Get("Location"))
		if err != nil || res.Header.Get("Location") == "" {
			return nil, errors.New("the server redirects to an address that is not valid")
		}
		if next, err = parse(next.String(), domains); err != nil {
			return nil, fmt.Errorf("the server redirects to an address that is not allowed: %w", err)
		}
		if next.Host != u.Host {
			wanted.token = ""
		}
		u = next
	}
	return nil, fmt.Errorf("the server redirects more than %d times", maxRedirects)
}

// needsToken adds that a token would help to the error for an answer of GitHub.
func needsToken(host string, status int, err error) error {
	switch {
	case status == http.StatusNotFound && (ofGitHub(host) || host == githubAPI):
		return fmt.Errorf("%w. Private files need system.runbooks.token_env, and a project of system.runbooks.projects", err)
	case (status == http.StatusForbidden || status == http.StatusTooManyRequests) && host == githubAPI:
		return fmt.Errorf("%w. GitHub allows 60 requests an hour without system.runbooks.token_env", err)
	}
	return err
}

func redirects(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// send sends one request over its own connection. It does not use a proxy, because a proxy would resolve the name
// again, to an address that was not checked.
func (f *Fetcher) send(ctx context.Context, u *url.URL, wanted request) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, errors.New("its URL is not valid")
	}
	req.Header.Set("Accept", wanted.accept)
	req.Header.Set("Accept-Encoding", "identity") // so that the size limit applies to what the server sends
	req.Header.Set("User-Agent", "inquest")
	if wanted.token != "" {
		req.Header.Set("Authorization", "Bearer "+wanted.token)
	}
	transport := &http.Transport{
		DialContext:     f.dialUnder(ctx),
		TLSClientConfig: &tls.Config{RootCAs: f.network.Roots, MinVersion: tls.VersionTLS12},
		// Connections are not reused, so every request is to an address that was checked for it.
		DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: maxHeaders,
	}
	res, err := transport.RoundTrip(req)
	if err != nil {
		return nil, plainly(u.Host, err)
	}
	return res, nil
}

var (
	errSize = tooLarge(MaxSize)
	errHTML = errors.New("it is an HTML page instead of text, perhaps a page for signing in or for viewing the file: " +
		"use the URL of the raw file")
)

func tooLarge(limit int64) error { return fmt.Errorf("it is larger than %d KB", limit>>10) }

// read returns the body of a response, and closes it.
func read(res *http.Response, limit int64) ([]byte, error) {
	defer res.Body.Close()
	media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	encoding := res.Header.Get("Content-Encoding")
	switch {
	case res.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("the server answered %d %s", res.StatusCode, http.StatusText(res.StatusCode))
	case encoding != "" && !strings.EqualFold(encoding, "identity"):
		return nil, errors.New("the server sent it compressed, although it was asked not to")
	case media == "text/html" || media == "application/xhtml+xml":
		return nil, errHTML
	case res.ContentLength > limit:
		return nil, tooLarge(limit)
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, limit+1))
	if err == nil {
		// When the time is up, TLS's close_notify is sent before the connection is closed, and many servers answer it with a proper end
		// of the body.
		err = res.Request.Context().Err()
	}
	switch {
	case err != nil:
		return nil, plainly(res.Request.URL.Host, err)
	case int64(len(body)) > limit:
		return nil, tooLarge(limit)
	}
	return body, nil
}

// Text returns the content of a runbook, or an error if it is too large, empty, not text, or an HTML page.
func Text(body []byte) (string, error) {
	if len(body) > MaxSize {
		return "", errSize
	}
	body = bytes.TrimPrefix(body, []byte("\xef\xbb\xbf")) // byte order mark
	text := string(body)
	start := strings.ToLower(strings.TrimSpace(text[:min(len(text), 512)]))
	switch {
	case !utf8.ValidString(text) || strings.ContainsFunc(text, notText):
		return "", errors.New("it is not text in UTF-8")
	case strings.TrimSpace(text) == "":
		return "", errors.New("it is empty")
	case strings.HasPrefix(start, "<!doctype html") || strings.HasPrefix(start, "<html"):
		return "", errHTML
	}
	return text, nil
}

// notText reports whether a character does not occur in text files.
func notText(r rune) bool { return unicode.IsControl(r) && !unicode.IsSpace(r) }
