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

// CompareIn names two investigations.
type CompareIn struct {
	ByID
	Other string `path:"other" maxLength:"1000" doc:"ID of the other investigation, or its workflow ID"`
}

// ListIn selects investigations.
type ListIn struct {
	Status    string    `query:"status" doc:"only investigations with this status, such as running, completed or failed"`
	Chain     string    `query:"chain"`
	AlertType string    `query:"alert_type"`
	Tenant    string    `query:"tenant"`
	Session   string    `query:"session"`
	Project   string    `query:"project" doc:"only this project; absent means every project that your token can read"`
	Meta      []string  `query:"meta,explode" maxItems:"20" doc:"only investigations with this metadata, as KEY=VALUE; can be repeated"`
	Since     time.Time `query:"since" doc:"only investigations started at or after this time"`
	NeedsMe   bool      `query:"needs_me" doc:"only investigations that need a person's attention"`
	Review    string    `query:"review" enum:"needs_review,in_progress,reviewed" doc:"only investigations whose review has this state"`
	Assignee  string    `query:"assignee" maxLength:"200" doc:"only investigations whose review this person has claimed"`
	Search    string    `query:"q" maxLength:"200" doc:"words in the alert, report, error, metadata or names; or part of a workflow ID"`
	NamesOnly bool      `query:"names_only" doc:"search only the workflow ID, chain and alert type"`
	Limit     int       `query:"limit" minimum:"1" maximum:"200" default:"50"`
	Cursor    string    `query:"cursor" maxLength:"2000" doc:"value of next in the previous page"`
}

// StartIn starts an investigation.
type StartIn struct {
	Key  string `header:"Idempotency-Key" maxLength:"255" doc:"a retry with the same key and body returns the same investigation"`
	Body StartBody
}

// CheckIn checks a request.
type CheckIn struct{ Body StartBody }

// ArtifactIn is the path of an artifact.
type ArtifactIn struct {
	ByID
	N int `path:"n" minimum:"1" doc:"number of the artifact in the list of artifacts"`
}

// PartIn selects the entries to read.
type PartIn struct {
	After     int64             `query:"after" minimum:"0" doc:"return entries after this seq"`
	Before    int64             `query:"before" minimum:"0" doc:"return the last entries before this seq; past the end, the newest entries"`
	Execution string            `query:"execution" maxLength:"1000" doc:"only entries of this agent execution"`
	Kinds     []transcript.Kind `query:"kind,explode" maxItems:"20" doc:"only entries of this kind; can be repeated"`
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
	Seq int64 `path:"seq" minimum:"1" doc:"seq of the transcript entry"`
}

// WholeTextIn selects a part of an entry's text.
type WholeTextIn struct {
	ByEntry
	Offset int `query:"offset" minimum:"0" doc:"start in bytes: value of next in the previous part"`
	Limit  int `query:"limit" minimum:"4" maximum:"1000000" default:"65536" doc:"bytes"`
}

// ImageIn is the path of an image.
type ImageIn struct {
	ByEntry
	N int `path:"n" minimum:"1" maximum:"1000" doc:"number of the image among the entry's artifacts, from 1"`
}

// ActsIn selects acts in an investigation.
type ActsIn struct {
	ByID
	After int64 `query:"after" minimum:"0" doc:"return only acts with a higher n than this"`
	Limit int   `query:"limit" minimum:"1" maximum:"1000" default:"1000"`
}

// WatchIn watches an investigation or a conversation.
type WatchIn struct {
	ByID
	Last int64 `header:"Last-Event-ID" minimum:"0" doc:"ID of the last event that you received; the stream resumes after it"`
}

// WatchListIn watches the list of investigations.
type WatchListIn struct {
	Project string `query:"project" doc:"only this project; absent means every project that your token can read"`
	Last    string `header:"Last-Event-ID" maxLength:"100" doc:"ignored: a client that reconnects receives the current list"`
}

