package cli

import (
	"encoding/json"
	"slices"
	"strings"

	updatepb "go.temporal.io/api/update/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/temporal"

	"github.com/inquest-dev/inquest/workflows"
)

// updateInvestigation handles the updates of an investigation by the same rules as the real one.
func (f *fakeTemporal) updateInvestigation(
	in *workflowservice.UpdateWorkflowExecutionRequest,
) (*workflowservice.UpdateWorkflowExecutionResponse, error) {
	run, err := f.run(in.GetWorkflowExecution())
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	input := in.GetRequest().GetInput()
	reply := &workflowservice.UpdateWorkflowExecutionResponse{
		UpdateRef: &updatepb.UpdateRef{WorkflowExecution: in.GetWorkflowExecution(), UpdateId: in.GetRequest().GetMeta().GetUpdateId()},
		Stage:     in.GetWaitPolicy().GetLifecycleStage(), Outcome: &updatepb.Outcome{},
	}
	refuse := func(why string) (*workflowservice.UpdateWorkflowExecutionResponse, error) {
		failure := temporal.GetDefaultFailureConverter().ErrorToFailure(temporal.NewApplicationError(why, ""))
		reply.Outcome.Value = &updatepb.Outcome_Failure{Failure: failure}
		return reply, nil
	}
	succeed := func(out any) (*workflowservice.UpdateWorkflowExecutionResponse, error) {
		reply.Outcome.Value = &updatepb.Outcome_Success{Success: payloads(out)}
		return reply, nil
	}
	data := input.GetArgs().GetPayloads()[0].GetData()
	if input.GetName() == workflows.UpdateExtendBudget {
		var e workflows.ExtendBudget
		if err := json.Unmarshal(data, &e); err != nil {
			return nil, err
		}
		if e.Tokens < 0 {
			return refuse("limits can be raised, not lowered")
		}
		return succeed(workflows.Budget{Tokens: 1000 + e.Tokens})
	}
	switch input.GetName() {
	case workflows.SignalGuide, workflows.SignalPause, workflows.SignalResume, workflows.SignalConclude: // it knows one agent
		run.signals = append(run.signals, "update "+input.GetName()+" "+string(data))
		if strings.Contains(string(data), `"agent":`) && !strings.Contains(string(data), `"agent":"LogAgent"`) {
			return refuse(input.GetName() + ": no agent is running or still to run")
		}
		return succeed(workflows.Taken{For: []string{"collect/LogAgent"}})
	}
	var a workflows.Answer
	if err := json.Unmarshal(data, &a); err != nil {
		return nil, err
	}
	i := slices.IndexFunc(run.questions, func(q workflows.Interrupt) bool { return q.ID == a.ID })
	switch {
	case i < 0:
		return refuse(`no question "` + a.ID + `" waits for an answer`)
	case run.questions[i].Kind == "confirmation" && a.Approved == nil:
		return refuse(`the answer needs "approved": true or false`)
	}
	answered := run.questions[i]
	answered.Answered = true
	run.questions = slices.Delete(slices.Clone(run.questions), i, i+1)
	return succeed(answered)
}
