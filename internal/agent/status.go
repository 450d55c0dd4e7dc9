package agent

import "slices"

// Status says where an execution, a stage or an investigation stands.
type Status string

// The statuses. Everything but Open and pending is an end.
const (
	StatusPending         Status = "pending"
	StatusRunning         Status = "running"
	StatusWaitingApproval Status = "waiting_approval" // of a tool call, by a person
	StatusWaitingAnswer   Status = "waiting_answer"   // of a person, to a question
	StatusPaused          Status = "paused"           // by a person
	StatusWaitingProvider Status = "waiting_provider" // of a model, that is away
	StatusAsleep          Status = "asleep"           // an agent has paused its heartbeats

	StatusCompleted Status = "completed"
	StatusFailed    Status = "failed"
	StatusTimedOut  Status = "timed_out"
	StatusCancelled Status = "cancelled"
	StatusSkipped   Status = "skipped"
	// StatusTerminated: Temporal ended it, and it had no say.
	StatusTerminated Status = "terminated"
	// StatusRefused: the request was not accepted, and nothing was done.
	StatusRefused Status = "refused"
)

// Open are the statuses of what is under way, at work or waiting.
func Open() []Status {
	return []Status{StatusRunning, StatusWaitingApproval, StatusWaitingAnswer, StatusPaused, StatusWaitingProvider, StatusAsleep}
}

// Ends are the statuses of investigations that have ended.
func Ends() []Status {
	return []Status{StatusCompleted, StatusFailed, StatusTimedOut, StatusCancelled, StatusTerminated, StatusRefused}
}

// Closed reports whether s is an end.
func (s Status) Closed() bool {
	return s != StatusPending && s != "" && !slices.Contains(Open(), s)
}

// StopReason says why an execution stopped (spec: agents, "Iterating pattern" 9).
type StopReason string

// The stop reasons that are built.
const (
	StopEndTurn         StopReason = "end_turn"
	StopPauseHeartbeats StopReason = "pause_heartbeats"
	StopMaxIterations   StopReason = "max_iterations"
	StopConcluded       StopReason = "concluded"
	StopBound           StopReason = "bound_reached" // of the investigation
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
	EndNoReport   EndReason = "no_report" // no agent has said anything
	// EndPartial: the chain is complete, and a text that is not what its agent's contract asks for stands for a stage.
	EndPartial EndReason = "partial"
	// EndStoreBehind: the store has lost entries that Temporal knows of.
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

// Failure reports whether the investigation failed; all others are clean ends.
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

// Words says for people why an investigation ended with a status. Where the status says it, it is empty.
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

// Success reports whether the stage did its work; an outcome that is not in the truth
// table (spec: pipeline, "Outcomes") says no.
func (o Outcome) Success() bool {
	return o == OutcomeSuccess || o == OutcomePartial || o == OutcomeSkip
}

// Loop reports whether the stage asks for another pass.
func (o Outcome) Loop() bool { return o == OutcomeReplan || o == OutcomeLoopBack }
