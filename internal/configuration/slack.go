package configuration

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/reveal"
)

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
