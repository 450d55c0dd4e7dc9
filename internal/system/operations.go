package system

import (
	"context"
	"reflect"
	"slices"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/artifact"
	"github.com/inquest-dev/inquest/internal/configuration"
	"github.com/inquest-dev/inquest/internal/knowledge/memory"
	"github.com/inquest-dev/inquest/internal/knowledge/runbook"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/trust/evidence"
	"github.com/inquest-dev/inquest/internal/webhook"
	"github.com/inquest-dev/inquest/workflows"
)

// Operation is something that users of the system can do. The HTTP API serves it, its client and the MCP tools call it.
type Operation struct {
	Name    string // operation ID in the OpenAPI document
	Role    string // least role that may use it; empty means anyone, without a token
	Method  string
	Path    string
	Summary string
	Tool    string // MCP tool that runs it; empty means none
	// Everywhere means that it belongs to no project and requires the role in all projects.
	Everywhere bool
	// Stream means that the response continues until the client leaves.
	Stream  bool
	Status  int   // of the response; zero means 200
	MaxBody int64 // bytes of the request; zero means MaxBody
	// NotRemote is why the client of the API does not call it; empty means that it does.
	NotRemote string
	// In and Out are the types of the request and of the response's content.
	In, Out reflect.Type
}

// Op is an operation with the types of its request and of its response. The fields of In are tagged with the part of the HTTP request
// that carries them: path, query, header, or Body.
type Op[In, Out any] struct{ Operation }

// rows are all operations that are not signals, in the order of their declarations.
var rows []Operation

func op[In, Out any](o Operation) Op[In, Out] {
	o.In, o.Out = reflect.TypeFor[In](), reflect.TypeFor[Out]()
	rows = append(rows, o)
	return Op[In, Out]{o}
}

// Caller runs operations, whatever the way to the system is. in and out are of the types of the operation's row; out is a pointer.
type Caller interface {
	Call(ctx context.Context, row Operation, in, out any) error
}

// None is a request without parameters.
type None = struct{}

// Stream is a response in server-sent events (docs/reference/events.md).
type Stream struct{}

const (
	get  = "GET"
	post = "POST"
	put  = "PUT"
	del  = "DELETE"

	investigation = Investigations + "/{id}"
	conversation  = Conversations + "/{id}"
	oneAgent      = Agents + "/{name}"
	oneMemory     = Base + "/memory/{agent}"
	oneLearning   = Learnings + "/{learning}"
	oneSchedule   = Schedules + "/{name}"

	viewer   = config.RoleViewer
	operator = config.RoleOperator
	approver = config.RoleApprover
	admin    = config.RoleAdmin

	created  = 201
	accepted = 202
)

// Reasons why the client of the API does not call an operation.
const (
	forPage    = "only the web page needs it"
	forScripts = "only programs and probes need it; it has no command"
	resume     = "; send Last-Event-ID to resume after that event"
)

