package report

import (
	"cmp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/command"
	"github.com/inquest-dev/inquest/internal/record"
)

const (
	checkProvider = "Check the provider, or name another one in fallback_providers."
	checkRequest  = "Correct what the provider refused: the model's name, a setting of llm_providers, or the request."
	checkModel    = "Use another model: this one did not do what its agent needs."
	checkSettings = "Correct the configuration or the program as the message says."
	raiseLimit    = "Raise this limit in the bounds or budgets of the chain, or set budgets.on_limit to ask."
	raiseBound    = "Raise this limit in the bounds of the chain."
)

// remedies say what to do, by the error type of a stage, the end reason or the status.
var remedies = map[string]string{
	"RateLimited":         "Wait until the provider accepts calls again, or add another provider to fallback_providers.",
	"CredentialsRefused":  "Give the workers a valid key for the provider, and restart them.",
	"WorkerCannot":        "Start a worker that has what the message names, such as a key or a newer version.",
	"QuotaExhausted":      "Add credit at the provider, or add another provider to fallback_providers.",
	"ModelRequestRefused": checkRequest,
	"InvalidRequest":      checkRequest,
	"ContextTooLong":      "Use a model with a larger context window, or give the agents less data.",
	"ContentFiltered":     "Use another model, or leave out the data that triggers the provider's content filter.",
	"NotAModel":           "Correct the provider's base_url.",
	"EmptyReply":          checkModel,
	"InvalidOutput":       checkModel,
	"InvalidPlan":         checkModel,
	"ToolIterationLimit":  "Raise max_iterations, or use another model.",
	"ServerUnavailable":   "Check the tool server with `starter doctor`.",
	"Configuration":       checkSettings,
	"HookFailed":          checkSettings,
	"MockFailed":          checkSettings,
	"PromptFailed":        checkSettings,

	string(agent.EndLLMFailed):        checkProvider,
	string(agent.EndTimedOut):         "Raise the chain's timeout, or set budgets.max_duration to end with the findings so far.",
	string(agent.EndNoReport):         checkModel,
	string(agent.EndStoreBehind):      "If another store has the missing entries, switch to it (docs/how-to/back-up.md).",
	string(agent.EndPolicyViolation):  "In the chain's routing, name the stage to go back to.",
	string(agent.EndInterruptExpired): "Answer questions in time: `starter inbox` lists them.",
	string(agent.EndMaxPasses):        raiseBound,
	string(agent.EndMaxLLMCalls):      raiseLimit,
	string(agent.EndMaxHops):          raiseBound,
	string(agent.EndMaxLoop):          raiseBound,
	string(agent.EndBudget):           raiseLimit,
}

// Advice returns in one line what to do about an investigation that did not complete its chain, by the kind of failure, with the command
// that repeats it. It is empty while the investigation runs, if its chain is complete, and if the request was refused.
func Advice(r record.Investigation, stages []record.Stage) string {
	if !r.Status.Closed() || r.Status == agent.StatusRefused || r.Status == agent.StatusCompleted && !r.EndReason.Cut() {
		return ""
	}
	rerun := "run `starter rerun " + command.ShellWord(cmp.Or(r.WorkflowID, r.ID)) + "`."
	if do := remedy(r, stages); do != "" {
		return do + " Then " + rerun
	}
	return "To repeat it, " + rerun
}

func remedy(r record.Investigation, stages []record.Stage) string {
	var failed string
	if r.Status == agent.StatusFailed && r.EndReason != agent.EndStoreBehind {
		for _, s := range stages {
			if s.Status == agent.StatusFailed {
				failed = s.Envelope.ErrorType
			}
		}
	}
	return cmp.Or(remedies[failed], remedies[string(r.EndReason)])
}
