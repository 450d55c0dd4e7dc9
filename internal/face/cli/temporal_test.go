package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/face/clitest"
	"github.com/inquest-dev/inquest/workflows"
)

// fakeTemporal answers the command line's requests to Temporal over gRPC. The chain of a request determines how the investigation goes,
// since there is no worker: "works" completes, "mends" completes with more in its result, "breaks" fails with a result, "unknown" is
// refused, "killed" is terminated, and any other runs until it is cancelled. "unplanned" never gets a plan, "workerless" answers no
// query, and the agent of "risky" has calls that need approval (approvals_test.go).
type fakeTemporal struct {
	workflowservice.UnimplementedWorkflowServiceServer
	address string
	// started is called before the response to a start; may be nil.
	started func(workflowID string, req agent.Request)
	// awaited is called when someone waits for an end; may be nil.
	awaited func(workflowID string)

	mu   sync.Mutex
	runs map[string]*fakeRun // by workflow ID

	stop func() // serve restarts it
}

type fakeRun struct {
	id        string
	typeName  string
	request   agent.Request
	memo      *commonpb.Memo
	queue     string
	status    enumspb.WorkflowExecutionStatus
	closing   *historypb.HistoryEvent
	closed    chan struct{}
	signals   []string
	waiting   []workflows.Approval
	questions []workflows.Interrupt
	decided   map[string]activities.Decision // by call ID
}

// runID is the ID of every run. Investigation IDs end with its last part.
const runID = "7c9f6a50-5d9e-4a2f-8d0b-0123456789ab"

func newFakeTemporal(t testing.TB) *fakeTemporal {
	t.Helper()
	return newFakeTemporalAt(t, "127.0.0.1:0")
}

func newFakeTemporalAt(t testing.TB, address string) *fakeTemporal {
	t.Helper()
	fake := &fakeTemporal{address: address, runs: map[string]*fakeRun{}}
	fake.serve(t)
	return fake
}

// serve answers at the address, at first a free one, until stop is called.
func (f *fakeTemporal) serve(t testing.TB) {
	t.Helper()
	listener, err := net.Listen("tcp", f.address)
	if err != nil {
		t.Fatal(err)
	}
	f.address = listener.Addr().String()
	server := grpc.NewServer()
	workflowservice.RegisterWorkflowServiceServer(server, f)
	go server.Serve(listener)
	f.stop = server.Stop
	t.Cleanup(server.Stop)
}

func (f *fakeTemporal) add(run *fakeRun) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.runs[run.id] = run
}

func (f *fakeTemporal) GetSystemInfo(context.Context, *workflowservice.GetSystemInfoRequest) (*workflowservice.GetSystemInfoResponse,
	error) {
	return &workflowservice.GetSystemInfoResponse{Capabilities: &workflowservice.GetSystemInfoResponse_Capabilities{}}, nil
}

func (f *fakeTemporal) StartWorkflowExecution(_ context.Context,
	in *workflowservice.StartWorkflowExecutionRequest) (*workflowservice.StartWorkflowExecutionResponse, error) {
	var req agent.Request
	if err := json.Unmarshal(in.GetInput().GetPayloads()[0].GetData(), &req); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	id := in.GetWorkflowId()
	if old := f.runs[id]; old != nil && old.status == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
		return nil, asStatus(serviceerror.NewWorkflowExecutionAlreadyStarted("taken", "", runID))
	}
	run := &fakeRun{
		id: id, typeName: in.GetWorkflowType().GetName(), request: req, memo: in.GetMemo(), queue: in.GetTaskQueue().GetName(),
		status: enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, closed: make(chan struct{}),
	}
	if req.Chain == "risky" {
		run.waiting = clitest.Risky(run.investigation())
	}
	if req.Chain == "asks" {
		run.questions = clitest.Asking()
	}
	f.runs[id] = run
	if f.started != nil {
		f.started(id, req)
	}
	run.proceed()
	return &workflowservice.StartWorkflowExecutionResponse{RunId: runID, Started: true}, nil
}

func (r *fakeRun) investigation() string { return workflows.InvestigationID(r.id, runID) }