// Investigations.
var (
	ListInvestigations = op[ListIn, Page[Listed]](Operation{Name: "list-investigations", Role: viewer, Method: get, Path: Investigations,
		Summary: "List investigations, newest first", Tool: "list_investigations"})
	StartInvestigation = op[StartIn, Started](Operation{Name: "start-investigation", Role: operator, Method: post, Path: Investigations,
		Status: created, MaxBody: MaxData, Summary: "Start an investigation", Tool: "start_investigation"})
	CheckRequest = op[CheckIn, Checked](Operation{Name: "check-request", Role: operator, Method: post, Path: Investigations + "/check",
		MaxBody: MaxData, Summary: "Validate a request without starting an investigation", NotRemote: forPage})
	GetInvestigation = op[ByID, Whole](Operation{Name: "get-investigation", Role: viewer, Method: get, Path: investigation,
		Summary: "Get an investigation with its stages, agents and scores", Tool: "get_investigation"})
	GetStatus = op[ByID, Standing](Operation{Name: "get-status", Role: viewer, Method: get, Path: investigation + "/status",
		Summary: "Get the current status of an investigation"})
	GetEvidence = op[ByID, evidence.Evidence](Operation{Name: "get-evidence", Role: viewer, Method: get, Path: investigation + "/evidence",
		Summary: "Get an investigation's evidence, and for each claim of its report whether the evidence supports it", Tool: "get_evidence"})
	GetPlan = op[ByID, plan.Plan](Operation{Name: "get-plan", Role: viewer, Method: get, Path: investigation + "/plan",
		Summary: "Get an investigation's plan: its chain as it was resolved at the start, with all prompts, models, tools and limits"})
	Compare = op[CompareIn, Comparison](Operation{Name: "compare", Role: viewer, Method: get, Path: investigation + "/compare/{other}",
		Summary:   "Compare two investigations: plans, transcripts reply by reply, causes, cost and time",
		NotRemote: "the command reads both and compares them by itself"})
	ListArtifacts = op[ByID, Page[artifact.Artifact]](Operation{Name: "list-artifacts", Role: viewer, Method: get,
		Path: investigation + "/artifacts", Summary: "List the files and images that tools returned"})
	GetArtifact = op[ArtifactIn, []byte](Operation{Name: "get-artifact", Role: viewer, Method: get, Path: investigation + "/artifacts/{n}",
		Summary: "Download an artifact"})
	GetTranscript = op[TranscriptIn, Entries](Operation{Name: "get-transcript", Role: viewer, Method: get,
		Path: investigation + "/transcript", Summary: "Get the transcript in order", Tool: "get_transcript"})
	GetWholeText = op[WholeTextIn, TextPart](Operation{Name: "get-whole-text", Role: viewer, Method: get,
		Path:    investigation + "/transcript/{seq}/whole",
		Summary: "Get the full text of a transcript entry, in parts", NotRemote: forPage})
	GetImage = op[ImageIn, []byte](Operation{Name: "get-image", Role: viewer, Method: get,
		Path:    investigation + "/transcript/{seq}/images/{n}",
		Summary: "Download an image from a tool result", NotRemote: forPage})
	ListActs = op[ActsIn, ActsPage](Operation{Name: "list-acts", Role: viewer, Method: get, Path: investigation + "/acts",
		Summary: "List decisions, messages and changes that people made in an investigation, in order"})
	WatchInvestigation = op[WatchIn, Stream](Operation{Name: "watch-investigation", Role: viewer, Method: get, Stream: true,
		Path: investigation + "/events", Summary: "Stream an investigation as server-sent events (docs/reference/events.md)" + resume})
	WatchList = op[WatchListIn, Stream](Operation{Name: "watch-list", Role: viewer, Method: get, Path: Base + "/events", Stream: true,
		Summary: "Stream new and changed investigations as server-sent events", NotRemote: forPage})
)

// Decisions and messages of people. The signals are in Signals.
var (
	ListInbox = op[InboxIn, Page[Thing]](Operation{Name: "list-inbox", Role: viewer, Method: get, Path: Base + "/inbox",
		Summary: "List tool calls, questions and reviews that need a person, most urgent first", Tool: "list_inbox"})
	Cancel = op[ByID, Named](Operation{Name: "cancel", Role: operator, Method: post, Path: investigation + "/cancel", Status: accepted,
		Summary: "Cancel an investigation; finished work is kept", Tool: SteerTool})
	Score = op[ByID, Named](Operation{Name: "score", Role: operator, Method: post, Path: investigation + "/score", Status: accepted,
		Summary: "Score a finished investigation"})
	Decide = op[Steer[DecideBody], Decided](Operation{Name: "decide", Role: approver, Method: post, Path: investigation + "/decide",
		Summary: "Approve or deny a pending tool call", Tool: "decide_call"})
	Answer = op[Steer[AnswerBody], record.Question](Operation{Name: "answer", Role: approver, Method: post, Path: investigation + "/answer",
		Summary: "Answer a question", Tool: "answer_question"})
	ExtendBudget = op[Steer[ExtendBody], workflows.Budget](Operation{Name: "extend-budget", Role: approver, Method: post,
		Path: investigation + "/extend-budget", Summary: "Raise the limits of an investigation: model calls, tokens, cost or time"})
	ReceiveAlerts = op[None, Delivery](Operation{Name: "receive-alerts", Role: operator, Method: post, Path: "/webhooks/{name}",
		Status: accepted, MaxBody: MaxData, Summary: "Receive alerts from a monitoring system", NotRemote: forScripts})
	ListAlerts = op[AlertsIn, Page[webhook.Row]](Operation{Name: "list-alerts", Role: viewer, Method: get, Path: Base + "/alerts",
		Summary: "List alerts received by webhooks, newest first", NotRemote: forPage})
)

