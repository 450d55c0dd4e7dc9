package runbook

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/kit/clip"
)

const (
	github    = "github.com"
	githubRaw = "raw.githubusercontent.com" // serves the text of files
	maxURL    = 2048                        // bytes
	maxHost   = 253                         // bytes, in messages
)

// DefaultDomains returns the hosts that are allowed if the configuration names none.
func DefaultDomains() []string { return []string{github, githubRaw} }

// Check returns an error if an address is never fetched. domains are the allowed hosts; each includes its subdomains.
func Check(address string, domains []string) error {
	_, err := parse(address, domains)
	return err
}

// Shown returns an address without the parts that may be secret: user, query and fragment.
func Shown(address string) string {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil {
		return "(not a valid URL)"
	}
	return (&url.URL{Scheme: u.Scheme, Opaque: u.Opaque, Host: u.Host, Path: u.Path, RawPath: u.RawPath}).String()
}

// parse returns the address in its canonical form. Its errors contain neither the query nor a password.
func parse(address string, domains []string) (*url.URL, error) {
	address = strings.TrimSpace(address)
	if len(address) > maxURL {
		return nil, fmt.Errorf("its URL is longer than %d bytes", maxURL)
	}
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return nil, errors.New("its URL is not valid")
	case u.Scheme != "https":
		return nil, errors.New("only https URLs are allowed")
	case u.User != nil:
		return nil, errors.New("its URL contains a user name or password; use system.runbooks.token_env")
	case u.Port() != "" && u.Port() != "443":
		return nil, errors.New("only port 443 is allowed")
	}
	u.Host, u.Fragment, u.RawFragment = strings.ToLower(u.Hostname()), "", ""
	if !allowed(u.Host, domains) {
		return nil, fmt.Errorf("the host %+q is not in system.runbooks.allowed_domains", clip.Text(u.Host, maxHost))
	}
	return u, nil
}

// allowed reports whether a host is on the allow-list. GitHub serves the files of github.com from another host.
func allowed(host string, domains []string) bool {
	return slices.ContainsFunc(domains, func(domain string) bool {
		domain = strings.ToLower(domain)
		return host == domain || strings.HasSuffix(host, "."+domain) || domain == github && host == githubRaw
	})
}

// rawFile returns the address of a file's text if u is GitHub's page about that file, and otherwise u.
func rawFile(u *url.URL) *url.URL {
	parts := strings.SplitN(strings.TrimPrefix(u.EscapedPath(), "/"), "/", 4) // owner, repository, blob, branch and file
	if u.Host != github && u.Host != "www."+github || len(parts) < 4 || parts[2] != "blob" && parts[2] != "raw" {
		return u
	}
	raw, err := url.Parse("https://" + githubRaw + "/" + strings.Join([]string{parts[0], parts[1], parts[3]}, "/"))
	if err != nil {
		return u
	}
	return raw
}

// ofGitHub reports whether a host gets the token.
func ofGitHub(host string) bool { return host == github || host == githubRaw }
