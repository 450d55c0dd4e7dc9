package system

import (
	"encoding/json"
	"time"

	"github.com/inquest-dev/inquest/internal/knowledge/memory"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// ByID is the path of one investigation.
type ByID struct {
	ID string `path:"id" maxLength:"1000" doc:"ID of the investigation, or its workflow ID"`
}

// ListIn selects investigations.
type ListIn struct {
	Status    string    `query:"status" doc:"running, completed, failed, …"`
	Chain     string    `query:"chain"`
	AlertType string    `query:"alert_type"`
	Tenant    string    `query:"tenant"`
	Session   string    `query:"session"`
	Project   string    `query:"project" doc:"only this project; absent means all projects of the token"`
	Meta      []string  `query:"meta,explode" maxItems:"20" doc:"only investigations with this metadata, KEY=VALUE; may be repeated"`
	Since     time.Time `query:"since" doc:"only investigations started since this time"`
	NeedsMe   bool      `query:"needs_me" doc:"only investigations that need a person"`
	Search    string    `query:"q" maxLength:"200" doc:"words in the names, the alert or the report, or part of a name"`
	NamesOnly bool      `query:"names_only" doc:"search only workflow ID, chain and alert type for q"`
	Limit     int       `query:"limit" minimum:"1" maximum:"200" default:"50"`
	Cursor    string    `query:"cursor" maxLength:"2000" doc:"next of the previous page"`
}

// StartIn starts an investigation.
type StartIn struct {
	Key  string `header:"Idempotency-Key" maxLength:"255" doc:"the same key and body return the investigation that the first request started"`
	Body StartBody
}

// CheckIn checks a request.
type CheckIn struct{ Body StartBody }

// ArtifactIn is the path of an artifact.
type ArtifactIn struct {
	ByID
	N int `path:"n" minimum:"1" doc:"number of the artifact in the list"`
}

// PartIn selects the entries to read.
type PartIn struct {
	After     int64             `query:"after" minimum:"0" doc:"seq of the last entry that you have"`
	Before    int64             `query:"before" minimum:"0" doc:"return the last entries before this seq; past the end: the newest"`
	Execution string            `query:"execution" maxLength:"1000" doc:"only entries of this execution"`
	Kinds     []transcript.Kind `query:"kind,explode" maxItems:"20" doc:"only entries of this kind; may be repeated"`
	Limit     int               `query:"limit" minimum:"1" maximum:"1000" default:"200"`
}

// TranscriptIn selects entries of an investigation.
type TranscriptIn struct {
	ByID
	PartIn
}

// ByEntry is the path of an entry in an investigation or a conversation.
type ByEntry struct {
	ByID
	Seq int64 `path:"seq" minimum:"1" doc:"seq of the entry"`
}

// WholeTextIn selects a part of an entry's text.
type WholeTextIn struct {
	ByEntry
	Offset int `query:"offset" minimum:"0" doc:"in bytes; next of the previous part"`
	Limit  int `query:"limit" minimum:"4" maximum:"1000000" default:"65536" doc:"bytes"`
}

// ImageIn is the path of an image.
type ImageIn struct {
	ByEntry
	N int `path:"n" minimum:"1" maximum:"1000" doc:"number of the image among the entry's artifacts"`
}

// ActsIn selects acts in an investigation.
type ActsIn struct {
	ByID
	After int64 `query:"after" minimum:"0" doc:"n of the last act that you have"`
	Limit int   `query:"limit" minimum:"1" maximum:"1000" default:"1000"`
}

// WatchIn watches an investigation or a conversation.
type WatchIn struct {
	ByID
	Last int64 `header:"Last-Event-ID" minimum:"0" doc:"last event ID that you have; the stream continues after it"`
}

// WatchListIn watches the list of investigations.
type WatchListIn struct {
	Project string `query:"project" doc:"only this project; absent means all projects of the token"`
	Last    string `header:"Last-Event-ID" maxLength:"100" doc:"ignored: a reconnected client gets the current list"`
}

// InboxIn selects what needs people.
type InboxIn struct {
	Project string `query:"project" doc:"only this project; absent means all projects of the token"`
	Limit   int    `query:"limit" minimum:"1" maximum:"1000" default:"1000"`
	Cursor  string `query:"cursor" maxLength:"4000" doc:"next of the previous page"`
	ID      string `query:"id" maxLength:"1000" doc:"only the items of this investigation or conversation"`
	Whole   bool   `query:"whole" doc:"complete arguments of calls; otherwise long arguments are cut"`
}

// Steer is a message to one investigation.
type Steer[T any] struct {
	ByID
	Body T
}

// AlertsIn selects alerts.
type AlertsIn struct {
	Webhook       string `query:"webhook" maxLength:"63"`
	Place         string `query:"place" enum:"waiting,started,joined,aside" doc:"what happened to the alert"`
	Investigation string `query:"investigation" maxLength:"1000" doc:"only alerts of this investigation"`
	Project       string `query:"project" maxLength:"63"`
	Cursor        string `query:"cursor" maxLength:"100"`
	Limit         int    `query:"limit" minimum:"1" maximum:"1000" default:"100"`
}

// ThreadIn is the path of a conversation.
type ThreadIn struct {
	ID string `path:"id" maxLength:"1000" doc:"ID of the thread"`
}

// ThreadsIn selects conversations.
type ThreadsIn struct {
	Project string `query:"project" doc:"only this project; absent means all projects of the token"`
	Agent   string `query:"agent" maxLength:"200" doc:"only conversations with this agent"`
	About   string `query:"about" maxLength:"1000" doc:"only conversations about the investigation with this ID"`
	Closed  bool   `query:"closed" doc:"also closed conversations, in pages"`
	Cursor  string `query:"cursor" maxLength:"2000" doc:"with closed"`
	Limit   int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"with closed"`
}

// FindTurnsIn searches conversations.
type FindTurnsIn struct {
	Project string `query:"project" doc:"only this project; absent means all projects of the token"`
	Agent   string `query:"agent" maxLength:"200" doc:"only conversations with this agent"`
	Words   string `query:"words" required:"true" minLength:"1" maxLength:"1000" doc:"a turn must have all of these words"`
	Limit   int    `query:"limit" minimum:"1" maximum:"200" default:"50"`
}

// ExportThreadIn selects the form of an exported conversation.
type ExportThreadIn struct {
	ThreadIn
	Format string `query:"format" enum:"markdown,json" default:"markdown"`
}

// MessageKey is the idempotency key of a message.
type MessageKey struct {
	Key string `header:"Idempotency-Key" maxLength:"255" doc:"the same key and text are sent once; a repeated request waits for the reply"`
}

// BeginIn begins a conversation.
type BeginIn struct {
	Wait int `query:"wait"` // seconds; zero means a minute
	MessageKey
	Body BeginBody
}

// SayIn sends a message.
type SayIn struct {
	ThreadIn
	Wait int `query:"wait"` // seconds; zero means a minute
	MessageKey
	Body SayBody
}

// ThreadTranscriptIn selects entries of a conversation.
type ThreadTranscriptIn struct {
	ThreadIn
	PartIn
}

// ProjectIn names a project.
type ProjectIn struct {
	Project string `query:"project" doc:"absent means default, or the token's only project"`
}

// OneAgent is the path of an agent in a project.
type OneAgent struct {
	ProjectIn
	Name string `path:"name" maxLength:"200"`
}

// CreateAgentIn creates an agent from a virtual.Definition.
type CreateAgentIn struct {
	ProjectIn
	Body json.RawMessage
}

// ChangeAgentIn replaces the definition of an agent by a virtual.Definition.
type ChangeAgentIn struct {
	OneAgent
	Match string `header:"If-Match" maxLength:"100" doc:"ETag of the version to change; absent means the latest version"`
	Body  json.RawMessage
}

// DeleteAgentIn deletes an agent.
type DeleteAgentIn struct {
	OneAgent
	Match string `header:"If-Match" maxLength:"100" doc:"ETag of the version to delete; absent means the latest version"`
}

// CopyAgentIn copies an agent.
type CopyAgentIn struct {
	OneAgent
	Body AgentCopy
}

// RunAgentIn runs one agent.
type RunAgentIn struct {
	Name string `path:"name" maxLength:"200"`
	Key  string `header:"Idempotency-Key" maxLength:"255" doc:"the same key and body return the run that the first request started"`
	Body struct {
		Project  string            `json:"project,omitempty" maxLength:"63" doc:"project; absent means default, or the token's only project"`
		Data     json.RawMessage   `json:"data" doc:"the agent's task: text or any JSON"`
		Provider string            `json:"provider,omitempty" maxLength:"500" doc:"replaces the agent's model"`
		Metadata map[string]string `json:"metadata,omitempty" doc:"your own key-value pairs"`
	}
}

// AgentIn is the path of an agent's memory.
type AgentIn struct {
	Agent string `path:"agent" maxLength:"200" doc:"name of the agent"`
}

// ArchivalIn selects archival entries.
type ArchivalIn struct {
	AgentIn
	Search string `query:"q" maxLength:"1000" doc:"words, at least one of which is in the entry; absent means all entries"`
	Page   int    `query:"page" minimum:"0" maximum:"10000" doc:"number of the page, from 0"`
}

// LabelIn is the path of a memory block.
type LabelIn struct {
	AgentIn
	Label string `path:"label" maxLength:"64"`
}

// BlockIn writes a memory block.
type BlockIn struct {
	LabelIn
	Body memory.BlockEdit
}

// EntryIn is the path of an archival entry.
type EntryIn struct {
	AgentIn
	Entry int64 `path:"entry" minimum:"1"`
}

// ChainIn is the path of a chain.
type ChainIn struct {
	ProjectIn
	Name string `path:"name" maxLength:"200"`
}

// GraphIn draws a chain.
type GraphIn struct {
	ChainIn
	Format string `query:"format" enum:"json,svg" doc:"svg returns a picture"`
}

// ToolsIn selects tools.
type ToolsIn struct {
	ProjectIn
	Agent  string `query:"agent" maxLength:"200" doc:"only the tools of this agent"`
	Type   string `query:"type" enum:"mcp,code" doc:"mcp: only tools of MCP servers; code: only tools written in Go"`
	Search string `query:"q" maxLength:"200" doc:"only tools with this text in their name or description"`
}

// RunbooksIn selects runbooks of the configured repository.
type RunbooksIn struct {
	Labels []string `query:"label,explode" maxItems:"50" doc:"only runbooks whose path has a word of this label, KEY=VALUE; may be repeated"`
}

// RunToolIn calls a tool.
type RunToolIn struct {
	Name string `path:"name" maxLength:"200"`
	Body RunToolBody
}

// ConfigIn selects a part of the configuration.
type ConfigIn struct {
	Chain string `query:"chain" maxLength:"200" doc:"only this chain and the entries that it uses"`
}
