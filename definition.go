package inquest

import (
	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/value"
)

// These are the types of the configuration. docs/reference/config.md documents the purpose, default and inheritance of each
// field. Numbers and booleans that can be left out are pointers: MaxIterations: new(5). Text is used literally, without
// variables. The exception is a secret in a Server, which is read from the environment: BearerToken: "{{.TOKEN}}".
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
	ToolSearch     = config.ToolSearch
	Timeouts       = config.Timeouts
	Shell          = config.Shell
	MemoryBlock    = config.MemoryBlock
	// Duration is a time.Duration in definitions: inquest.Duration(time.Minute).
	Duration = value.Duration
)

// Findings is the error for invalid definitions. It lists every problem with them and with the files of Options.Config.
type Findings = config.Findings

// Risk says what effect a tool can have. See package inquest/value.
type Risk = value.Risk

// The risk levels of a tool.
const (
	RiskReadOnly    = value.RiskReadOnly
	RiskWrite       = value.RiskWrite
	RiskDestructive = value.RiskDestructive
	RiskLow         = value.RiskLow
	RiskMedium      = value.RiskMedium
	RiskHigh        = value.RiskHigh
	RiskCritical    = value.RiskCritical
)
