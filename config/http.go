package config

import (
	"encoding/hex"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/reveal"
)

// The roles of whoever uses the HTTP API; each may do what those before it may.
const (
	RoleViewer   = "viewer"   // reads
	RoleOperator = "operator" // starts, steers and talks
	RoleApprover = "approver" // decides, answers and raises bounds
	RoleAdmin    = "admin"    // reads the configuration, and changes what agents remember
)

// AllProjects stands for every project in a grant, and for what belongs to none.
const AllProjects = "*"

// HTTP says who may use the HTTP API. Without tokens and oidc nobody is asked who they are, and the
// API is served on loopback addresses only.
type HTTP struct {
	// Hosts are names that the API is reached by, besides localhost and its addresses. Requests by other names are refused. They take
	// tokens or oidc.
	Hosts []string `yaml:"hosts"`
	// Tokens are bearer tokens, by the names that decisions carry.
	Tokens map[string]Token `yaml:"tokens"`
	// OIDC takes the tokens of an identity provider.
	OIDC OIDC `yaml:"oidc"`
	// Webhooks take alerts of other systems, by their names: docs/reference/webhooks.md.
	Webhooks map[string]Webhook `yaml:"webhooks" default:"alertmanager, grafana, pagerduty and sns, by token"`
	// KeepAlerts is how long the store has an alert of a webhook that nobody speaks of any more: 24h at least, and longer than its
	// sender waits before it repeats one, or each repetition starts an investigation anew.
	KeepAlerts plan.Duration `yaml:"keep_alerts" default:"720h"`
	// MCP is for agents and editors that come by /mcp.
	MCP MCPAccess `yaml:"mcp"`
}

// MCPAccess says what may be done by the Model Context Protocol.
type MCPAccess struct {
	// Decide is whose word counts on calls, confirmations and reviews that wait for a person: never anybody's; with ask, that
	// of the person whom the editor asks; with trust, where the editor cannot ask, the agent's. It takes the role approver.
	Decide string `yaml:"decide" enum:"mcp decide" default:"never"`
}

// The values of MCPAccess.Decide.
const (
	DecideNever = "never"
	DecideAsk   = "ask"
	DecideTrust = "trust"
)

// Token is a bearer token.
type Token struct {
	// SHA256 is the hash of the token, in hexadecimal: printf %s "$TOKEN" | sha256sum.
	SHA256 string `yaml:"sha256"`
	Grant  `yaml:",inline"`
}

// Grant is a role in projects.
type Grant struct {
	// Role is the most that may be done: each has what those before it have.
	Role string `yaml:"role" enum:"role" default:"viewer"`
	// Projects are those that are seen; "*" = all, and what belongs to no project.
	Projects []string `yaml:"projects" default:"default"`
}

// OIDC says which identity tokens are taken.
type OIDC struct {
	// Issuer is the provider's URL, below which /.well-known/openid-configuration is.
	Issuer string `yaml:"issuer"`
	// Audience is what tokens must be made for.
	Audience string `yaml:"audience"`
	// NameClaim is the claim that decisions carry.
	NameClaim string `yaml:"name_claim" default:"email if email_verified is true, else sub"`
	// GroupsClaim is the claim that lists a person's groups.
	GroupsClaim string `yaml:"groups_claim" default:"groups"`
	// Groups say what a group may. Who is in several has all that each of them gives.
	Groups map[string]Grant `yaml:"groups"`
}

// Open: nobody is asked who they are.
func (h HTTP) Open() bool { return len(h.Tokens) == 0 && h.OIDC.Issuer == "" }

func (h HTTP) validate(p path, v *validator) {
	hashes := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(h.Tokens)) {
		token, at := h.Tokens[name], p.Key("tokens").Key(name).Key("sha256")
		if strings.TrimSpace(name) != name || name == "" || agent.CheckBy(name) != nil || reveal.Hides(name) {
			v.Errorf(p.Key("tokens").Key(name), "the name of a token is not empty, and has no invisible characters or spaces around it")
		}
		hash := strings.ToLower(token.SHA256)
		if raw, err := hex.DecodeString(hash); err != nil || len(raw) != 32 {
			v.Errorf(at, "a SHA-256 hash of 64 hexadecimal digits is required, and never the token itself")
			continue
		}
		if hashes[hash] {
			v.Errorf(at, "another token has the same hash")
		}
		hashes[hash] = true
	}
	h.validateWebhooks(p, v)
	h.validateOpen(p, v)
}

// validateOpen refuses what has other hosts come to an API that asks nobody who they are, by a proxy on this host too: then all of
// them may do everything.
func (h HTTP) validateOpen(p path, v *validator) {
	const why = "other hosts come by this, and nobody is asked who they are: give tokens (system.http.tokens) or " +
		"an identity provider (system.http.oidc)"
	if !h.Open() {
		return
	}
	for n, host := range h.Hosts {
		host = strings.Trim(host, "[]")
		if ip := net.ParseIP(host); !strings.EqualFold(host, "localhost") && (ip == nil || !ip.IsLoopback()) {
			v.Errorf(p.Key("hosts").Index(n), why)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(h.Webhooks)) {
		if signature := h.Webhooks[name].Signature; len(signature.Secrets)+len(signature.Topics) > 0 {
			v.Errorf(p.Key("webhooks").Key(name).Key("signature"), why)
		}
	}
}

func (g Grant) validate(p path, v *validator) {
	for i, project := range g.Projects {
		if err := agent.CheckProject(project); err != nil && project != AllProjects {
			v.Errorf(p.Key("projects").Index(i), "%v", err)
		}
	}
}

func (o OIDC) validate(p path, v *validator) {
	if o.Issuer == "" {
		if o.Audience != "" || len(o.Groups) > 0 {
			v.Errorf(p.Key("issuer"), "an issuer is required")
		}
		return
	}
	if u, err := url.Parse(o.Issuer); err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		v.Errorf(p.Key("issuer"), "a URL is required")
	}
	if o.Audience == "" {
		v.Errorf(p.Key("audience"), "an audience is required: without one, tokens made for other services would be taken")
	}
}
