package doctor

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/command"
	"github.com/inquest-dev/inquest/internal/dial"
	"github.com/inquest-dev/inquest/internal/knowledge/pack"
	"github.com/inquest-dev/inquest/internal/tool"
)

// Remedies that several findings share.
const (
	theirStore = "export INQUEST_STORE=… with the path or address that the workers use"
	withTLS    = "add ?sslmode=verify-full to its address"
)

func (e Examination) noAnswer() string { return fmt.Sprintf("no answer within %s", e.Patience) }

// waitLonger is the command that waits longer than this check did.
func (e Examination) waitLonger() string {
	longer := max(4*e.Patience.Round(time.Second), time.Minute)
	return fmt.Sprintf("starter doctor%s --wait %ds", e.configFlag(), int(longer.Seconds()))
}

// configFlag is the flag with which commands use the same configuration.
func (e Examination) configFlag() string {
	if e.ConfigPath == "" {
		return ""
	}
	return " --config " + command.ShellWord(e.ConfigPath)
}

// show is the command that prints the configuration.
func (e Examination) show() string {
	if e.ConfigPath == "" {
		return "starter config show"
	}
	return "starter config show " + command.ShellWord(e.ConfigPath)
}

// words returns an error in words for people.
func words(err error) string { return dial.Plain(err).Error() }

// remedy says what to do about a server that has not listed its tools.
func (e Examination) remedy(server string, t config.Transport, err error) string {
	failed, _ := errors.AsType[*tool.ServerError](err)
	at := fmt.Sprintf("mcp_servers.%s.transport", server)
	late := failed != nil && failed.Pending > 0
	switch {
	case t.URL != "" && late:
		return fmt.Sprintf("%s if the server is slow; otherwise correct %s.url: does an MCP server listen at %s?",
			e.waitLonger(), at, shownURL(t.URL))
	case t.URL != "":
		return fmt.Sprintf("correct %s: does an MCP server listen at %s, and does it accept the token and headers?", at, shownURL(t.URL))
	case failed != nil && failed.NotStarted:
		return fmt.Sprintf("install its command here and on the workers' hosts, or correct %s.command", at)
	case late:
		return fmt.Sprintf("%s if the server is being downloaded (npx, docker); otherwise run its command by hand (%s)", e.waitLonger(), e.show())
	}
	return fmt.Sprintf("correct %s, or run the server's command by hand (%s)", at, e.show())
}

// shownURL returns a URL without its user and query, which may be secrets.
func shownURL(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "its url"
	}
	u.User, u.RawQuery = nil, ""
	return u.String()
}

// remedyOf returns the remedy of a pack with the addresses that the server has.
func remedyOf(p pack.Pack, t config.Transport) string {
	remedy := p.Check.Remedy
	for _, v := range p.Variables {
		if address := t.Env[v.Name]; v.Address && address != "" {
			remedy = strings.ReplaceAll(remedy, "$"+v.Name, strings.TrimSuffix(shownURL(address), "/"))
		}
	}
	return remedy
}
