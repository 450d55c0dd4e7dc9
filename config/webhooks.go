package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/spell"
	"github.com/inquest-dev/inquest/internal/webhook"
)

// Webhook accepts alerts at POST /webhooks/NAME (docs/reference/webhooks.md).
type Webhook struct {
	// Format is the sender's format: the location of the parts of its alerts, and its signature.
	Format string `yaml:"format" enum:"webhook format" default:"that of the webhook's name, if there is one"`
	// Mapping locates an alert's parts in the sender's JSON. It overrides the format.
	Mapping WebhookMapping `yaml:"mapping"`
	// Chain is the chain to run for every alert, regardless of its type.
	Chain string `yaml:"chain" default:"that of the alert's type"`
	// AlertType replaces an alert's type if no chain has that type.
	AlertType string `yaml:"alert_type" default:"defaults.alert_type"`
	// Signature says how the sender signs. Without it, senders need the token of an operator. With it, tokens or oidc
	// are required for the rest of the API.
	Signature WebhookSignature `yaml:"signature"`
	// Projects are the projects in which a signing sender may start investigations; "*" means all. Alerts that name no
	// project belong to the first.
	Projects []string `yaml:"projects" default:"default"`
	// MaxRunning limits the investigations of this webhook that run at once. Further alerts join an investigation of
	// their group, or wait.
	MaxRunning *int `yaml:"max_running" min:"1" unit:"investigations" default:"10"`
	// MaxPerMinute limits the investigations of this webhook that start within a minute.
	MaxPerMinute *int `yaml:"max_per_minute" min:"1" unit:"investigations" default:"20"`
}

// WebhookMapping consists of paths: labels.team, items[0].id, labels["a.b"]. A path begins at the alert, or with a
// leading $ at the whole body. In a list, the first path that leads to a value applies.
type WebhookMapping struct {
	// Alerts is the list of the alerts.
	Alerts string `yaml:"alerts" default:"the body is one alert"`
	// AlertType is the alert's type, which chains have.
	AlertType []string `yaml:"alert_type"`
	// Fingerprint is the same in all messages about one alert.
	Fingerprint []string `yaml:"fingerprint" default:"a hash of the alert"`
	// Group is the same for alerts that can share one investigation when there are many.
	Group []string `yaml:"group" default:"the alert's type"`
	// GroupName is the name of the group, for people.
	GroupName []string `yaml:"group_name" default:"the group"`
	// Status says whether the alert is firing.
	Status []string `yaml:"status"`
	// StartsAt is when the alert began to fire: RFC 3339, or seconds or milliseconds since 1970.
	StartsAt []string `yaml:"starts_at"`
	// Title is a one-line description of the alert.
	Title []string `yaml:"title"`
	// Severity is the severity of the alert.
	Severity []string `yaml:"severity"`
	// Priority is a number from 1 (first) to 5, or a word in priorities.
	Priority []string `yaml:"priority" default:"that of the severity"`
	// Project is the project that the alert belongs to.
	Project []string `yaml:"project" default:"the first of projects, or that of the token"`
	// Chain is the chain to run.
	Chain []string `yaml:"chain"`
	// Data is the data to investigate.
	Data string `yaml:"data" default:"the alert"`
	// Firing are the statuses of a firing alert. If you list any, an alert whose status is in none of firing, resolved
	// and ignored is refused.
	Firing []string `yaml:"firing" default:"all others"`
	// Resolved are the statuses of a resolved alert.
	Resolved []string `yaml:"resolved" default:"none"`
	// Ignored are statuses of alerts to accept and drop, such as acknowledgements; "*" stands for all others.
	Ignored []string `yaml:"ignored" default:"none"`
	// Priorities map words, or severities, to priorities.
	Priorities map[string]int `yaml:"priorities"`
}

