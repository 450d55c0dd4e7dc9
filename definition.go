package inquest

import (
	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/value"
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
	Duration = value.Duration
)

// Findings is the error of definitions that are refused: everything that is wrong
// with them, and with the files of Options.Config.
type Findings = config.Findings

// Risk says what a tool may do to the world: go doc inquest/value.
type Risk = value.Risk

// The risks of a tool.
const (
	RiskReadOnly    = value.RiskReadOnly
	RiskWrite       = value.RiskWrite
	RiskDestructive = value.RiskDestructive
	RiskLow         = value.RiskLow
	RiskMedium      = value.RiskMedium
	RiskHigh        = value.RiskHigh
	RiskCritical    = value.RiskCritical
)
