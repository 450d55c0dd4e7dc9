package agent

// Status says where an execution, a stage or an investigation stands.
type Status string

// The statuses. Everything but pending, running and paused is an end.
const (
	StatusPending   Status = "pending"
	StatusRunning   Status = "running"
	StatusPaused    Status = "paused"
	StatusCompleted Status = "completed"
	StatusFailed    Status = "failed"
	StatusTimedOut  Status = "timed_out"
	StatusCancelled Status = "cancelled"
	StatusSkipped   Status = "skipped"
)

// Closed reports whether s is an end.
func (s Status) Closed() bool {
	return s != StatusPending && s != StatusRunning && s != StatusPaused && s != ""
}

// StopReason says why an execution stopped (spec: agents, "Iterating pattern" 9).
type StopReason string

// The stop reasons that are built.
const (
	StopEndTurn         StopReason = "end_turn"
	StopPauseHeartbeats StopReason = "pause_heartbeats"
	StopMaxIterations   StopReason = "max_iterations"
	StopConcluded       StopReason = "concluded"
	StopCancelled       StopReason = "cancelled"
	StopTimedOut        StopReason = "timed_out"
	StopFailed          StopReason = "failed"
)

// EndReason says why an investigation ended (spec: pipeline, "Bounds").
type EndReason string

// The end reasons that are built.
const (
	EndCompleted  EndReason = "completed"
	EndCancelled  EndReason = "cancelled"
	EndTimedOut   EndReason = "timed_out"
	EndToolFailed EndReason = "tool_failed"
	EndLLMFailed  EndReason = "llm_failed"
)

// Outcome says how a stage's work counts (spec: pipeline, "Outcomes").
type Outcome string

// The outcomes that are built.
const (
	OutcomeSuccess Outcome = "success"
	OutcomePartial Outcome = "partial"
	OutcomeError   Outcome = "error"
)
