package config

import (
	"github.com/inquest-dev/inquest/value"
)

// Server is an MCP server, whose tools agents use.
type Server struct {
	// Transport is how to connect to the server.
	Transport Transport `yaml:"transport"`
	// NPX is the npm package, with its version, that contains the transport's command. If the command is not on the
	// worker's PATH, npx runs it. If npx is missing too, chains that use the server are refused.
	NPX string `yaml:"npx" default:"none"`
	// Instructions tell agents how to use the server's tools.
	Instructions string `yaml:"instructions"`
	// TaskQueue is the queue whose workers run the server's tools.
	TaskQueue string `yaml:"task_queue" default:"all workers"`
	// Risk is the effect that a call of a tool can have, by the tool's name.
	Risk map[string]value.Risk `yaml:"risk" enum:"risk" default:"from the server's annotations (see trust_annotations), else write"`
	// Idempotent are tools whose calls may be retried after a crash although they write or destroy, in addition to
	// those that a trusted server declares.
	Idempotent []string `yaml:"idempotent" default:"none"`
	// TrustAnnotations accepts the server's annotations of its tools (readOnlyHint, idempotentHint). If false, annotations
	// can only raise a risk (destructiveHint), never lower it. A stdio server is a program that runs with the worker's rights; any
	// other server may belong to a third party.
	TrustAnnotations *bool `yaml:"trust_annotations" default:"true for stdio, false for http and sse"`
	// Trusted means that the server's tool descriptions and results are trusted text too. Set it only if nobody else can
	// write them; others write logs, tickets and web pages. See tool_config.tainted_writes.
	Trusted *bool `yaml:"trusted" default:"false"`

	// Summarization shortens large results.
	Summarization Summarization `yaml:"summarization"`
	// DataMasking selects what to mask in the server's results.
	DataMasking *DataMasking `yaml:"data_masking" default:"as alert_masking"`
}

// The transports of MCP servers.
const (
	TransportStdio = "stdio" // a child process of the worker
	TransportHTTP  = "http"  // streamable HTTP
	TransportSSE   = "sse"   // HTTP with server-sent events, for older servers
)

// Transport is how to connect to a server. After loading, values that may be secret keep their template text;
// Config.Transport expands them.
type Transport struct {
	// Type is the name of the transport.
	Type string `yaml:"type" enum:"transport" default:"stdio"`
	// Command is the program of a stdio server.
	Command string `yaml:"command"`
	// Args are the arguments of the command.
	Args []string `yaml:"args"`
	// Env is added to the small environment that every stdio server has.
	Env map[string]string `yaml:"env,late"`
	// URL is the address of an http or sse server.
	URL string `yaml:"url" foreign:"serverUrl httpUrl" instead:"use url"`
	// BearerToken is sent to an http or sse server with every request.
	BearerToken string `yaml:"bearer_token,late"`
	// VerifySSL checks the certificate of an http or sse server. Set it to false only for tests.
	VerifySSL *bool `yaml:"verify_ssl" default:"true"`
	// Timeout limits one call.
	Timeout value.Duration `yaml:"timeout" default:"the agent's timeouts.tool"`
	// CustomHeaders are sent to an http or sse server with every request. {{.SESSION_ID}} is the execution's ID.
	CustomHeaders map[string]string `yaml:"custom_headers,late" foreign:"headers" instead:"use custom_headers"`
	// SessionCleanupURL gets a DELETE request when a session ends; {{.SESSION_ID}} is the execution's ID. If its host
	// differs from the host of url, the request has no token and no headers.
	SessionCleanupURL string `yaml:"session_cleanup_url"`
	// Roots are the directories that the server may work in (MCP roots), as absolute paths. A filesystem server uses
	// them instead of those in its args.
	Roots []string `yaml:"roots"`
}