// Conversations.
var (
	ListConversations = op[ThreadsIn, Page[Thread]](Operation{Name: "list-conversations", Role: viewer, Method: get, Path: Conversations,
		Summary: "List open conversations, or all conversations, newest first"})
	GetConversation = op[ThreadIn, Talk](Operation{Name: "get-conversation", Role: viewer, Method: get, Path: conversation,
		Summary: "Get a conversation's agent and state"})
	BeginConversation = op[BeginIn, Spoken](Operation{Name: "begin-conversation", Role: operator, Method: post, Path: Conversations,
		Stream: true, Summary: "Start a conversation with an agent by sending the first message"})
	Say = op[SayIn, Spoken](Operation{Name: "say", Role: operator, Method: post, Path: conversation + "/messages", Stream: true,
		Summary: "Send a message to an open conversation"})
	GetConversationTranscript = op[ThreadTranscriptIn, Entries](Operation{Name: "get-conversation-transcript", Role: viewer, Method: get,
		Path: conversation + "/transcript", Summary: "Get the messages of a conversation, in order"})
	ConcludeTurn = op[ThreadIn, Named](Operation{Name: "conclude-turn", Role: operator, Method: post, Path: conversation + "/conclude",
		Summary: "Ask the agent to finish its current turn now"})
	CloseConversation = op[ThreadIn, Named](Operation{Name: "close-conversation", Role: operator, Method: post, Path: conversation + "/close",
		Summary: "Close a conversation after its current turn"})
	FindTurns = op[FindTurnsIn, Page[FoundTurn]](Operation{Name: "search-conversations", Role: viewer, Method: get,
		Path: Base + "/conversation-search", Summary: "Search the turns of open and closed conversations"})
	ExportConversation = op[ExportThreadIn, []byte](Operation{Name: "export-conversation", Role: viewer, Method: get,
		Path: conversation + "/export", Summary: "Download a whole conversation as Markdown or JSON"})
	DeleteConversation = op[ThreadIn, Named](Operation{Name: "delete-conversation", Role: admin, Method: del, Path: conversation,
		Summary: "Close and delete a conversation with all its messages; the audit trail is kept"})
	WatchConversation = op[WatchIn, Stream](Operation{Name: "watch-conversation", Role: viewer, Method: get, Path: conversation + "/events",
		Stream: true, Summary: "Stream a conversation as server-sent events" + resume})
)

