package config

import "github.com/inquest-dev/inquest/value"

// Notifications tell people and other systems about investigations: docs/how-to/get-notified.md. Any worker may send them, so every
// worker needs the variables that they name. Questions of conversations are not sent, nor are questions that have been answered meanwhile.
// Changes take effect when the worker is restarted.
type Notifications struct {
	// Channels are where notifications can go, by name.
	Channels map[string]NotificationChannel `yaml:"channels"`
	// Routes select what goes where. Every route that matches an event applies, but a channel gets an event once.
	Routes []NotificationRoute `yaml:"routes"`
}

// NotificationChannel is a place for notifications. Which keys it has depends on its type. Attempts to send are repeated after errors of
// the network and the statuses 401, 403, 404, 408, 425, 429 and 5xx. Other statuses are final: 400, 410 and redirects, for example.
type NotificationChannel struct {
	// Type is the kind of channel; required. webhook sends signed JSON. mattermost sends to an incoming webhook, and teams to a workflow
	// that posts to a channel when a webhook request is received. email sends mail by SMTP, with complete reports. slack opens a thread
	// in a channel of Slack, if one worker runs with --slack; an investigation that has a thread keeps it.
	Type string `yaml:"type" enum:"notification channel"`
	// URL is the address to send to, for webhook, mattermost and teams. The addresses of Mattermost and Teams are secrets:
	// "{{.TEAMS_URL}}".
	URL string `yaml:"url,late"`
	// Secret signs the requests of a webhook, as in Standard Webhooks: "{{.HOOK_SECRET}}". It is whsec_ and the base64 of at least
	// 24 bytes; make one with `echo whsec_$(openssl rand -base64 32)`.
	Secret string `yaml:"secret,late"`
	// Channel is the ID of one of slack.channels, for slack.
	Channel string `yaml:"channel"`
	// SMTP is the mail server, host:port, for email.
	SMTP string `yaml:"smtp"`
	// TLS is how the connection to the mail server is encrypted. With none, no password is sent.
	TLS string `yaml:"tls" enum:"mail encryption" default:"implicit for port 465; starttls for others"`
	// User is the name with which to sign in to the mail server.
	User string `yaml:"user" default:"none"`
	// Password is the user's password: "{{.SMTP_PASSWORD}}".
	Password string `yaml:"password,late" default:"none"`
	// From is the sender's address.
	From string `yaml:"from"`
	// To are the recipients' addresses.
	To []string `yaml:"to"`
}

// NotificationRoute sends events to channels. An event must match every list that is given.
type NotificationRoute struct {
	// Channels are the names of the channels; required.
	Channels []string `yaml:"channels"`
	// Events are the events: an investigation has started, waits for a person's decision or answer, or has finished.
	Events []string `yaml:"events" enum:"notification event" default:"started, waiting, finished"`
	// Projects are the projects of the investigations.
	Projects []string `yaml:"projects" default:"all"`
	// Chains are the chains of the investigations.
	Chains []string `yaml:"chains" default:"all"`
	// Severities are the severities of the alerts, in any case: critical. Webhooks record it in the metadata of the investigation,
	// under severity.
	Severities []string `yaml:"severities" default:"all"`
	// QuietHours are when the route sends nothing: 22:00-07:00, in system.timezone. Its notifications are sent afterwards, except
	// for questions that have been answered.
	QuietHours string `yaml:"quiet_hours" default:"none"`
	// EscalateTo are channels that Inquest notifies in turn while a question stays open: the first after escalate_after, the second
	// after twice that time. Quiet hours do not delay them. Channels of type slack cannot be among them.
	EscalateTo []string `yaml:"escalate_to" default:"none"`
	// EscalateAfter is how long a question is open before the next channel is notified; required with escalate_to.
	EscalateAfter value.Duration `yaml:"escalate_after"`
}

// The types of notification channels.
const (
	NotifyWebhook    = "webhook"
	NotifyMattermost = "mattermost"
	NotifyTeams      = "teams"
	NotifyEmail      = "email"
	NotifySlack      = "slack"
)

// The events of notification routes.
const (
	EventStarted  = "started"
	EventWaiting  = "waiting"
	EventFinished = "finished"
)

// The values of NotificationChannel.TLS.
const (
	MailStartTLS = "starttls"
	MailImplicit = "implicit"
	MailNone     = "none"
)
