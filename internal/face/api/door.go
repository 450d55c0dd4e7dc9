package api

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/app/tracing"
	"github.com/inquest-dev/inquest/internal/kit/reveal"
	"github.com/inquest-dev/inquest/internal/webhook"
)

// rank orders the roles. Each role includes the permissions of those before it.
var rank = map[string]int{config.RoleViewer: 1, config.RoleOperator: 2, config.RoleApprover: 3, config.RoleAdmin: 4}

// identity is the authenticated sender of a request.
type identity struct {
	name   string
	groups []string
	// channel is how the request arrived.
	channel string
	// unasked means that the API does not authenticate anyone.
	unasked bool
	// own means that the groups come from the operating system, so none of them is a role.
	own    bool
	grants map[string]int // rank by project, including config.AllProjects
}

func (i identity) rank(project string) int {
	return max(i.grants[project], i.grants[config.AllProjects])
}

// by returns the author to record. Text that arrives over MCP comes from a model, on behalf of the person it works for.
func (i identity) by() string {
	if i.channel == agent.ChannelMCP && i.name != agent.ChannelMCP {
		return i.name + " (" + agent.ChannelMCP + ")"
	}
	return i.name
}

// checked returns the identity for decisions in a project: the person's groups and role there. Nil means no authentication.
func (i identity) checked(project string) *agent.Identity {
	if i.unasked {
		return nil
	}
	out := &agent.Identity{Name: i.name, Groups: slices.Clone(i.groups), Channel: i.channel}
	for role, r := range rank {
		if !i.own && r == i.rank(project) && !slices.Contains(out.Groups, role) {
			out.Groups = append(out.Groups, role)
		}
	}
	return out
}

// best returns the highest rank in any project.
func (i identity) best() int { return slices.Max(append(slices.Collect(maps.Values(i.grants)), 0)) }

// projects returns the visible projects; nil means all of them.
func (i identity) projects() []string {
	if i.grants[config.AllProjects] > 0 {
		return nil
	}
	return append([]string{}, slices.Sorted(maps.Keys(i.grants))...) // an empty list must not be nil, which means all
}

func (i *identity) grant(g config.Grant) {
	projects := g.Projects
	if projects == nil {
		projects = []string{agent.DefaultProject}
	}
	r := rank[g.Role]
	if g.Role == "" {
		r = rank[config.RoleViewer]
	}
	for _, project := range projects {
		i.grants[project] = max(i.grants[project], r)
	}
}

// door authenticates requests.
type door struct {
	tokens   []namedToken
	oidc     config.OIDC
	provider *provider
	open     bool
}

type namedToken struct {
	hash [sha256.Size]byte
	identity
}

const maxGroups = 100 // of one person, because decisions carry them

func newDoor(ctx context.Context, h config.HTTP) (*door, error) {
	d := &door{oidc: h.OIDC, open: h.Open(), provider: newProvider(ctx, h.OIDC.Issuer, h.OIDC.Audience)}
	for _, name := range slices.Sorted(maps.Keys(h.Tokens)) {
		t := namedToken{identity: identity{name: name, grants: map[string]int{}}}
		raw, err := hex.DecodeString(h.Tokens[name].SHA256)
		if err != nil || copy(t.hash[:], raw) != sha256.Size {
			return nil, fmt.Errorf("the token %s has no valid sha256", name)
		}
		t.grant(h.Tokens[name].Grant)
		d.tokens = append(d.tokens, t)
	}
	return d, nil
}

// local is the identity of everyone when the API does not authenticate.
var local = identity{name: "local", unasked: true, grants: map[string]int{config.AllProjects: rank[config.RoleAdmin]}}

var errUnknown = errors.New("the token is missing, unknown or expired: send Authorization: Bearer TOKEN")

// errProvider means that the identity provider does not answer.
var errProvider = errors.New("the identity provider is not responding")

// who authenticates a request by its Authorization header. It always compares all tokens, so that the time taken reveals nothing.
func (d *door) who(ctx context.Context, header string) (identity, error) {
	if d.open {
		return local, nil
	}
	scheme, token, _ := strings.Cut(header, " ")
	if token = strings.TrimSpace(token); !strings.EqualFold(scheme, "bearer") || token == "" {
		return identity{}, errUnknown
	}
	hash, found := sha256.Sum256([]byte(token)), -1
	for n := range d.tokens {
		if subtle.ConstantTimeCompare(hash[:], d.tokens[n].hash[:]) == 1 {
			found = n
		}
	}
	if found >= 0 {
		return d.tokens[found].identity, nil
	}
	if d.oidc.Issuer == "" || strings.Count(token, ".") != 2 {
		return identity{}, errUnknown
	}
	return d.person(ctx, token)
}

// person returns the identity in a token from the identity provider.
func (d *door) person(ctx context.Context, raw string) (identity, error) {
	token, err := d.provider.token(ctx, raw)
	if err != nil {
		return identity{}, err
	}
	claims := map[string]any{}
	if err := token.Claims(&claims); err != nil {
		return identity{}, errUnknown
	}
	who := identity{name: token.Subject, grants: map[string]int{}}
	claim := cmp.Or(d.oidc.NameClaim, emailClaim)
	if name, _ := claims[claim].(string); name != "" && (claim != emailClaim || verified(claims)) {
		who.name = name
	}
	if err := d.checkName(who.name); err != nil {
		return identity{}, err
	}
	groups, _ := claims[cmp.Or(d.oidc.GroupsClaim, "groups")].([]any)
	for _, group := range groups {
		name, _ := group.(string)
		if name != "" && rank[name] == 0 && len(who.groups) < maxGroups {
			who.groups = append(who.groups, name)
		}
		if grant, ok := d.oidc.Groups[name]; ok {
			who.grant(grant)
		}
	}
	return who, nil
}