// Agents and their memory.
var (
	ListAgents = op[ProjectIn, Page[AgentInfo]](Operation{Name: "list-agents", Role: viewer, Method: get, Path: Agents,
		Summary: "List agents, including those created at run time"})
	GetAgent = op[OneAgent, AgentWhole](Operation{Name: "get-agent", Role: viewer, Method: get, Path: oneAgent,
		Summary: "Get an agent's definition", NotRemote: "list-agent-versions returns the definition too"})
	ListAgentVersions = op[OneAgent, Page[AgentWhole]](Operation{Name: "list-agent-versions", Role: viewer, Method: get,
		Path: oneAgent + "/versions", Summary: "List all versions of an agent created at run time, newest first"})
	CreateAgent = op[CreateAgentIn, AgentWhole](Operation{Name: "create-agent", Role: admin, Method: post, Path: Agents, Status: created,
		Summary: "Create an agent at run time"})
	ChangeAgent = op[ChangeAgentIn, AgentWhole](Operation{Name: "change-agent", Role: admin, Method: put, Path: oneAgent,
		Summary: "Change an agent created at run time; running investigations keep the version that they started with"})
	DeleteAgent = op[DeleteAgentIn, DeletedAgent](Operation{Name: "delete-agent", Role: admin, Method: del, Path: oneAgent,
		Summary: "Delete an agent created at run time; its old versions are kept"})
	CopyAgent = op[CopyAgentIn, AgentWhole](Operation{Name: "copy-agent", Role: admin, Method: post, Path: oneAgent + "/copy",
		Status: created, Summary: "Copy an agent created at run time"})
	RunAgent = op[RunAgentIn, Started](Operation{Name: "run-agent", Role: operator, Method: post, Path: oneAgent + "/run", Status: created,
		MaxBody: MaxData, Summary: "Run a single agent as an investigation",
		NotRemote: "start-investigation can also run a single agent"})
	GetRun = op[ByID, AgentRun](Operation{Name: "get-run", Role: viewer, Method: get, Path: Base + "/runs/{id}",
		Summary: "Get the result of a run started by run-agent", NotRemote: "get-investigation also returns runs"})

	ListMemoryBlocks = op[AgentIn, Page[memory.Block]](Operation{Name: "list-memory-blocks", Role: viewer, Everywhere: true, Method: get,
		Path: oneMemory + "/blocks", Summary: "List the memory blocks of an agent"})
	SearchMemory = op[ArchivalIn, Page[memory.Entry]](Operation{Name: "search-memory", Role: viewer, Everywhere: true, Method: get,
		Path: oneMemory + "/archival", Summary: "List or search the archival memory of an agent"})
	WriteMemoryBlock = op[BlockIn, memory.Block](Operation{Name: "write-memory-block", Role: operator, Everywhere: true, Method: put,
		Path: oneMemory + "/blocks/{label}", Summary: "Create or change a memory block of an agent"})
	DeleteMemoryBlock = op[LabelIn, Named](Operation{Name: "delete-memory-block", Role: operator, Everywhere: true, Method: del,
		Path: oneMemory + "/blocks/{label}", Summary: "Delete a memory block of an agent"})
	DeleteMemory = op[EntryIn, Named](Operation{Name: "delete-memory", Role: operator, Everywhere: true, Method: del,
		Path: oneMemory + "/archival/{entry}", Summary: "Delete an entry of an agent's archival memory"})
)

// Learnings from investigations, for later ones of their projects.
var (
	ListLearnings = op[LearningsIn, Page[Learning]](Operation{Name: "list-learnings", Role: viewer, Method: get, Path: Learnings,
		Summary: "List or search the learnings of a project, newest first", Tool: "list_learnings"})
	GetLearning = op[GetLearningIn, LearningWhole](Operation{Name: "get-learning", Role: viewer, Method: get, Path: oneLearning,
		Summary: "Get a learning, and the investigations and conversations that received it"})
	EditLearning = op[EditLearningIn, Learning](Operation{Name: "edit-learning", Role: operator, Method: put, Path: oneLearning,
		Summary: "Change a learning"})
	DeleteLearning = op[LearningIn, Named](Operation{Name: "delete-learning", Role: operator, Method: del, Path: oneLearning,
		Summary: "Delete a learning"})
	GetTaught = op[TaughtIn, Taught](Operation{Name: "get-taught", Role: viewer, Method: get, Path: investigation + "/learnings",
		Summary: "List the learnings from an investigation, and the investigations and conversations that received them"})
	Rate = op[RateIn, Rated](Operation{Name: "rate", Role: operator, Method: post, Path: investigation + "/rating",
		Summary: "Rate a finished investigation; returns its learnings, and the investigations and conversations that received them",
		Tool:    "rate_investigation"})
	GetStats = op[StatsIn, Stats](Operation{Name: "get-stats", Role: viewer, Method: get, Path: Base + "/stats",
		Summary: "Summarise ended investigations: how many were right, how long they took, and what they cost"})
	Review = op[ReviewIn, record.Review](Operation{Name: "review", Role: operator, Method: post, Path: investigation + "/review",
		Summary: "Claim, release, acknowledge or reopen the review of an ended investigation", Tool: "review_investigation"})
	WithdrawLearnings = op[WithdrawIn, Taught](Operation{Name: "withdraw-learnings", Role: operator, Method: post,
		Path:    investigation + "/learnings/withdraw",
		Summary: "Withdraw all learnings from an investigation; returns them and the investigations and conversations that received them"})
)

