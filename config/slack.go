package config

// Slack connects a workspace: docs/how-to/use-slack.md. `worker --slack` and `dev --slack` use it. Changes take effect
// when the process is restarted.
type Slack struct {
	// Mode is how Slack and the worker connect. With socket, the worker connects to Slack. With http, Slack sends signed
	// requests to /slack of the HTTP API.
	Mode string `yaml:"mode" enum:"slack mode" default:"socket"`
	// BotTokenEnv names the variable that holds the bot's token (xoxb-…).
	BotTokenEnv string `yaml:"bot_token_env" default:"SLACK_BOT_TOKEN"`
	// AppTokenEnv names the variable that holds the app-level token (xapp-…), for the mode socket.
	AppTokenEnv string `yaml:"app_token_env" default:"SLACK_APP_TOKEN"`
	// SigningSecretEnv names the variable that holds the app's signing secret, for the mode http.
	SigningSecretEnv string `yaml:"signing_secret_env" default:"SLACK_SIGNING_SECRET"`
	// Channels are the channels to listen to, by Slack's ID (C0123456789).
	Channels map[string]SlackChannel `yaml:"channels"`
	// Users are the people who may use the bot, by Slack's ID (U0123456789) or by their email address in the
	// workspace.
	Users map[string]SlackUser `yaml:"users"`

	_ struct{} `foreign:"enabled channel token_env" instead:"set channels, users and bot_token_env, and start with --slack"`
}

// The values of Slack.Mode.
const (
	SlackSocket = "socket"
	SlackHTTP   = "http"
)

// SlackChannel selects what a channel's messages start.
type SlackChannel struct {
	// Project is the project of the channel's investigations.
	Project string `yaml:"project" default:"default"`
	// Chain is the chain to run.
	Chain string `yaml:"chain" default:"the chain for alert_type"`
	// AlertType selects the chain, if chain is not set.
	AlertType string `yaml:"alert_type"`
}

// SlackUser is a person in Slack.
type SlackUser struct {
	// Name is the name that is recorded with the person's decisions. Give the name that the person also has elsewhere,
	// such as in OIDC tokens: approve_own compares it with the name of whoever started an investigation.
	Name string `yaml:"name" default:"the key of the entry: the email address or Slack's ID"`
	// Groups are the person's groups, for lists of approvers. The person also has the grants that system.http.oidc.groups
	// gives to them.
	Groups []string `yaml:"groups"`
	Grant  `yaml:",inline"`
}
