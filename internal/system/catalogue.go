package system

import (
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/configuration"
	"github.com/inquest-dev/inquest/internal/webhook"
)

// Checked is the outcome of checking a request.
type Checked struct {
	Chain    string         `json:"chain,omitempty" doc:"the chain that the request selects"`
	Project  string         `json:"project"`
	Stages   []CheckedStage `json:"stages,omitempty"`
	Size     int            `json:"size" doc:"size of the request's data in bytes"`
	Data     string         `json:"data,omitempty" doc:"first part of the data, with secrets masked, as the agents would see it"`
	Problems []string       `json:"problems" doc:"reasons why the request would be refused; empty means that it would start"`
}

// CheckedStage is a stage of a checked request.
type CheckedStage struct {
	Name   string   `json:"name"`
	Agents []string `json:"agents" doc:"the stage's agents, each with its model or model selector"`
}

// AboutBody tells a client its own identity and where to find things.
type AboutBody struct {
	Name       string            `json:"name"`
	Roles      map[string]string `json:"roles" doc:"role in each project; * stands for all projects"`
	TemporalUI string            `json:"temporal_ui,omitempty" doc:"URL of the workflow list in Temporal's UI; absent if not configured"`
}

// Drawn is a chain drawn as a graph.
type Drawn struct {
	Graph   configuration.Graph `json:"graph"`
	Mermaid string              `json:"mermaid"`
}

// AgentType describes an agent type and what its agents can do.
type AgentType struct {
	Type          string        `json:"type"`
	Aliases       []string      `json:"aliases,omitempty"`
	Pattern       agent.Pattern `json:"pattern"`
	AllowedTools  []string      `json:"allowed_tools"`
	Heartbeats    bool          `json:"supports_heartbeats"`
	Prompt        string        `json:"system_prompt_template"`
	MaxIterations int           `json:"max_iterations"`
}

// AgentRun is a run of one agent by itself.
type AgentRun struct {
	ID        string          `json:"id" doc:"ID of the run's investigation"`
	Agent     string          `json:"agent"`
	Project   string          `json:"project"`
	Status    agent.Status    `json:"status"`
	EndReason agent.EndReason `json:"end_reason,omitempty"`
	Caveats   []string        `json:"caveats,omitempty" nullable:"false" doc:"limits of the result; always show them with it"`
	Result    string          `json:"result,omitempty"`
	Error     string          `json:"error,omitempty"`
	StartedAt *time.Time      `json:"started_at,omitempty"`
	EndedAt   *time.Time      `json:"ended_at,omitempty"`
}

// TextPart is a part of a text.
type TextPart struct {
	Text string `json:"text"`
	Size int    `json:"size" doc:"size of the whole text in bytes"`
	Next int    `json:"next,omitempty" doc:"offset of the next part; absent means that this is the last part"`
}

// Delivery is the outcome of one delivery of alerts.
type Delivery struct {
	webhook.Counts
	Unusable []string `json:"unusable,omitempty" doc:"alerts that could not be read, each with the reason"`
}

// Condition is the health of one component.
type Condition struct {
	Name   string `json:"name,omitempty"`
	Status string `json:"status" enum:"ok,failing"`
	Detail string `json:"detail,omitempty"`
}

// ConditionOf returns the health of a component that has failed with an error, or works.
func ConditionOf(name string, err error) Condition {
	if err != nil {
		return Condition{name, "failing", err.Error()}
	}
	return Condition{Name: name, Status: "ok"}
}

// Conditions is the health of all components.
type Conditions struct {
	System    []Condition `json:"system"`
	Providers []Condition `json:"providers" doc:"state of each provider's keys; no model is called"`
	Servers   []string    `json:"mcp_servers" doc:"problems with MCP servers and their tools"`
}
