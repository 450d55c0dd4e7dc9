package configuration

import (
	"net"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/braces"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/strict"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/trust/mask"
)

// hazard is a setting that can do harm.
type hazard struct {
	fields   []string // as Type.Field of the Go types; none means all strings
	when     func(v *validator, p path, value reflect.Value) bool
	severity config.Severity
	what     string // the harm it does
	instead  string
}

// hazards lists all known hazards. A configuration may contain them on purpose: only validate --strict refuses it.
var hazards = []hazard{
	{[]string{"ToolConfig.ConfirmDestructive"}, unaskedBy, config.SeverityDanger,
		"agents can make destructive calls without a person's approval", "remove it; to exempt a tool, set another risk for it in its " +
			"server's risk"},
	{[]string{"Shell.Enabled"}, unaskedBy, config.SeverityDanger,
		"agents can run any command as the worker's user, without approval", "list the commands in allow, or require approval with risk: high"},
	{[]string{"Server.TrustAnnotations"}, trustsNetwork, config.SeverityDanger,
		"a server on the network decides which of its calls need no approval", "remove it, and set the risk of individual tools"},

	{[]string{"Transport.VerifySSL"}, isFalse, config.SeverityDanger,
		"anyone on the network path can pose as the server and read the tokens",
		"make the system trust the server's certificate authority (SSL_CERT_FILE)"},
	{urlFields, inTheClear, config.SeverityDanger,
		"anyone on the network path can read and change the traffic, including tokens", "use https"},

	{[]string{"AlertMasking.Enabled", "DataMasking.Enabled"}, isFalse, config.SeverityDanger,
		"secrets reach the model, the store and everyone who can read it", "keep it on, and choose patterns"},
	{[]string{"Limits.Data"}, overADataLimit, config.SeverityDanger,
		"every model call can contain this much data, so the sender of an alert determines its cost",
		"allow 1 MB at most, and attach larger data"},

	{[]string{"Transport.Env", "Transport.BearerToken", "Transport.CustomHeaders", "Postgres.DSN"}, plainSecret, config.SeverityDanger,
		"the file contains a secret", "use a variable, {{.NAME}}"},
	{[]string{"WebhookSignature.Secrets", "NotificationChannel.Secret", "NotificationChannel.Password"}, writtenOut, config.SeverityDanger,
		"the file contains a secret", "use a variable, {{.NAME}}"},
	{nil, vendorToken, config.SeverityDanger,
		"the text contains a key or token in a well-known format", "use a variable in a field for secrets: env, bearer_token or custom_headers"},
	{[]string{"Transport.Args"}, secretArgument, config.SeverityDanger,
		"every user of the host can read the arguments of a process", "use env"},
	{urlFields, namedSecret, config.SeverityDanger,
		"a secret in a URL ends up in the logs of servers and proxies", "use bearer_token, custom_headers or api_key_env"},
	{urlFields, hasUser, config.SeverityDanger,
		"the file contains the user name and password of a URL, which are not sent", "use bearer_token, custom_headers or api_key_env"},
	{urlFields, variableInQuery, config.SeverityWarning,
		"a variable in a URL's query: a secret in it ends up in the logs of servers and proxies",
		"use bearer_token, custom_headers or api_key_env for secrets"},
	{promptFields, namedSecret, config.SeverityDanger,
		"a secret is sent to the model and kept in the store", "remove it"},
	{promptFields, hasVariable, config.SeverityWarning,
		"a variable's value is sent to the model and kept in the store", "do not use variables that hold secrets"},
}

// urlFields are addresses to which keys, tokens or prompts are sent.
var urlFields = []string{"Transport.URL", "Transport.SessionCleanupURL", "Provider.BaseURL", "Embedding.BaseURL"}

// promptFields are fields that become part of prompts and may use environment variables. In prompts and system_prompt,
// such variables are refused.
var promptFields = []string{"Agent.CustomInstructions", "Server.Instructions", "Defaults.Runbook", "Chain.Runbook", "MemoryBlock.Value"}

