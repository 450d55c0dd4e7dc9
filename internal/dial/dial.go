// Package dial connects to Temporal.
package dial

import (
	"cmp"
	"context"
	"strings"

	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/inquest-dev/inquest/internal/command"
)

// Temporal connects to Temporal. It does not compress traffic within the host, because
// that took a twelfth of a worker's CPU time. The error says only why there is no connection.
func Temporal(ctx context.Context, opts client.Options) (client.Client, error) {
	c := &opts.ConnectionOptions
	if c.GrpcCompression == nil && command.Loopback(cmp.Or(opts.HostPort, client.DefaultHostPort)) {
		c.GrpcCompression = &client.GrpcCompressionNone{}
	}
	c.DialOptions = append([]grpc.DialOption{grpc.WithChainUnaryInterceptor(anyNames)}, c.DialOptions...)
	connected, err := client.DialContext(ctx, opts)
	if err != nil {
		return nil, &plainError{Reason(err), err}
	}
	return connected, nil
}

// resourceID is the header in which the SDK repeats the workflow id of a request, for routers that
// do not parse requests (https://github.com/temporalio/features/issues/721: servers do not need it).
const resourceID = "temporal-resource-id"

// anyNames removes that header if it is not printable ASCII, because gRPC refuses such headers.
// A worker could otherwise never complete a workflow task of a stage named "prüfen".
func anyNames(
	ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption,
) error {
	unprintable := func(r rune) bool { return r < ' ' || r > '~' }
	if md, ok := metadata.FromOutgoingContext(ctx); ok && strings.ContainsFunc(strings.Join(md.Get(resourceID), ""), unprintable) {
		md.Delete(resourceID) // md is a copy
		ctx = metadata.NewOutgoingContext(ctx, md)
	}
	return invoke(ctx, method, req, reply, conn, opts...)
}
