package dial_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/inquest-dev/inquest/internal/dial"
)

// closedPort returns an address where nothing listens.
func closedPort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// No message to people contains an error text of gRPC, whatever prevents the connection.
func TestNoConnection(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // it accepts connections and says nothing
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { silent.Close() })
	for address, want := range map[string]string{
		closedPort(t):             "connection refused",
		"no-such-host.invalid:1":  "no host has this name",
		silent.Addr().String():    "no answer in time",
		"127.0.0.1":               "",
		"[::1]:99999":             "",
		"unix:///no/such/socket":  "no such file or directory",
		"passthrough:///not-host": "",
	} {
		t.Run(address, func(t *testing.T) {
			t.Parallel()
			patience := time.Minute
			if address == silent.Addr().String() {
				patience = 100 * time.Millisecond
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			_, err := dial.Temporal(ctx, client.Options{HostPort: address})
			if err == nil {
				t.Fatal("connected")
			}
			got := err.Error()
			for _, word := range []string{"rpc error", "desc =", "code =", "transport:", "failed reaching", "context deadline", "dial tcp", "\n"} {
				if strings.Contains(got, word) {
					t.Errorf("got %q of %q", got, errors.Unwrap(err))
				}
			}
			if got == "" || !strings.Contains(got, want) {
				t.Errorf("got %q of %q, want %q", got, errors.Unwrap(err), want)
			}
		})
	}
}

func TestPlain(t *testing.T) {
	t.Parallel()
	other := errors.New("no store")
	refused := `connection error: desc = "transport: Error while dialing: dial tcp 127.0.0.1:1: connect: connection refused"`
	for _, tt := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("ask x: %w", serviceerror.NewUnavailable(refused)), "ask x: connection refused"},
		{fmt.Errorf("ask x: %w", serviceerror.NewUnavailable(`connection error: desc = "error reading server preface: EOF"`)),
			"ask x: it closed the connection, maybe because it requires TLS"},
		{fmt.Errorf("ask x: %w", serviceerror.NewDeadlineExceeded("context deadline exceeded")), "ask x: no answer in time"},
		{fmt.Errorf("ask x: %w", status.Error(codes.Unauthenticated, "Request unauthorized.")), "ask x: it does not accept these credentials"},
		{fmt.Errorf("ask x: %w", status.Error(codes.Unavailable, "the server is closing")), "ask x: the server is closing"},
		{fmt.Errorf("ask x: %w", serviceerror.NewInvalidArgument("ID is too long")), "ask x: ID is too long"},
		{fmt.Errorf("ask x: %w", other), "ask x: no store"},
	} {
		got := dial.Plain(tt.err)
		if got.Error() != tt.want || !errors.Is(got, tt.err) {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
	if dial.Plain(nil) != nil {
		t.Error("there was no error")
	}
}
