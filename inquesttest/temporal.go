package inquesttest

import (
	"context"
	"fmt"
	"log/slog"
	"net"

	commonpb "go.temporal.io/api/common/v1"
	historypb "go.temporal.io/api/history/v1"
	namespacepb "go.temporal.io/api/namespace/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	sdklog "go.temporal.io/sdk/log"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
)

// service answers a worker's own requests to Temporal while the SDK's test environment runs its workflows: the
// namespace, and the input of the investigation.
type service struct {
	workflowservice.UnimplementedWorkflowServiceServer
	*grpc.Server
	listener *bufconn.Listener
	input    *commonpb.Payloads
}

func serve(input []byte) (*service, error) {
	payload, err := converter.GetDefaultDataConverter().ToPayloads(converter.NewRawValue(&commonpb.Payload{
		Metadata: map[string][]byte{converter.MetadataEncoding: []byte(converter.MetadataEncodingJSON)}, Data: input,
	}))
	if err != nil {
		return nil, fmt.Errorf("the request: %w", err)
	}
	s := &service{Server: grpc.NewServer(), listener: bufconn.Listen(1 << 20), input: payload}
	workflowservice.RegisterWorkflowServiceServer(s.Server, s)
	go func() { _ = s.Serve(s.listener) }() // until Stop
	return s, nil
}

func (s *service) client() *client.Options {
	dial := grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return s.listener.DialContext(ctx) })
	return &client.Options{
		HostPort: "passthrough:///inquesttest", Logger: sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)),
		ConnectionOptions: client.ConnectionOptions{DialOptions: []grpc.DialOption{dial}},
	}
}

func (*service) GetSystemInfo(context.Context, *workflowservice.GetSystemInfoRequest) (*workflowservice.GetSystemInfoResponse, error) {
	return &workflowservice.GetSystemInfoResponse{}, nil
}

func (*service) DescribeNamespace(
	_ context.Context, req *workflowservice.DescribeNamespaceRequest,
) (*workflowservice.DescribeNamespaceResponse, error) {
	return &workflowservice.DescribeNamespaceResponse{NamespaceInfo: &namespacepb.NamespaceInfo{Name: req.Namespace, Id: "inquesttest"}}, nil
}

func (*service) DescribeWorkflowExecution(
	context.Context, *workflowservice.DescribeWorkflowExecutionRequest,
) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	return nil, status.Error(codes.NotFound, "there is no such workflow")
}

func (s *service) GetWorkflowExecutionHistory(
	context.Context, *workflowservice.GetWorkflowExecutionHistoryRequest,
) (*workflowservice.GetWorkflowExecutionHistoryResponse, error) {
	started := &historypb.WorkflowExecutionStartedEventAttributes{Input: s.input}
	event := &historypb.HistoryEvent{
		EventId: 1, Attributes: &historypb.HistoryEvent_WorkflowExecutionStartedEventAttributes{WorkflowExecutionStartedEventAttributes: started},
	}
	return &workflowservice.GetWorkflowExecutionHistoryResponse{History: &historypb.History{Events: []*historypb.HistoryEvent{event}}}, nil
}