// InboxIn selects what needs people.
type InboxIn struct {
	Project string `query:"project" doc:"only this project; absent means every project that your token can read"`
	Limit   int    `query:"limit" minimum:"1" maximum:"1000" default:"1000"`
	Cursor  string `query:"cursor" maxLength:"4000" doc:"value of next in the previous page"`
	ID      string `query:"id" maxLength:"1000" doc:"only items of this investigation or conversation"`
	Whole   bool   `query:"whole" doc:"return complete call arguments; by default long ones are cut"`
}

// Steer is a message to one investigation.
type Steer[T any] struct {
	ByID
	Body T
}

// AlertsIn selects alerts.
type AlertsIn struct {
	Webhook       string `query:"webhook" maxLength:"63"`
	Place         string `query:"place" enum:"waiting,started,joined,aside" doc:"aside: resolved while waiting, so no investigation started"`
	Investigation string `query:"investigation" maxLength:"1000" doc:"only alerts handled by this investigation"`
	Project       string `query:"project" maxLength:"63"`
	Cursor        string `query:"cursor" maxLength:"100"`
	Limit         int    `query:"limit" minimum:"1" maximum:"1000" default:"100"`
}

// ThreadIn is the path of a conversation.
type ThreadIn struct {
	ID string `path:"id" maxLength:"1000" doc:"ID of the conversation"`
}

// ThreadsIn selects conversations.
type ThreadsIn struct {
	Project string `query:"project" doc:"only this project; absent means every project that your token can read"`
	Agent   string `query:"agent" maxLength:"200" doc:"only conversations with this agent"`
	About   string `query:"about" maxLength:"1000" doc:"only conversations about the investigation with this ID"`
	Closed  bool   `query:"closed" doc:"also return closed conversations, in pages"`
	Cursor  string `query:"cursor" maxLength:"2000" doc:"only with closed: value of next in the previous page"`
	Limit   int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"only with closed: maximum number of items in a page"`
}

// FindTurnsIn searches conversations.
type FindTurnsIn struct {
	Project string `query:"project" doc:"only this project; absent means every project that your token can read"`
	Agent   string `query:"agent" maxLength:"200" doc:"only conversations with this agent"`
	Words   string `query:"words" required:"true" minLength:"1" maxLength:"1000" doc:"search words; a turn must contain all of them"`
	Limit   int    `query:"limit" minimum:"1" maximum:"200" default:"50"`
}

// ExportThreadIn selects the form of an exported conversation.
type ExportThreadIn struct {
	ThreadIn
	Format string `query:"format" enum:"markdown,json" default:"markdown"`
}

// MessageKey is the idempotency key of a message.
type MessageKey struct {
	Key string `header:"Idempotency-Key" maxLength:"255" doc:"the same key and text are sent once; a retry waits for the reply"`
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
	Project string `query:"project" doc:"absent means project default, or your token's only project"`
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
	Key  string `header:"Idempotency-Key" maxLength:"255" doc:"a retry with the same key and body returns the same run"`
	Body struct {
		Project  string            `json:"project,omitempty" maxLength:"63" doc:"absent means project default, or your token's only project"`
		Data     json.RawMessage   `json:"data" doc:"the agent's task: text or any JSON"`
		Provider string            `json:"provider,omitempty" maxLength:"500" doc:"use this model instead of the agent's"`
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
	Search string `query:"q" maxLength:"1000" doc:"search words; entries that contain at least one of them match; absent returns all entries"`
	Page   int    `query:"page" minimum:"0" maximum:"10000" doc:"page number, from 0"`
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
	Format string `query:"format" enum:"json,svg" doc:"svg returns an image instead of JSON"`
}

// ToolsIn selects tools.
type ToolsIn struct {
	ProjectIn
	Agent  string `query:"agent" maxLength:"200" doc:"only tools that this agent can use"`
	Type   string `query:"type" enum:"mcp,code" doc:"mcp: only tools of MCP servers; code: only built-in tools and tools written in Go"`
	Search string `query:"q" maxLength:"200" doc:"only tools whose name or description contains this text"`
}

// RunbooksIn selects runbooks of a project's repository.
type RunbooksIn struct {
	ProjectIn
	Labels []string `query:"label,explode" maxItems:"50" doc:"KEY=VALUE: only runbooks whose path has a word of the value; can be repeated"`
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