// Schedules.
var (
	ListSchedules = op[SchedulesIn, Page[Schedule]](Operation{Name: "list-schedules", Role: viewer, Method: get, Path: Schedules,
		Summary: "List the schedules that start investigations, with their last verdicts"})
	CreateSchedule = op[CreateScheduleIn, Schedule](Operation{Name: "create-schedule", Role: operator, Method: post, Path: Schedules,
		Status: created, Summary: "Create a schedule that starts investigations or checks"})
	ChangeSchedule = op[ChangeScheduleIn, Schedule](Operation{Name: "change-schedule", Role: operator, Method: post, Path: oneSchedule,
		Summary: "Pause or resume a schedule, or start an investigation of it now"})
	DeleteSchedule = op[ScheduleIn, Named](Operation{Name: "delete-schedule", Role: operator, Method: del, Path: oneSchedule,
		Summary: "Delete a schedule; its investigations are kept"})
)

// The configuration, and the state of the system.
var (
	ListChains = op[ProjectIn, Page[configuration.ChainInfo]](Operation{Name: "list-chains", Role: viewer, Method: get, Path: Base + "/chains",
		Summary: "List the chains available to a project", Tool: "list_chains", NotRemote: localChains})
	GetChain = op[ChainIn, plan.Plan](Operation{Name: "get-chain", Role: viewer, Method: get, Path: Base + "/chains/{name}",
		Summary: "Get a chain's plan with all inherited values filled in", NotRemote: localChains})
	GetChainGraph = op[GraphIn, Drawn](Operation{Name: "get-chain-graph", Role: viewer, Method: get, Path: Base + "/chains/{name}/graph",
		Summary: "Get a chain's stages and routes as a Mermaid graph or an image", NotRemote: localChains})
	ListAgentTypes = op[None, Page[AgentType]](Operation{Name: "list-agent-types", Role: viewer, Method: get, Path: Base + "/agent-types",
		Summary: "List the agent types and their capabilities", NotRemote: "`starter agent-types` needs no API"})
	ListTools = op[ToolsIn, ToolList](Operation{Name: "list-tools", Role: viewer, Method: get, Path: Base + "/tools",
		Summary: "List tools: built-in ones, those of MCP servers, and those written in Go"})
	ListRunbooks = op[RunbooksIn, Page[runbook.Found]](Operation{Name: "list-runbooks", Role: viewer, Method: get, Path: Base + "/runbooks",
		Summary: "List the runbooks in the repository system.runbooks.repo_url, or find them by an alert's labels"})
	RunTool = op[RunToolIn, ToolResult](Operation{Name: "run-tool", Role: admin, Everywhere: true, Method: post,
		Path: Base + "/tools/{name}/run", Summary: "Run a tool under the same policy as agents"})
	GetConfig = op[ConfigIn, InForce](Operation{Name: "get-config", Role: admin, Everywhere: true, Method: get, Path: Base + "/config",
		Summary: "Get the active configuration, without secrets, and where each value comes from"})
	GetAbout = op[None, AboutBody](Operation{Name: "get-about", Role: viewer, Method: get, Path: Base + "/about",
		Summary: "Get your name, your roles and the URL of Temporal's UI", NotRemote: forPage})
	IsAlive = op[None, Condition](Operation{Name: "is-alive", Method: get, Path: "/healthz",
		Summary:   "Check that the process is running (liveness probe)",
		NotRemote: forScripts})
	IsReady = op[None, Condition](Operation{Name: "is-ready", Method: get, Path: "/readyz",
		Summary: "Check that the store and Temporal respond (readiness probe)", NotRemote: forScripts})
	GetHealth = op[None, Conditions](Operation{Name: "get-health", Role: operator, Everywhere: true, Method: get, Path: Base + "/health",
		Summary: "Check the store, Temporal, the providers' keys and the MCP servers", NotRemote: forPage})
	GetMetrics = op[None, []byte](Operation{Name: "get-metrics", Role: viewer, Everywhere: true, Method: get, Path: "/metrics",
		Summary: "Get metrics in Prometheus format", NotRemote: forScripts})
)

const localChains = "`starter chain` reads the local configuration"

// Operations returns all rows: those above and one for each signal.
func Operations() []Operation {
	all := slices.Clone(rows)
	for _, signal := range Signals {
		all = append(all, signal.Operation())
	}
	return all
}
