package config

import "github.com/inquest-dev/inquest/value"

// Webhook accepts alerts at POST /webhooks/NAME (docs/reference/webhooks.md).
type Webhook struct {
	// Format is the sender's format: the location of the parts of its alerts, and its signature.
	Format string `yaml:"format" enum:"webhook format" default:"the format of the same name, if any"`
	// Mapping locates an alert's parts in the sender's JSON. Its keys replace those of the format.
	Mapping WebhookMapping `yaml:"mapping"`
	// Chain is the chain to run for every alert, regardless of its type.
	Chain string `yaml:"chain" default:"the chain for the alert's type"`
	// AlertType replaces an alert's type if no chain has that type.
	AlertType string `yaml:"alert_type" default:"defaults.alert_type"`
	// Signature is how the sender signs its requests. Without it, senders need the token of an operator. With it, tokens
	// or oidc are required for the rest of the API.
	Signature WebhookSignature `yaml:"signature"`
	// Projects are the projects in which a sender with a signature may start investigations; "*" means all. Alerts
	// without a project belong to the first.
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
	// AlertType is the alert's type; it selects the chain.
	AlertType []string `yaml:"alert_type"`
	// Fingerprint is the same in all messages about one alert. A placeholder that the sender did not fill in, such as
	// {EVENT.ID}, *UNKNOWN* or ${ID}, counts as missing.
	Fingerprint []string `yaml:"fingerprint" default:"a hash of the alert"`
	// Group is the same for alerts that can share one investigation during a flood of alerts.
	Group []string `yaml:"group" default:"the alert's type"`
	// GroupName is the group's name in lists and messages.
	GroupName []string `yaml:"group_name" default:"the group"`
	// Status says whether the alert is firing.
	Status []string `yaml:"status"`
	// StartsAt is when the alert began to fire: RFC 3339, or a date and a time of day in digits or English words, such as
	// 2026-11-28 07:00:00, 2026.11.28 07:00:00, Sat, 28 Nov 2026 07:00:00 GMT, and April 27, 2025, 20:01 CEST; or seconds,
	// milliseconds, microseconds or nanoseconds since 1970. A zone is an offset, a name such as Europe/Berlin, or UTC, GMT,
	// WET, WEST, CET, CEST, EET, EEST, MSK, EST, EDT, CDT, MST, MDT, PST, PDT, JST, KST, AEST, AEDT, NZST or NZDT. A time
	// with several meanings, such as 1/2/2026 or CST, is left out.
	StartsAt []string `yaml:"starts_at"`
	// Timezone is the zone of a starts_at that has none: an offset, a name or an abbreviation, as in starts_at.
	Timezone []string `yaml:"timezone" default:"UTC"`
	// Title is a one-line description of the alert.
	Title []string `yaml:"title"`
	// Severity is the severity of the alert.
	Severity []string `yaml:"severity"`
	// Priority is a number from 1 (first) to 5, or a word in priorities.
	Priority []string `yaml:"priority" default:"derived from the severity"`
	// Project is the project that the alert belongs to.
	Project []string `yaml:"project" default:"the first of projects, or the token's"`
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
	Scheme string `yaml:"scheme" enum:"signature scheme" default:"the format's"`
	// Header is the header with the signature.
	Header string `yaml:"header" default:"the scheme's"`
	// TimestampHeader is the header with the time of signing, in seconds since 1970. The signature then covers the
	// time, a colon and the body.
	TimestampHeader string `yaml:"timestamp_header" default:"none"`
	// Tolerance is the maximum difference between that time and now.
	Tolerance value.Duration `yaml:"tolerance" default:"5m; 75m for Amazon SNS"`
	// Topics are the ARNs of the Amazon SNS topics that may send. Amazon signs their messages, so they need no secret
	// and no token. Subscriptions of these topics are confirmed automatically.
	Topics []string `yaml:"topics" default:"none"`
}
