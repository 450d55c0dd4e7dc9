package agent

import "slices"

// Status is the state of an execution, a stage or an investigation.
type Status string

// The statuses. Everything except Open and pending is final.
const (
	StatusPending         Status = "pending"
	StatusRunning         Status = "running"
	StatusWaitingApproval Status = "waiting_approval" // a tool call waits for a person's approval
	StatusWaitingAnswer   Status = "waiting_answer"   // a question waits for a person's answer
	StatusPaused          Status = "paused"           // by a person
	StatusWaitingProvider Status = "waiting_provider" // a provider or a tool server is unavailable
	StatusAsleep          Status = "asleep"           // an agent has paused its heartbeats

	StatusCompleted Status = "completed"
	StatusFailed    Status = "failed"
	StatusTimedOut  Status = "timed_out"
	StatusCancelled Status = "cancelled"
	StatusSkipped   Status = "skipped"
	// StatusTerminated means that Temporal terminated the workflow, which could not react.
	StatusTerminated Status = "terminated"
	// StatusRefused means that the request was not accepted and nothing was done.
	StatusRefused Status = "refused"
)

// Open returns the statuses of everything that is running or waiting.
func Open() []Status {
	return []Status{StatusRunning, StatusWaitingApproval, StatusWaitingAnswer, StatusPaused, StatusWaitingProvider, StatusAsleep}
}

// Ends returns the statuses of investigations that have ended.
func Ends() []Status {
	return []Status{StatusCompleted, StatusFailed, StatusTimedOut, StatusCancelled, StatusTerminated, StatusRefused}
}

// Closed reports whether s is final.
func (s Status) Closed() bool {
	return s != StatusPending && s != "" && !slices.Contains(Open(), s)
}

// StopReason says why an execution stopped (spec: agents, "Iterating pattern" 9).
type StopReason string

// The stop reasons.
const (
	StopEndTurn         StopReason = "end_turn"
	StopPauseHeartbeats StopReason = "pause_heartbeats"
	StopMaxIterations   StopReason = "max_iterations"
	StopConcluded       StopReason = "concluded"
	StopBound           StopReason = "bound_reached" // a limit of the investigation
	StopCancelled       StopReason = "cancelled"
	StopTimedOut        StopReason = "timed_out"
	StopFailed          StopReason = "failed"
)

// EndReason says why an investigation ended (spec: pipeline, "Bounds").
type EndReason string

// The end reasons.
const (
	EndCompleted  EndReason = "completed"
	EndCancelled  EndReason = "cancelled"
	EndTimedOut   EndReason = "timed_out"
	EndToolFailed EndReason = "tool_failed"
	EndLLMFailed  EndReason = "llm_failed"
	EndNoReport   EndReason = "no_report" // no agent produced any text
	// EndPartial means that the chain is complete, but the output of a stage does not satisfy its agent's contract, or an agent
	// never had the tools of one of its servers.
	EndPartial EndReason = "partial"
	// EndStoreBehind means that the store has lost entries that Temporal knows of.
	EndStoreBehind EndReason = "store_behind"

	EndMaxPasses        EndReason = "max_passes_exceeded"
	EndMaxLLMCalls      EndReason = "max_llm_calls_exceeded"
	EndMaxHops          EndReason = "max_agent_hops_exceeded"
	EndMaxLoop          EndReason = "max_loop_exceeded"
	EndBudget           EndReason = "budget_exceeded"
	EndPolicyViolation  EndReason = "policy_violation"
	EndInterruptExpired EndReason = "interrupt_expired"
	EndDenied           EndReason = "denied"
	EndTerminated       EndReason = "terminated"
)

// Failure reports whether the investigation failed. All other reasons are clean ends.
func (e EndReason) Failure() bool {
	return slices.Contains([]EndReason{
		EndTimedOut, EndToolFailed, EndLLMFailed, EndNoReport, EndStoreBehind, EndPolicyViolation, EndTerminated,
	}, e)
}

// Cut reports whether a limit ended the investigation before its chain was complete.
func (e EndReason) Cut() bool {
	switch e {
	case EndMaxPasses, EndMaxLLMCalls, EndMaxHops, EndMaxLoop, EndBudget:
		return true
	}
	return false
}

// Words explains to people why an investigation ended with a status. The text is empty if the status says it already.
func (e EndReason) Words(status Status) string {
	switch {
	case string(e) == string(status):
		return ""
	case e.Cut():
		return "cut short: " + string(e)
	}
	return string(e)
}

// Outcome says how a stage's work counts (spec: pipeline, "Outcomes").
type Outcome string

// The outcomes.
const (
	OutcomeSuccess Outcome = "success"
	OutcomePartial Outcome = "partial"
	OutcomeError   Outcome = "error"

	OutcomeSkip      Outcome = "skip"
	OutcomeClarify   Outcome = "clarify"
	OutcomeConfirm   Outcome = "confirm"
	OutcomeTerminate Outcome = "terminate"
	OutcomeReplan    Outcome = "replan"
	OutcomeLoopBack  Outcome = "loop_back"
)

// Success reports whether the stage did its work. An outcome outside the truth table (spec: pipeline, "Outcomes")
// counts as no.
func (o Outcome) Success() bool {
	return o == OutcomeSuccess || o == OutcomePartial || o == OutcomeSkip
}

// Loop reports whether the stage asks for another pass.
func (o Outcome) Loop() bool { return o == OutcomeReplan || o == OutcomeLoopBack }
