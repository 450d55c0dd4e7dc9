package config

import "github.com/inquest-dev/inquest/value"

// The roles of users of the HTTP API. Each role includes the ones before it.
const (
	RoleViewer   = "viewer"   // reads
	RoleOperator = "operator" // starts, steers and talks
	RoleApprover = "approver" // decides, answers and raises limits
	RoleAdmin    = "admin"    // changes agents, runs tools and reads the configuration
)

// AllProjects in a grant means every project, and everything that belongs to no project.
const AllProjects = "*"

// HTTP controls access to the HTTP API. Without tokens and oidc, clients are not authenticated, and the API is served on
// loopback addresses only.
type HTTP struct {
	// Hosts are the host names of the API, in addition to localhost and its addresses. Requests for other names are
	// refused. Hosts require tokens or oidc.
	Hosts []string `yaml:"hosts"`
	// Tokens are bearer tokens, by the name of the user. Decisions are recorded under this name.
	Tokens map[string]Token `yaml:"tokens"`
	// OIDC accepts the tokens of an identity provider.
	OIDC OIDC `yaml:"oidc"`
	// Webhooks accept alerts from other systems, by name: docs/reference/webhooks.md.
	Webhooks map[string]Webhook `yaml:"webhooks" default:"alertmanager, grafana, pagerduty and sns, authenticated by token"`
	// KeepAlerts is how long the store keeps an alert of a webhook after its last message. It must be at least 24h, and
	// longer than the sender waits before it repeats an alert: otherwise each repetition starts a new investigation.
	KeepAlerts value.Duration `yaml:"keep_alerts" default:"720h"`
	// MCP is for agents and editors that connect to /mcp.
	MCP MCPAccess `yaml:"mcp"`
}

// MCPAccess controls what clients may do over the Model Context Protocol.
type MCPAccess struct {
	// Decide controls who may decide over MCP on tool calls, confirmations and reviews that need a person. With never,
	// nobody may. With ask, the editor asks its user, who decides. With trust, the agent in the editor decides if the
	// editor cannot ask its user. The role approver is required.
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
	// SHA256 is the SHA-256 hash of the token, in hexadecimal. sha256sum prints it; the input must not end with a
	// newline.
	SHA256 string `yaml:"sha256"`
	Grant  `yaml:",inline"`
}

// Grant is a role in some projects.
type Grant struct {
	// Role is the role of the user. Each role includes the ones before it.
	Role string `yaml:"role" enum:"role" default:"viewer"`
	// Projects are the projects that the user can see; "*" means all, and everything that belongs to no project.
	Projects []string `yaml:"projects" default:"default"`
}

// OIDC defines which identity tokens are accepted.
type OIDC struct {
	// Issuer is the URL of the identity provider. It must serve /.well-known/openid-configuration below this URL.
	Issuer string `yaml:"issuer"`
	// Audience is the audience that tokens must be issued for.
	Audience string `yaml:"audience"`
	// NameClaim is the claim with the person's name. Decisions are recorded under this name.
	NameClaim string `yaml:"name_claim" default:"email if email_verified is true, else sub"`
	// GroupsClaim is the claim that lists a person's groups.
	GroupsClaim string `yaml:"groups_claim" default:"groups"`
	// Groups are the roles of groups, by the group's name. A person in several groups has all of their roles.
	Groups map[string]Grant `yaml:"groups"`
}

// Open reports whether clients are not authenticated.
func (h HTTP) Open() bool { return len(h.Tokens) == 0 && h.OIDC.Issuer == "" }