// WebhookSignature describes the sender's signature: the HMAC-SHA256 of the body, in hexadecimal, in a header.
type WebhookSignature struct {
	// Secrets are the signing secrets. Any of them is accepted, so that you can rotate them: ["{{.GRAFANA_SECRET}}"].
	Secrets []string `yaml:"secrets,late"`
	// Scheme selects the header and prefix of a known sender.
	Scheme string `yaml:"scheme" enum:"signature scheme" default:"that of the format"`
	// Header is the header with the signature.
	Header string `yaml:"header" default:"that of the scheme"`
	// TimestampHeader is the header with the time of signing, in seconds since 1970. The signature then covers the
	// time, a colon and the body.
	TimestampHeader string `yaml:"timestamp_header" default:"none"`
	// Tolerance is the maximum difference between that time and now.
	Tolerance plan.Duration `yaml:"tolerance" default:"5m; 75m for Amazon SNS"`
	// Topics are the ARNs of the Amazon SNS topics that may send. Amazon signs their messages, so they need no secret
	// and no token. Subscriptions of these topics are confirmed automatically.
	Topics []string `yaml:"topics" default:"none"`
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

func (h HTTP) validateWebhooks(p path, v *validator) {
	if kept := h.KeepAlerts.D(); kept != 0 && kept < minKeepAlerts {
		v.Errorf(p.Key("keep_alerts"), "must be 24h or longer, got %s", h.KeepAlerts)
	}
	for _, name := range slices.Sorted(maps.Keys(h.Webhooks)) {
		at, hook := p.Key("webhooks").Key(name), h.Webhooks[name]
		if !webhookName.MatchString(name) {
			v.Errorf(at, "the name of a webhook has 1 to 63 of a-z, 0-9, - and _")
		}
		format, known := webhook.FormatOf(cmp.Or(hook.Format, name))
		if !known && len(hook.Mapping.AlertType)+len(hook.Mapping.Chain) == 0 && hook.Chain == "" && hook.AlertType == "" {
			v.Errorf(at, "no format is called %q: give a format, or a mapping with an alert_type", name)
		}
		if hook.Signature.set() && len(hook.Signature.Secrets) == 0 {
			v.Errorf(at.Key("signature").Key("secrets"), "a secret is required")
		}
		for n, secret := range hook.Signature.Secrets {
			_, missing, _ := v.expand(secret)
			if len(missing) > 0 && !v.src.SkipCredentials {
				v.Add(SeverityWarning, at.Key("signature").Key("secrets").Index(n), "variable %s is not set: the HTTP API does not start without it",
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
					"them: give a path into Message")
			}
		}
		if len(hook.Signature.Secrets) > 0 && hook.signature(format).Header == "" {
			v.Errorf(at.Key("signature").Key("scheme"), "a scheme or a header is required")
		}
	}
}

func (s WebhookSignature) set() bool { return s.Scheme+s.Header+s.TimestampHeader != "" }

func (w Webhook) validate(p path, v *validator) {
	if w.Chain != "" && v.AgentChains[w.Chain] == nil {
		v.Errorf(p.Key("chain"), "no chain named %q%s", w.Chain, spell.DidYouMean(w.Chain, slices.Collect(maps.Keys(v.AgentChains))))
	}
	if w.AlertType != "" && v.chainOf[w.AlertType] == "" {
		meant := spell.DidYouMean(w.AlertType, slices.Collect(maps.Keys(v.chainOf)))
		v.Errorf(p.Key("alert_type"), "no chain has the alert type %q%s", w.AlertType, meant)
	}
	Grant{Projects: w.Projects}.validate(p, v)
}

func (m WebhookMapping) validate(p path, v *validator) {
	for _, given := range webhook.Mapping(m).Paths() {
		if err := webhook.CheckPath(given.Text); err != nil {
			v.Errorf(mappingPath(p, given), "%q is %v", given.Text, err)
		}
	}
	for _, word := range slices.Sorted(maps.Keys(m.Priorities)) {
		if n := m.Priorities[word]; n < 1 || n > 5 {
			v.Errorf(p.Key("priorities").Key(word), "a priority is 1, which goes first, to 5")
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

func (w Webhook) signature(format webhook.Format) webhook.Signature {
	out := webhook.SchemeOf(cmp.Or(w.Signature.Scheme, format.Scheme))
	out.Header = cmp.Or(w.Signature.Header, out.Header)
	out.TimestampHeader, out.Topics = w.Signature.TimestampHeader, w.Signature.Topics
	out.SNSTolerance = cmp.Or(w.Signature.Tolerance.D(), webhook.SNSTolerance)
	out.Tolerance = cmp.Or(w.Signature.Tolerance.D(), signatureTolerance)
	return out
}

// Hook is a webhook that is ready for use.
type Hook struct {
	Webhook
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
		all = map[string]Webhook{}
	}
	for _, name := range webhook.FormatNames() {
		if _, own := all[name]; !own {
			all[name] = Webhook{}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		hook := all[name]
		format, _ := webhook.FormatOf(cmp.Or(hook.Format, name))
		reader, err := webhook.NewReader(webhook.Mapping(hook.Mapping).Over(format.Mapping))
		h := Hook{hook, reader, hook.signature(format)}
		for n, template := range hook.Signature.Secrets {
			secret, missing, wrong := c.expand(template)
			switch {
			case wrong != nil:
				err = wrong
			case len(missing) > 0:
				err = fmt.Errorf("variable %s is not set", strings.Join(missing, ", "))
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