func (r *fakeRun) result(status agent.Status, reason agent.EndReason) workflows.InvestigationResult {
	return workflows.InvestigationResult{
		ID: r.investigation(), Status: status, EndReason: reason, Report: "# Found\nThe pool.",
		Stages: []workflows.StageStatus{{Name: "collect", Status: status,
			Agents: []workflows.AgentSummary{{Name: "LogAgent", Status: status, Model: "gpt-4o", Iterations: 2}}}},
		Usage: agent.Usage{InputTokens: 10, OutputTokens: 5, ModelCalls: 1},
	}
}

// proceed ends the run as its chain determines.
func (r *fakeRun) proceed() {
	switch r.request.Chain {
	case "mends":
		result := r.result(agent.StatusCompleted, agent.EndCompleted)
		result.Stages[0].Agents[0].ActionsExecuted = new(true)
		result.Proof = "0 of 1 cited statement is supported by its evidence; 1 not supported, marked ✗"
		r.close(enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED, result, nil)
	case "works":
		r.close(enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED, r.result(agent.StatusCompleted, agent.EndCompleted), nil)
	case "breaks":
		result := r.result(agent.StatusFailed, agent.EndLLMFailed)
		result.Error = "stage collect: no model answered"
		r.close(enumspb.WORKFLOW_EXECUTION_STATUS_FAILED, nil, temporal.NewNonRetryableApplicationError(result.Error, "llm_failed", nil, result))
	case "unknown":
		r.close(enumspb.WORKFLOW_EXECUTION_STATUS_FAILED, nil,
			temporal.NewNonRetryableApplicationError(`no chain "unknown"`, "InvalidRequest", nil, nil))
	case "killed":
		r.close(enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED, nil, nil)
	}
}

func (r *fakeRun) close(status enumspb.WorkflowExecutionStatus, result any, err error) {
	r.status = status
	r.closing = &historypb.HistoryEvent{EventId: 9}
	switch status {
	case enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED:
		r.closing.EventType = enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED
		r.closing.Attributes = &historypb.HistoryEvent_WorkflowExecutionCompletedEventAttributes{
			WorkflowExecutionCompletedEventAttributes: &historypb.WorkflowExecutionCompletedEventAttributes{Result: payloads(result)}}
	case enumspb.WORKFLOW_EXECUTION_STATUS_FAILED:
		r.closing.EventType = enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED
		r.closing.Attributes = &historypb.HistoryEvent_WorkflowExecutionFailedEventAttributes{
			WorkflowExecutionFailedEventAttributes: &historypb.WorkflowExecutionFailedEventAttributes{
				Failure: temporal.GetDefaultFailureConverter().ErrorToFailure(err)}}
	case enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED:
		r.closing.EventType = enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED
		r.closing.Attributes = &historypb.HistoryEvent_WorkflowExecutionCanceledEventAttributes{
			WorkflowExecutionCanceledEventAttributes: &historypb.WorkflowExecutionCanceledEventAttributes{Details: payloads(result)}}
	default:
		r.closing.EventType = enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED
		r.closing.Attributes = &historypb.HistoryEvent_WorkflowExecutionTerminatedEventAttributes{
			WorkflowExecutionTerminatedEventAttributes: &historypb.WorkflowExecutionTerminatedEventAttributes{}}
	}
	close(r.closed)
}

// complete ends a run from outside.
func (f *fakeTemporal) complete(workflowID string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	run := f.runs[workflowID]
	run.close(enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED, run.result(agent.StatusCompleted, agent.EndCompleted), nil)
}

func payloads(values ...any) *commonpb.Payloads {
	out, err := converter.GetDefaultDataConverter().ToPayloads(values...)
	if err != nil {
		panic(err)
	}
	return out
}

func asStatus(err error) error { return serviceerror.ToStatus(err).Err() }

func (f *fakeTemporal) run(execution *commonpb.WorkflowExecution) (*fakeRun, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	run := f.runs[execution.GetWorkflowId()]
	if run == nil || execution.GetRunId() != "" && execution.GetRunId() != runID {
		return nil, asStatus(serviceerror.NewNotFound("no such workflow"))
	}
	return run, nil
}

func (f *fakeTemporal) info(r *fakeRun) *workflowpb.WorkflowExecutionInfo {
	info := &workflowpb.WorkflowExecutionInfo{
		Execution: &commonpb.WorkflowExecution{WorkflowId: r.id, RunId: runID}, FirstRunId: runID,
		Type: &commonpb.WorkflowType{Name: r.typeName}, Status: r.status, HistoryLength: 2, Memo: r.memo,
		SearchAttributes: &commonpb.SearchAttributes{IndexedFields: map[string]*commonpb.Payload{
			"InquestChain": payloads(r.request.Chain).Payloads[0]}},
	}
	if r.status != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
		info.CloseTime = timestamppb.Now()
	}
	return info
}

