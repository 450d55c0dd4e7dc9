package dial_test

import (
	"context"
	"log/slog"
	"net"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/inquest-dev/inquest/internal/dial"
)

// frontend records the target of a signal, and the header that names it.
type frontend struct {
	workflowservice.UnimplementedWorkflowServiceServer
	got [][]string
}

func (f *frontend) SignalWorkflowExecution(
	ctx context.Context, req *workflowservice.SignalWorkflowExecutionRequest,
) (*workflowservice.SignalWorkflowExecutionResponse, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	f.got = append(f.got, append([]string{req.GetWorkflowExecution().GetWorkflowId()}, md.Get("temporal-resource-id")...))
	return &workflowservice.SignalWorkflowExecutionResponse{}, nil
}

func (*frontend) GetSystemInfo(context.Context, *workflowservice.GetSystemInfoRequest) (*workflowservice.GetSystemInfoResponse, error) {
	return &workflowservice.GetSystemInfoResponse{}, nil
}

// A workflow's name may be in any script.
func TestAnyNames(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f, server := &frontend{}, grpc.NewServer()
	workflowservice.RegisterWorkflowServiceServer(server, f)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	c, err := dial.Temporal(t.Context(), client.Options{
		HostPort: listener.Addr().String(), Logger: sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, id := range []string{"alert-7:0123456789ab/check", "alert-7:0123456789ab/prüfen", "点検", "a\tb"} {
		if err := c.SignalWorkflow(t.Context(), id, "", "resume", nil); err != nil {
			t.Errorf("%q: %v", id, err)
		}
	}
	want := [][]string{
		{"alert-7:0123456789ab/check", "workflow:alert-7:0123456789ab/check"}, {"alert-7:0123456789ab/prüfen"}, {"点検"}, {"a\tb"},
	}
	if diff := cmp.Diff(want, f.got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