const (
	muchData     = 1 << 20 // bytes
	sampleSecret = "q8Zr2LxW0pT7vN4k"
)

// secret and vendors detect secrets with the same patterns as masking: secret by their names, and vendors only by
// well-known token formats.
var (
	secret  = maskerOf([]string{"security"}, nil)
	vendors = maskerOf(nil, []string{"github_token", "slack_token", "aws_access_key", "gcp_key", "private_key"})
)

func maskerOf(groups, patterns []string) func(text string) bool {
	all, _ := mask.Expand(groups, patterns)
	m, err := mask.New(plan.Masking{Patterns: all})
	return func(text string) bool { return err == nil && m.Finds(text) }
}

// hazards reports the hazards in a value that the user wrote.
func (v *validator) hazards(p path, value reflect.Value, f strict.Field) {
	if v.BuiltIn(p) || value.IsZero() && value.Kind() == reflect.String {
		return
	}
	for _, h := range hazards {
		here := slices.Contains(h.fields, f.Owner+"."+f.Name) || h.fields == nil && value.Kind() == reflect.String
		if here && h.when(v, p, value) {
			v.Add(h.severity, p, "%s; instead: %s", h.what, h.instead)
		}
	}
	if slices.Contains(expandedFields, f.Owner+"."+f.Name) && value.Kind() == reflect.String {
		v.literals(p, value, f)
	}
}

// expandedFields are fields that often have variables.
var expandedFields = []string{"Transport.Command", "Transport.Args", "Transport.Env", "Transport.URL", "Transport.SessionCleanupURL",
	"Transport.BearerToken", "Transport.CustomHeaders", "Provider.Model", "Provider.BaseURL", "Postgres.DSN", "WebhookSignature.Secrets",
	"NotificationChannel.URL", "NotificationChannel.Secret", "NotificationChannel.Password"}

// literals warns of references to variables in the notations of shells and MCP clients, which are not expanded.
func (v *validator) literals(p path, value reflect.Value, f strict.Field) {
	all := braces.ForeignIn(v.written(p, value))
	if s := v.serverAt[p.Entry]; f.Name == "Args" && s != nil {
		args, n := slices.Clone(s.Transport.Args), indexOf(p)
		args[n] = v.written(p, value)
		all = braces.ForeignInArgument(s.Transport.Command, args, n, s.Transport.Env)
	}
	for _, r := range all {
		switch {
		case r.Name == "":
		case r.Default != nil:
			v.Add(config.SeverityWarning, p, "%s is not expanded; write %s instead, and put its default in .env", r.Text, r.Ours())
		default:
			v.Add(config.SeverityWarning, p, "%s is not expanded; write %s instead", r.Text, r.Ours())
		}
	}
}

// indexOf returns the index of an argument.
func indexOf(p path) int {
	n, _ := strconv.Atoi(strings.TrimSuffix(p.Text[strings.LastIndexByte(p.Text, '[')+1:], "]")) // written by Path.Index
	return n
}

func isFalse(_ *validator, _ path, value reflect.Value) bool { return !value.Bool() }

func overADataLimit(_ *validator, _ path, value reflect.Value) bool { return value.Int() > muchData }

// inTheClear reports whether the URL sends data unencrypted. Loopback traffic never leaves the host and does not count.
func inTheClear(_ *validator, _ path, value reflect.Value) bool {
	u, err := url.Parse(braces.Action.ReplaceAllString(value.String(), "x"))
	if err != nil || u.Scheme != "http" {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback())
}

func hasUser(_ *validator, _ path, value reflect.Value) bool {
	return withoutUser(value.String()) != value.String()
}

func trustsNetwork(v *validator, p path, value reflect.Value) bool {
	s := v.serverAt[p.Entry]
	return value.Bool() && s != nil && slices.Contains([]string{config.TransportHTTP, config.TransportSSE}, transportKind(s.Transport))
}

func unaskedBy(v *validator, p path, _ reflect.Value) bool { return v.unasked()[p.Text] }

