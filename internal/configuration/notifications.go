package configuration

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net"
	"net/mail"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/reveal"
	"github.com/inquest-dev/inquest/internal/plan"
)

// channelKeys are the keys of each type of channel. The value says whether the key is required.
var channelKeys = map[string]map[string]bool{
	config.NotifyWebhook:    {"url": true, "secret": true},
	config.NotifyMattermost: {"url": true},
	config.NotifyTeams:      {"url": true},
	config.NotifySlack:      {"channel": true},
	config.NotifyEmail:      {"smtp": true, "from": true, "to": true, "tls": false, "user": false, "password": false},
}

// ownKeys returns the keys of a channel that depend on its type, and whether each has a value.
func ownKeys(c config.NotificationChannel) map[string]bool {
	return map[string]bool{
		"url": c.URL != "", "secret": c.Secret != "", "channel": c.Channel != "", "smtp": c.SMTP != "", "tls": c.TLS != "",
		"user": c.User != "", "password": c.Password != "", "from": c.From != "", "to": len(c.To) > 0,
	}
}

// lateKeys yields the keys of a channel that may hold variables, and their values.
func lateKeys(c *config.NotificationChannel) iter.Seq2[string, *string] {
	return func(yield func(string, *string) bool) {
		_ = yield("url", &c.URL) && yield("secret", &c.Secret) && yield("password", &c.Password)
	}
}

func validateNotificationChannel(c config.NotificationChannel, p path, v *validator) {
	has, known := ownKeys(c), channelKeys[c.Type]
	for _, key := range slices.Sorted(maps.Keys(has)) {
		required, allowed := known[key]
		switch {
		case known == nil: // the vocabulary reports an unknown type
		case has[key] && !allowed:
			v.Errorf(p.Key(key), "a channel of type %s has no %s", c.Type, key)
		case required && !has[key]:
			v.Errorf(p.Key(key), "is required for a channel of type %s", c.Type)
		}
	}
	if c.Type == "" {
		v.Errorf(p.Key("type"), "is required")
	}
	if c.SMTP != "" {
		host, port, err := net.SplitHostPort(c.SMTP)
		if number, _ := strconv.ParseUint(port, 10, 16); err != nil || host == "" || number == 0 {
			v.Errorf(p.Key("smtp"), "a host and a port are required, such as smtp.example.com:587")
		}
	}
	if c.TLS == config.MailNone && c.Password != "" {
		v.Errorf(p.Key("password"), "is never sent without encryption: remove it, or set tls to starttls or implicit")
	}
	if (c.User == "") != (c.Password == "") {
		v.Errorf(p.Key("user"), "user and password belong together")
	}
	for n, address := range append([]string{c.From}, c.To...) {
		at := p.Key("from")
		if n > 0 {
			at = p.Key("to").Index(n - 1)
		}
		if _, err := mail.ParseAddress(address); err != nil && (address != "" || n > 0) {
			v.Errorf(at, "an email address is required, such as Inquest <inquest@example.com>")
		}
	}
	for key, text := range lateKeys(&c) {
		if _, missing, err := v.expand(*text); err != nil {
			v.Errorf(p.Key(key), "%v", err)
		} else if len(missing) > 0 && !v.src.SkipCredentials {
			v.Add(config.SeverityWarning, p.Key(key), "not set: %s. Workers do not start without the variables of notifications",
				strings.Join(missing, ", "))
		}
	}
}

