package configuration

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/reveal"
	"github.com/inquest-dev/inquest/internal/kit/spell"
	"github.com/inquest-dev/inquest/internal/webhook"
)

func validateHTTP(h config.HTTP, p path, v *validator) {
	hashes := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(h.Tokens)) {
		token, at := h.Tokens[name], p.Key("tokens").Key(name).Key("sha256")
		if strings.TrimSpace(name) != name || name == "" || agent.CheckBy(name) != nil || reveal.Hides(name) {
			v.Errorf(p.Key("tokens").Key(name), "a token's name must have 1 to %d bytes of UTF-8, without invisible characters and without leading "+
				"or trailing spaces", agent.MaxBy)
		}
		hash := strings.ToLower(token.SHA256)
		if raw, err := hex.DecodeString(hash); err != nil || len(raw) != 32 {
			v.Errorf(at, "must be a SHA-256 hash of 64 hexadecimal digits, never the token itself")
			continue
		}
		if hashes[hash] {
			v.Errorf(at, "another token has the same hash")
		}
		hashes[hash] = true
	}
	validateWebhooks(h, p, v)
	validateOpen(h, p, v)
}

// validateOpen refuses settings that let other hosts reach an unauthenticated API, including a proxy on this host: all
// of them could do everything.
func validateOpen(h config.HTTP, p path, v *validator) {
	const why = "other hosts could use the API without authentication: configure tokens (system.http.tokens) or " +
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

func validateGrant(g config.Grant, p path, v *validator) {
	for i, project := range g.Projects {
		if err := agent.CheckProject(project); err != nil && project != config.AllProjects {
			v.Errorf(p.Key("projects").Index(i), "%v", err)
		}
	}
}

func validateOIDC(o config.OIDC, p path, v *validator) {
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
		v.Errorf(p.Key("audience"), "an audience is required: without one, tokens for other services would be accepted")
	}
}

var topicARN = regexp.MustCompile(`^arn:aws[a-z-]*:sns:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_.-]{1,256}$`)

var webhookName = regexp.MustCompile(`^[a-z0-9]([a-z0-9_-]{0,61}[a-z0-9])?$`)

const signatureTolerance = 5 * time.Minute

// keepAlerts is how long alerts are kept, and minKeepAlerts the shortest allowed time. Senders repeat alerts after
// hours, and a repeated alert that was already deleted starts another investigation.
const (
	keepAlerts    = 30 * 24 * time.Hour
	minKeepAlerts = 24 * time.Hour
)

func validateWebhooks(h config.HTTP, p path, v *validator) {
	if kept := h.KeepAlerts.D(); kept != 0 && kept < minKeepAlerts {
		v.Errorf(p.Key("keep_alerts"), "must be 24h or longer, got %s", h.KeepAlerts)
	}
	for _, name := range slices.Sorted(maps.Keys(h.Webhooks)) {
		at, hook := p.Key("webhooks").Key(name), h.Webhooks[name]
		if !webhookName.MatchString(name) {
			v.Errorf(at, "a webhook's name must have 1 to 63 characters of a-z, 0-9, - and _, and begin and end with a letter or digit")
		}
		format, known := webhook.FormatOf(cmp.Or(hook.Format, name))
		if !known && len(hook.Mapping.AlertType)+len(hook.Mapping.Chain) == 0 && hook.Chain == "" && hook.AlertType == "" {
			v.Errorf(at, "webhook %q has no known format: set format, chain, alert_type, or a mapping with alert_type or chain", name)
		}
		if isSigned(hook.Signature) && len(hook.Signature.Secrets) == 0 {
			v.Errorf(at.Key("signature").Key("secrets"), "a secret is required")
		}
		for n, secret := range hook.Signature.Secrets {
			_, missing, _ := v.expand(secret)
			if len(missing) > 0 && !v.src.SkipCredentials {
				v.Add(config.SeverityWarning, at.Key("signature").Key("secrets").Index(n),
					"not set: %s. The HTTP API does not start without the variables of its secrets",
					strings.Join(missing, ", "))
			}
		}
		for n, topic := range hook.Signature.Topics {
			if !topicARN.MatchString(topic) {
				v.Errorf(at.Key("signature").Key("topics").Index(n), "%q is not the ARN of an SNS topic: arn:aws:sns:REGION:ACCOUNT:NAME", topic)
			}
		}
		for _, given := range webhook.Mapping(hook.Mapping).Paths() {
			if len(hook.Signature.Topics) > 0 && strings.HasPrefix(strings.TrimPrefix(given.Text, "$."), "MessageAttributes") {
				v.Errorf(mappingPath(at.Key("mapping"), given), "Amazon SNS does not sign MessageAttributes, so a webhook with topics does not read "+
					"them: use a path into Message")
			}
		}
		if len(hook.Signature.Secrets) > 0 && signatureOf(hook, format).Header == "" {
			v.Errorf(at.Key("signature").Key("scheme"), "a scheme or a header is required")
		}
	}
}