// unasked returns the paths of settings that let agents, in chains or on their own, run destructive tools or any
// command without approval.
func (v *validator) unasked() map[string]bool {
	if v.unaskedBy != nil {
		return v.unaskedBy
	}
	v.unaskedBy = map[string]bool{}
	for _, w := range v.everyWork() {
		free, shell := tool.Unattended(plannedToolConfig(w.ToolConfig)), w.Shell
		runs := value(shell.Enabled) && slices.Contains(w.kind.Tools, agent.ToolShell)
		if slices.Contains(free, agent.RiskDestructive) && (runs || len(w.Servers) > 0 || len(v.toolIDs(w.definition)) > 0) {
			v.unaskedBy[w.origin("tool_config.confirm_destructive").At.Text] = true
		}
		if runs && len(shell.Allow) == 0 && slices.Contains(free, shell.Risk) {
			v.unaskedBy[w.origin("shell.enabled").At.Text] = true
		}
	}
	return v.unaskedBy
}

// everyWork returns the work of all agents, in chains and in conversations.
func (v *validator) everyWork() (all []work) {
	for chain := range v.AgentChains {
		all = append(all, v.chainWork(chain)...)
	}
	for name := range v.Agents {
		if w, err := v.standalone(name); err == nil {
			all = append(all, w)
		}
	}
	return all
}

// written returns a text as in the file, with its variables.
func (v *validator) written(p path, value reflect.Value) string {
	return v.Template(p, value.String())
}

func hasVariable(v *validator, p path, value reflect.Value) bool {
	return v.names(p, value) != nil && !namedSecret(v, p, value)
}

func variableInQuery(v *validator, p path, value reflect.Value) bool {
	_, query, _ := strings.Cut(v.written(p, value), "?")
	return len(variableNames(query)) > 0 && !namedSecret(v, p, value)
}

// namedSecret reports whether the text has a variable whose name, or the key before it, looks like that of a secret.
func namedSecret(v *validator, p path, value reflect.Value) bool {
	text := v.written(p, value)
	if secret(braces.Action.ReplaceAllString(text, sampleSecret)) && v.names(p, value) != nil {
		return true
	}
	return slices.ContainsFunc(v.names(p, value), func(name string) bool { return secret(name + "=" + sampleSecret) })
}

// secretArgument reports whether an argument is a secret, by its own text or by the option before it.
func secretArgument(v *validator, p path, value reflect.Value) bool {
	text := v.written(p, value)
	if s, n := v.serverAt[p.Entry], indexOf(p); n > 0 && s != nil {
		if option := s.Transport.Args[n-1]; strings.HasPrefix(option, "-") && !strings.Contains(option, "=") {
			text = option + " " + text
		}
	}
	return secret(braces.Action.ReplaceAllString(text, sampleSecret)) || namedSecret(v, p, value)
}

// plainSecret reports whether the text contains a secret directly instead of a variable.
func plainSecret(v *validator, p path, value reflect.Value) bool {
	key, text := p.Name, value.String()
	if key == "bearer_token" {
		return variableNames(text) == nil
	}
	literal := braces.Action.ReplaceAllString(text, "")
	return secret(key+": "+text) && secret(key+": "+literal) || secret(text) && secret(literal)
}

// writtenOut reports whether a secret text has no variable.
func writtenOut(v *validator, p path, value reflect.Value) bool { return v.names(p, value) == nil }

func vendorToken(v *validator, p path, value reflect.Value) bool {
	return vendors(v.written(p, value))
}

// names returns the names of the variables in a text.
func (v *validator) names(p path, value reflect.Value) []string {
	return variableNames(v.written(p, value))
}

// variableNames returns the names of the variables in a text, except SESSION_ID, which Inquest sets itself.
func variableNames(text string) (names []string) {
	for _, m := range braces.Action.FindAllStringSubmatch(text, -1) {
		if m[1] != "" && m[1] != sessionID {
			names = append(names, m[1])
		}
	}
	return names
}
