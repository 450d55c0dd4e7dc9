// Package inmemory runs one investigation in this process, in the SDK's test environment, without a Temporal service. Time that a
// workflow waits passes at once.
package inmemory

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	historypb "go.temporal.io/api/history/v1"
	namespacepb "go.temporal.io/api/namespace/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/inquest-dev/inquest/workflows"
)

// Service answers a worker's own requests to Temporal while the SDK's test environment runs its workflows: the namespace, and the
// input of the investigation.
type Service struct {
	workflowservice.UnimplementedWorkflowServiceServer
	*grpc.Server
	listener *bufconn.Listener
	input    *commonpb.Payloads
}

// Serve returns the service for an investigation with a request, as JSON. The caller must stop it.
func Serve(input []byte) (*Service, error) {
	payload, err := converter.GetDefaultDataConverter().ToPayloads(converter.NewRawValue(&commonpb.Payload{
		Metadata: map[string][]byte{converter.MetadataEncoding: []byte(converter.MetadataEncodingJSON)}, Data: input,
	}))
	if err != nil {
		return nil, fmt.Errorf("the request: %w", err)
	}
	s := &Service{Server: grpc.NewServer(), listener: bufconn.Listen(1 << 20), input: payload}
	workflowservice.RegisterWorkflowServiceServer(s.Server, s)
	go func() { _ = s.Serve(s.listener) }() // until Stop
	return s, nil
}

// Client returns the options of a client of the service.
func (s *Service) Client() client.Options {
	dial := grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return s.listener.DialContext(ctx) })
	return client.Options{
		HostPort: "passthrough:///in-memory", Logger: sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)),
		ConnectionOptions: client.ConnectionOptions{DialOptions: []grpc.DialOption{dial}},
	}
}

func (*Service) GetSystemInfo(context.Context, *workflowservice.GetSystemInfoRequest) (*workflowservice.GetSystemInfoResponse, error) {
	return &workflowservice.GetSystemInfoResponse{}, nil
}

func (*Service) DescribeNamespace(
	_ context.Context, req *workflowservice.DescribeNamespaceRequest,
) (*workflowservice.DescribeNamespaceResponse, error) {
	return &workflowservice.DescribeNamespaceResponse{NamespaceInfo: &namespacepb.NamespaceInfo{Name: req.Namespace, Id: "in-memory"}}, nil
}

func (*Service) DescribeWorkflowExecution(
	context.Context, *workflowservice.DescribeWorkflowExecutionRequest,
) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	return nil, status.Error(codes.NotFound, "there is no such workflow")
}

func (s *Service) GetWorkflowExecutionHistory(
	context.Context, *workflowservice.GetWorkflowExecutionHistoryRequest,
) (*workflowservice.GetWorkflowExecutionHistoryResponse, error) {
	started := &historypb.WorkflowExecutionStartedEventAttributes{Input: s.input}
	event := &historypb.HistoryEvent{
		EventId: 1, Attributes: &historypb.HistoryEvent_WorkflowExecutionStartedEventAttributes{WorkflowExecutionStartedEventAttributes: started},
	}
	return &workflowservice.GetWorkflowExecutionHistoryResponse{History: &historypb.History{Events: []*historypb.HistoryEvent{event}}}, nil
}

// Run is one run of an investigation.
type Run struct {
	// Register registers the worker's workflows and activities.
	Register func(worker.Registry) error
	// Request is the input of the workflow Investigation.
	Request any
	// Prepare is called before the workflow starts. Nil means that there is nothing to prepare.
	Prepare func(*testsuite.TestWorkflowEnvironment)
	// Idle is how long the workflow may wait for an activity.
	Idle   time.Duration
	Logger *slog.Logger
}

// Execute runs the investigation and returns the error of the workflow.
func (r Run) Execute() (out workflows.InvestigationResult, err error) {
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(sdklog.NewStructuredLogger(r.Logger))
	env := suite.NewTestWorkflowEnvironment()
	env.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: time.Minute}) // the machine may be busy
	env.SetTestTimeout(r.Idle)
	if err := r.Register(env); err != nil {
		return out, err
	}
	if r.Prepare != nil {
		r.Prepare(env)
	}
	env.ExecuteWorkflow(workflows.TypeInvestigation, r.Request)
	err = env.GetWorkflowResult(&out)
	return out, err
}