func isSigned(s config.WebhookSignature) bool { return s.Scheme+s.Header+s.TimestampHeader != "" }

func validateWebhook(w config.Webhook, p path, v *validator) {
	if w.Chain != "" && v.AgentChains[w.Chain] == nil {
		v.Errorf(p.Key("chain"), "%s", unknownName("chain", w.Chain, v.AgentChains))
	}
	if w.AlertType != "" && v.chainOf[w.AlertType] == "" {
		meant := spell.Hint(w.AlertType, slices.Collect(maps.Keys(v.chainOf)))
		v.Errorf(p.Key("alert_type"), "no chain has the alert type %q%s", w.AlertType, meant)
	}
	validateGrant(config.Grant{Projects: w.Projects}, p, v)
}

func validateWebhookMapping(m config.WebhookMapping, p path, v *validator) {
	for _, given := range webhook.Mapping(m).Paths() {
		if err := webhook.CheckPath(given.Text); err != nil {
			v.Errorf(mappingPath(p, given), "%q is %v", given.Text, err)
		}
	}
	for _, word := range slices.Sorted(maps.Keys(m.Priorities)) {
		if n := m.Priorities[word]; n < 1 || n > 5 {
			v.Errorf(p.Key("priorities").Key(word), "a priority must be 1 (the highest) to 5")
		}
	}
}

// mappingPath returns the path in the configuration of a path of a mapping.
func mappingPath(mapping path, given webhook.Path) path {
	if at := mapping.Key(given.Key); given.N < 0 {
		return at
	}
	return mapping.Key(given.Key).Index(given.N)
}

func signatureOf(w config.Webhook, format webhook.Format) webhook.Signature {
	out := webhook.SchemeOf(cmp.Or(w.Signature.Scheme, format.Scheme))
	out.Header = cmp.Or(w.Signature.Header, out.Header)
	out.TimestampHeader, out.Topics = w.Signature.TimestampHeader, w.Signature.Topics
	out.SNSTolerance = cmp.Or(w.Signature.Tolerance.D(), webhook.SNSTolerance)
	out.Tolerance = cmp.Or(w.Signature.Tolerance.D(), signatureTolerance)
	return out
}

// Hook is a webhook that is ready for use.
type Hook struct {
	config.Webhook
	Reader *webhook.Reader
	// Signature has the secrets. Without any, a token is required.
	Signature webhook.Signature
}

// Hooks returns all webhooks by name, including those of known formats that are not configured. The error names the
// missing variables of their secrets.
func (c *Config) Hooks() (map[string]Hook, error) {
	out, errs := map[string]Hook{}, []error{}
	all := maps.Clone(c.System.HTTP.Webhooks)
	if all == nil {
		all = map[string]config.Webhook{}
	}
	for _, name := range webhook.FormatNames() {
		if _, own := all[name]; !own {
			all[name] = config.Webhook{}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		hook := all[name]
		format, _ := webhook.FormatOf(cmp.Or(hook.Format, name))
		reader, err := webhook.NewReader(webhook.Mapping(hook.Mapping).Over(format.Mapping))
		h := Hook{hook, reader, signatureOf(hook, format)}
		for n, template := range hook.Signature.Secrets {
			secret, missing, wrong := c.expand(template)
			switch {
			case wrong != nil:
				err = wrong
			case len(missing) > 0:
				err = fmt.Errorf("variables that are not set: %s", strings.Join(missing, ", "))
			case secret == "":
				err = errors.New("it is empty")
			}
			if err != nil {
				err = fmt.Errorf("system.http.webhooks.%s.signature.secrets[%d]: %w", name, n, err)
			}
			h.Signature.Secrets = append(h.Signature.Secrets, secret)
		}
		errs = append(errs, err)
		out[name] = h
	}
	return out, errors.Join(errs...)
}

// Flood returns the limits on the investigations that a webhook may start.
func (c *Config) Flood(name string) webhook.Limits {
	own, out := c.System.HTTP.Webhooks[name], webhook.DefaultLimits
	out.Running = cmp.Or(value(own.MaxRunning), out.Running)
	out.PerMinute = cmp.Or(value(own.MaxPerMinute), out.PerMinute)
	return out
}

// KeepAlerts is how long alerts of webhooks are kept after their last message.
func (c *Config) KeepAlerts() time.Duration { return cmp.Or(c.System.HTTP.KeepAlerts.D(), keepAlerts) }

// KeepAlerts is Config.KeepAlerts of the current configuration.
func (l *Live) KeepAlerts() time.Duration { return l.Current().KeepAlerts() }

// Flood is Config.Flood of the current configuration.
func (l *Live) Flood(name string) webhook.Limits { return l.Current().Flood(name) }