func validateNotifications(n config.Notifications, p path, v *validator) {
	for i, route := range n.Routes {
		at := p.Key("routes").Index(i)
		for key, names := range map[string][]string{"channels": route.Channels, "escalate_to": route.EscalateTo} { // any order
			for j, name := range names {
				if _, ok := n.Channels[name]; !ok {
					v.Errorf(at.Key(key).Index(j), "unknown channel %q: system.notifications.channels has %s", name,
						cmp.Or(strings.Join(slices.Sorted(maps.Keys(n.Channels)), ", "), "none"))
				}
			}
		}
		for j, name := range route.EscalateTo {
			if n.Channels[name].Type == config.NotifySlack {
				v.Errorf(at.Key("escalate_to").Index(j), "a channel of type slack cannot be escalated to, because a thread stays where it is")
			}
		}
		for j, chain := range route.Chains {
			if _, ok := v.AgentChains[chain]; !ok {
				v.Errorf(at.Key("chains").Index(j), "unknown chain %q", chain)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(n.Channels)) {
		channel := n.Channels[name].Channel
		if _, ok := v.System.Slack.Channels[channel]; channel != "" && !ok {
			v.Errorf(p.Key("channels").Key(name).Key("channel"), "%q is not in system.slack.channels", channel)
		}
	}
}

func validateNotificationRoute(r config.NotificationRoute, p path, v *validator) {
	if len(r.Channels) == 0 {
		v.Errorf(p.Key("channels"), "at least one channel is required")
	}
	if len(r.Projects) > 0 {
		validateGrant(config.Grant{Projects: r.Projects}, p, v)
	}
	if from, to, err := plan.HoursOf(r.QuietHours); r.QuietHours != "" && err != nil {
		v.Errorf(p.Key("quiet_hours"), "%v", err)
	} else if r.QuietHours != "" && from == to {
		v.Errorf(p.Key("quiet_hours"), "must not last all day")
	}
	switch waits := len(r.Events) == 0 || slices.Contains(r.Events, config.EventWaiting); {
	case (r.EscalateAfter == 0) != (len(r.EscalateTo) == 0):
		v.Errorf(p.Key("escalate_after"), "escalate_after and escalate_to belong together")
	case len(r.EscalateTo) > 0 && !waits:
		v.Errorf(p.Key("escalate_to"), "questions are escalated only by a route with the event %s", config.EventWaiting)
	}
}

// minSecret is the minimum length of the key of a signature, in bytes (Standard Webhooks).
const minSecret = 24

// Notifications are the configured notifications, with their secrets, and the calendar for their quiet hours.
type Notifications struct {
	config.Notifications
	Calendar plan.Calendar
}

// Notifications returns the configured notifications, with variables expanded from the current environment. An error names the
// variables, never a value.
func (c *Config) Notifications() (Notifications, error) {
	out := Notifications{c.System.Notifications, plannedCalendar(c.System)}
	out.Channels = maps.Clone(out.Channels)
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(out.Channels)) {
		channel := out.Channels[name]
		problem := func(key, format string, args ...any) {
			errs = append(errs, fmt.Errorf("system.notifications.channels.%s.%s: %s", name, key, fmt.Sprintf(format, args...)))
		}
		for key, text := range lateKeys(&channel) {
			written := *text
			expanded, missing, err := c.expand(written)
			switch {
			case err != nil:
				problem(key, "%v", err)
			case len(missing) > 0:
				problem(key, "variables that are not set: %s", strings.Join(missing, ", "))
			case expanded == "" && written != "":
				problem(key, "%s is empty", written)
			case key == "url" && expanded != "" && !isURL(expanded):
				problem(key, "is not a URL that begins with https:// or http://") // not shown, because it may be a secret
			case key == "secret" && expanded != "" && !isSigningSecret(expanded):
				problem(key, "must be whsec_ and the base64 of at least %d bytes: make one with `echo whsec_$(openssl rand -base64 32)`", minSecret)
			}
			*text = expanded
		}
		out.Channels[name] = channel
	}
	return out, errors.Join(errs...)
}

func isSigningSecret(text string) bool {
	encoded, is := strings.CutPrefix(text, "whsec_")
	key, err := base64.StdEncoding.DecodeString(encoded)
	return is && err == nil && len(key) >= minSecret
}

var (
	slackChannelID = regexp.MustCompile(`^[CDG][A-Z0-9]{2,}$`)
	slackUserID    = regexp.MustCompile(`^[UW][A-Z0-9]{2,}$`)
	slackEmail     = regexp.MustCompile(`^[^@\s]+@[^@\s]+$`)
)

func validateSlack(s config.Slack, p path, v *validator) {
	for key, name := range map[string]string{
		"bot_token_env": s.BotTokenEnv, "app_token_env": s.AppTokenEnv, "signing_secret_env": s.SigningSecretEnv,
	} {
		if name != "" && !variableName.MatchString(name) { // not shown, because it may be a token
			v.Errorf(p.Key(key), "must be the name of a variable that holds the secret, such as SLACK_BOT_TOKEN")
		}
	}
	for _, id := range slices.Sorted(maps.Keys(s.Channels)) {
		if !slackChannelID.MatchString(id) {
			v.Errorf(p.Key("channels").Key(id), "must be a channel's ID, such as C0123456789, not its name")
		}
	}
	named := map[string]string{}
	ids := slices.Sorted(maps.Keys(s.Users))
	v.distinct(p.Key("users"), "user", ids)
	for _, id := range ids {
		at := p.Key("users").Key(id)
		if !slackUserID.MatchString(id) && !slackEmail.MatchString(id) {
			v.Errorf(at, "must be a user's ID, such as U0123456789, or an email address")
		}
		name := strings.ToLower(cmp.Or(s.Users[id].Name, id))
		if other := named[name]; other != "" {
			v.Errorf(at, "has the same name as %s: give each person a different name", other)
		}
		named[name] = id
	}
}

func validateSlackChannel(c config.SlackChannel, p path, v *validator) {
	if c.Project != "" {
		validateGrant(config.Grant{Projects: []string{c.Project}}, p, v)
	}
	validateWebhook(config.Webhook{Chain: c.Chain, AlertType: c.AlertType}, p, v)
	if c.Chain == "" && c.AlertType == "" {
		v.Errorf(p, "a chain or an alert_type is required")
	}
}

func validateSlackUser(u config.SlackUser, p path, v *validator) {
	if u.Name != strings.TrimSpace(u.Name) || agent.CheckBy(u.Name) != nil || reveal.Hides(u.Name) {
		v.Errorf(p.Key("name"), "must have at most %d bytes of UTF-8, without invisible characters and without leading or trailing spaces",
			agent.MaxBy)
	}
	roles := []string{config.RoleViewer, config.RoleOperator, config.RoleApprover, config.RoleAdmin}
	for n, group := range u.Groups {
		at := p.Key("groups").Index(n)
		if slices.Contains(roles, group) {
			v.Errorf(at, "%q is a role, not a group: set it as the role", group)
		} else if agent.CheckBy(group) != nil {
			v.Errorf(at, "a group's name must have at most %d bytes of UTF-8, without invisible characters", agent.MaxBy)
		}
	}
	validateGrant(u.Grant, p, v)
}

// SlackSecrets are the secrets for Slack. They are never part of a message or an error.
type SlackSecrets struct{ Bot, App, Signing string }

// SlackSecrets returns the secrets of the configured mode from the current environment. An error names the variables,
// never a value.
func (c *Config) SlackSecrets() (out SlackSecrets, err error) {
	own := c.System.Slack
	if len(own.Channels) == 0 || len(own.Users) == 0 {
		return out, errors.New("system.slack: channels and users are required")
	}
	read := func(name, prefix string) string {
		value, _ := c.env(name)
		value = strings.TrimSpace(value)
		if value == "" {
			err = errors.Join(err, fmt.Errorf("system.slack: variable %s is not set, or is empty", name))
		} else if !strings.HasPrefix(value, prefix) {
			err = errors.Join(err, fmt.Errorf("system.slack: the value of %s does not begin with %s", name, prefix))
		}
		return value
	}
	out.Bot = read(cmp.Or(own.BotTokenEnv, "SLACK_BOT_TOKEN"), "xoxb-")
	if own.Mode == config.SlackHTTP {
		out.Signing = read(cmp.Or(own.SigningSecretEnv, "SLACK_SIGNING_SECRET"), "")
	} else {
		out.App = read(cmp.Or(own.AppTokenEnv, "SLACK_APP_TOKEN"), "xapp-")
	}
	return out, err
}
