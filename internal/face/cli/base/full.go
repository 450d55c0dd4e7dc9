package base

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/configuration"
	"github.com/inquest-dev/inquest/internal/face/terminal"
	"github.com/inquest-dev/inquest/internal/knowledge/memory"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/internal/trust/audit"
	"github.com/inquest-dev/inquest/internal/trust/remember"
	"github.com/inquest-dev/inquest/internal/virtual"
)

// Full is what needs Temporal, the workers' store, or the adapters of models and tools. Package local provides it. The build with the
// tag remote has none and thus links none of these.
type Full struct {
	Connect func(c *CLI) Direct
	// Toolbox returns the tools of a configuration. The caller must close it.
	Toolbox func(ctx context.Context, c *CLI, cfg *configuration.Config) (Toolbox, error)
	// StoreDangers reports insecure connections to the workers' database, as set in the configuration or for starter itself.
	StoreDangers func(c *CLI, cfg *configuration.Config) config.Findings
	// LeftOut lists the tools that agents do not get because models would see two with the same name, according to the store.
	LeftOut func(ctx context.Context, c *CLI, cfg *configuration.Config) ([]string, error)
	// CheckVersions checks whether this program, the store, Temporal and the workers fit together, and prints the result.
	CheckVersions func(ctx context.Context, c *CLI, patience time.Duration) error
	// WarnOfPassword warns of passwords on the command line.
	WarnOfPassword func(cmd *cobra.Command)
	Commands       func(c *CLI) FullCommands
}

// FullCommands are the commands that only the full build has.
type FullCommands struct {
	Doctor, StoreCheck, Codec, MCP, UI, Export, Import, Eval *cobra.Command
	Hidden                                                   []*cobra.Command // of other programs, such as MCP servers
}

// Direct is the system through Temporal and the workers' store, with operations that the API does not offer.
type Direct interface {
	Service
	// OpenStore returns the workers' store, or nil without one.
	OpenStore(ctx context.Context) (Store, error)
	// StoreName names the store in messages, without secrets.
	StoreName() string
	// Place identifies the system among others that the user has.
	Place() ([]string, error)
	// About describes an investigation in one line. An empty string means unknown.
	About(ctx context.Context, r record.Investigation) string
	// Ask queries a running investigation or conversation. The type of its status says which query.
	Ask(ctx context.Context, h system.Handle, status any) error
	Blob(ctx context.Context, hash string) ([]byte, error)
	// Project returns the project of a conversation.
	Project(ctx context.Context, thread string) (string, error)
	VerifyAudit(ctx context.Context, head string) (audit.Verdict, error)
	AuditHead(ctx context.Context) (audit.Anchor, error)
	// AgentInfos lists the agents in a configuration and those that a project has made at run time.
	AgentInfos(ctx context.Context, cfg *configuration.Config, project string) ([]system.AgentInfo, error)
	VirtualAgents(ctx context.Context, project string, deleted bool) ([]virtual.Agent, error)
	VirtualAgent(ctx context.Context, project, name string) (virtual.Agent, error)
	DeleteAgent(ctx context.Context, e system.AgentEdit) error
}

// Store is the part of the workers' store that commands use. *store.Store implements it.
type Store interface {
	terminal.Source
	FindInvestigation(ctx context.Context, workflowID string) (record.Investigation, error)
	Reply(ctx context.Context, scope transcript.Scope, iteration int) (transcript.Entry, error)
	LastOffer(ctx context.Context, server string) (tool.Catalogue, error)

	Rules(ctx context.Context, tool string, past bool) ([]remember.Rule, error)
	Rule(ctx context.Context, id string) (remember.Rule, error)
	AddRule(ctx context.Context, r remember.Rule) error
	RevokeRule(ctx context.Context, id string, by remember.Revoked) (remember.Rule, error)
	Preview(ctx context.Context, r remember.Rule) (remember.Preview, error)

	ExportMemory(ctx context.Context, agent string) (memory.Snapshot, error)
	ImportMemory(ctx context.Context, agent string, snapshot memory.Snapshot, replace bool) error
	RememberAs(ctx context.Context, agent string, who audit.Act, fn func(memory.Tx) error) error
}

// Toolbox lists and prepares tools, as doctor.Toolbox does.
type Toolbox interface {
	List(ctx context.Context, agentName string, kind system.ToolType) (tools []system.ToolInfo, troubles []error, err error)
	Names(ctx context.Context) ([]string, error)
	Prepare(ctx context.Context, agentName, name, arguments string) (ToolCall, error)
	Close()
}

// ToolCall is a call that the policy allows.
type ToolCall struct {
	tool.Decision
	// MayApprove returns an error if the caller may not approve the call alone.
	MayApprove func(who *agent.Identity) error
	Make       func(ctx context.Context, who *agent.Identity) (tool.Result, error)
}

// OpenStore returns the workers' store. It is nil without a store and with the API.
func (c *CLI) OpenStore(ctx context.Context) (Store, error) {
	if d, ok := c.Client().(Direct); ok {
		return d.OpenStore(ctx)
	}
	return nil, nil
}

// Toolbox returns the tools of a configuration. The caller must close it.
func (c *CLI) Toolbox(ctx context.Context, cfg *configuration.Config) (Toolbox, error) {
	if c.Full == nil {
		return nil, NeedsFull("using tools without the API")
	}
	return c.Full.Toolbox(ctx, c, cfg)
}

// NeedsFull returns the error for a feature that this build lacks.
func NeedsFull(what string) error {
	return Usagef("%s needs the full build of starter: this one was built with -tags remote, for the HTTP API alone.\n"+
		"Build the full one from source with: go install ./starter", what)
}

// Missing returns hidden commands that say which build has them.
func Missing() FullCommands {
	missing := func(name string) *cobra.Command {
		fails := func(cmd *cobra.Command, _ []string) error { return NeedsFull(pathOf(cmd)) }
		return &cobra.Command{Use: name, Hidden: true, DisableFlagParsing: true, PersistentPreRunE: fails, RunE: fails}
	}
	return FullCommands{
		Doctor: missing("doctor"), StoreCheck: missing("check"), Codec: missing("codec"), MCP: missing("mcp"), UI: missing("ui"),
		Export: missing("export"), Import: missing("import"), Eval: missing("eval"),
	}
}