// checkName refuses a name that could be mistaken for another: decisions, approver lists and the audit trail go by names.
func (d *door) checkName(name string) error {
	const why = "a token from the identity provider was refused: %s"
	const hidden = "the user name in it has invisible characters, leading or trailing spaces, or more than %d bytes"
	switch {
	case strings.TrimSpace(name) == "":
		return fmt.Errorf(why, "it contains no user name")
	case agent.CheckBy(name) != nil, reveal.Hides(name), name != strings.TrimSpace(name):
		return fmt.Errorf(why, fmt.Sprintf(hidden, agent.MaxBy))
	case webhook.Speaks(name):
		return fmt.Errorf(why, "the user name in it is reserved for webhooks")
	}
	for _, token := range d.tokens {
		if strings.EqualFold(token.name, name) {
			return fmt.Errorf(why, "the user name in it is also the name of a token in system.http.tokens: rename that token")
		}
	}
	return nil
}

const emailClaim = "email"

// verified reports whether the provider has verified the e-mail address; some providers send the claim as text. An unverified address
// could be anyone's.
func verified(claims map[string]any) bool {
	says := claims["email_verified"]
	return says == true || says == "true"
}

// access is the sender of a request and the rank that the operation requires.
type access struct {
	identity
	needs int
	// reauthenticate authenticates the sender again, for streams that outlive a token which was revoked or has expired. Nil means that the
	// request has no token.
	reauthenticate func(context.Context) (a access, status int)
	// traceParent is the request's trace context, a valid traceparent header; empty means none.
	traceParent string
}

type accessKey struct{}

func accessOf(ctx context.Context) access {
	a, _ := ctx.Value(accessKey{}).(access)
	return a
}

// admit lets a request through if the sender has the operation's role in some project. The operation itself checks which project.
func (d *doors) admit(api huma.API) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		o, _ := ctx.Operation().Metadata["operation"].(operation)
		if o.Role == "" {
			next(ctx)
			return
		}
		a, status, why := d.now().identify(ctx, o)
		header := ctx.Header("Authorization")
		if parent := ctx.Header(agent.TraceParent); tracing.Parse(ctx.Context(), parent).IsValid() {
			a.traceParent = parent
		}
		a.reauthenticate = func(ctx context.Context) (access, int) {
			a, status, _ := d.now().enter(ctx, agent.ChannelHTTP, header, o.Role)
			return a, status
		}
		switch {
		case status == http.StatusUnauthorized:
			ctx.SetHeader("WWW-Authenticate", "Bearer")
			fallthrough
		case status != http.StatusOK:
			_ = huma.WriteErr(api, ctx, status, why)
		case o.Everywhere && a.grants[config.AllProjects] < a.needs:
			_ = huma.WriteErr(api, ctx, http.StatusForbidden, "this requires the role "+o.Role+" in all projects")
		default:
			next(huma.WithValue(ctx, accessKey{}, a))
		}
	}
}

// identify authenticates a request by its token or, if the operation checks one, by its signature.
func (d *door) identify(ctx huma.Context, o operation) (a access, status int, why string) {
	if o.signed != nil {
		if who, ok := o.signed(ctx.Param("name")); ok {
			who.channel = agent.ChannelHTTP
			return access{identity: who, needs: rank[o.Role]}, http.StatusOK, ""
		}
	}
	return d.enter(ctx.Context(), agent.ChannelHTTP, ctx.Header("Authorization"), o.Role)
}

// enter authenticates a request that requires a role. It returns the response status, and the reason unless that is 200.
func (d *door) enter(ctx context.Context, channel, header, role string) (a access, status int, why string) {
	who, err := d.who(ctx, header)
	who.channel = channel
	switch a = (access{identity: who, needs: rank[role]}); {
	case errors.Is(err, errProvider):
		return a, http.StatusServiceUnavailable, err.Error()
	case err != nil:
		return a, http.StatusUnauthorized, err.Error()
	case who.best() < a.needs:
		return a, http.StatusForbidden, "this requires the role " + role
	}
	return a, http.StatusOK, ""
}

// errHidden covers both things that belong to another project and things that do not exist, so that the two cannot be told apart.
var errHidden = huma.Error404NotFound(notVisible)

// of returns nil if the operation may work on something that belongs to a project.
func (a access) of(project string) error {
	switch r := a.rank(project); {
	case r == 0:
		return errHidden
	case r < a.needs:
		return huma.Error403Forbidden("this requires a higher role in the project " + project)
	}
	return nil
}

// within returns the projects to list: the requested one, or all visible ones.
func (a access) within(asked string) ([]string, error) {
	if asked == "" {
		return a.projects(), nil
	}
	return []string{asked}, a.of(asked)
}

// owner returns the project for something new: the named one, else the default one, else the only one that is visible.
func (a access) owner(named string) (string, error) {
	if named == "" {
		if named = agent.DefaultProject; a.rank(named) == 0 {
			if all := a.projects(); len(all) == 1 {
				named = all[0]
			}
		}
	}
	return named, a.of(named)
}