func (f *fakeTemporal) DescribeWorkflowExecution(_ context.Context,
	in *workflowservice.DescribeWorkflowExecutionRequest) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	run, err := f.run(in.GetExecution())
	if err != nil {
		return nil, err
	}
	return &workflowservice.DescribeWorkflowExecutionResponse{
		ExecutionConfig: &workflowpb.WorkflowExecutionConfig{}, WorkflowExecutionInfo: f.info(run),
	}, nil
}

func (f *fakeTemporal) ListWorkflowExecutions(context.Context,
	*workflowservice.ListWorkflowExecutionsRequest) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := &workflowservice.ListWorkflowExecutionsResponse{}
	for _, run := range f.runs {
		out.Executions = append(out.Executions, f.info(run))
	}
	return out, nil
}

func (f *fakeTemporal) GetWorkflowExecutionHistory(ctx context.Context,
	in *workflowservice.GetWorkflowExecutionHistoryRequest) (*workflowservice.GetWorkflowExecutionHistoryResponse, error) {
	run, err := f.run(in.GetExecution())
	if err != nil {
		return nil, err
	}
	if f.awaited != nil {
		f.awaited(run.id)
	}
	select {
	case <-run.closed:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return &workflowservice.GetWorkflowExecutionHistoryResponse{History: &historypb.History{Events: []*historypb.HistoryEvent{run.closing}}},
		nil
}

func (f *fakeTemporal) SignalWorkflowExecution(_ context.Context,
	in *workflowservice.SignalWorkflowExecutionRequest) (*workflowservice.SignalWorkflowExecutionResponse, error) {
	run, err := f.run(in.GetWorkflowExecution())
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	data := string(in.GetInput().GetPayloads()[0].GetData())
	run.signals = append(run.signals, "signal "+in.GetSignalName()+" "+data)
	return &workflowservice.SignalWorkflowExecutionResponse{}, nil
}

func (f *fakeTemporal) RequestCancelWorkflowExecution(_ context.Context,
	in *workflowservice.RequestCancelWorkflowExecutionRequest) (*workflowservice.RequestCancelWorkflowExecutionResponse, error) {
	run, err := f.run(in.GetWorkflowExecution())
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	run.close(enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED, run.result(agent.StatusCancelled, agent.EndCancelled), nil)
	return &workflowservice.RequestCancelWorkflowExecutionResponse{}, nil
}

func (f *fakeTemporal) QueryWorkflow(_ context.Context,
	in *workflowservice.QueryWorkflowRequest) (*workflowservice.QueryWorkflowResponse, error) {
	if strings.HasSuffix(in.GetExecution().GetWorkflowId(), "/LogAgent") {
		return &workflowservice.QueryWorkflowResponse{QueryResult: payloads(workflows.AgentStatus{
			Status: agent.StatusRunning, Iteration: 2, MaxIterations: 10, Doing: "waiting for gpt-4o",
		})}, nil
	}
	run, err := f.run(in.GetExecution())
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if run.request.Chain == "workerless" {
		return nil, asStatus(serviceerror.NewFailedPrecondition("no poller seen for task queue recently"))
	}
	if run.request.Chain == "unplanned" {
		return &workflowservice.QueryWorkflowResponse{QueryResult: payloads(workflows.Status{ID: run.investigation()})}, nil
	}
	return &workflowservice.QueryWorkflowResponse{QueryResult: payloads(workflows.Status{
		ID: run.investigation(), Chain: run.request.Chain, Status: agent.StatusRunning, WaitingFor: "stage collect", Waiting: run.waiting,
		Questions: run.questions,
		Stages: []workflows.StageStatus{
			{Name: "collect", Status: agent.StatusRunning, Agents: []workflows.AgentSummary{
				{Name: "LogAgent", Status: agent.StatusRunning, Model: "gpt-4o", WorkflowID: fmt.Sprintf("%s/collect/LogAgent", run.investigation())},
			}},
			{Name: "judge", Status: agent.StatusPending},
		},
	})}, nil
}
