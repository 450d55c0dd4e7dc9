package inquest

import (
	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/toolresult"
)

// Definitions are those of the configuration: docs/config.md says what each field
// is for, what it is if it is not set, and what it inherits. Numbers and truth
// values that can be left out are pointers: MaxIterations: new(5). Texts are taken
// as they are, without variables; only what may be secret in a Server is read
// from the environment: BearerToken: "{{.TOKEN}}".
type (
	Agent          = config.Agent
	Chain          = config.Chain
	Stage          = config.Stage
	StageAgent     = config.StageAgent
	Flow           = config.Flow
	RoutingRule    = config.RoutingRule
	Synthesis      = config.Synthesis
	Fallback       = config.Fallback
	Server         = config.Server
	Transport      = config.Transport
	Provider       = config.Provider
	ToolConfig     = config.ToolConfig
	ToolPermission = config.ToolPermission
	Compression    = config.Compression
	Timeouts       = config.Timeouts
	Shell          = config.Shell
	MemoryBlock    = config.MemoryBlock
	// Duration is a time.Duration in definitions: inquest.Duration(time.Minute).
	Duration = plan.Duration
)

// Findings is the error of definitions that are refused: everything that is wrong
// with them, and with the files of Options.Config.
type Findings = config.Findings

// Risk says what a tool may do to the world, and with that who may call it and
// whether a call may be made again after a crash.
type Risk = agent.Risk

// The risks of a tool. A person approves calls of high and critical ones. After a
// crash, only calls of tools that read, destroy, or say that they are idempotent
// are made again.
const (
	RiskReadOnly    = agent.RiskReadOnly
	RiskWrite       = agent.RiskWrite
	RiskDestructive = agent.RiskDestructive
	RiskLow         = agent.RiskLow
	RiskMedium      = agent.RiskMedium
	RiskHigh        = agent.RiskHigh
	RiskCritical    = agent.RiskCritical
)

// Result is what a tool returns if it wants to say more than data: a message, or
// that it failed. One that is only a message is shown to the model as plain text.
type Result = toolresult.Result

// ToolError is an error of a tool that says what kind it is, and whether trying
// again may help.
type ToolError = toolresult.Error

// Success makes a successful result; data and message may be empty.
func Success(data map[string]any, message string) Result { return toolresult.Success(data, message) }

// NotFound is the error of a tool that did not find what it was asked for:
// NotFound("pod", "web-1").
func NotFound(entity, id string) *ToolError { return toolresult.NotFound(entity, id) }
