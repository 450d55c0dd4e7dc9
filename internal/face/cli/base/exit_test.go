package base

import (
	"fmt"
	"strings"
	"testing"

	"go.temporal.io/api/serviceerror"
)

// People read why Temporal did not answer, without the words of gRPC.
func TestErrorsOfTemporal(t *testing.T) {
	t.Parallel()
	lost := serviceerror.NewUnavailable(`connection error: desc = "transport: Error while dialing: dial tcp 127.0.0.1:1: connect: ` +
		`connection refused"`)
	err := fmt.Errorf("ask investigation x: %w", lost)
	const want = "ask investigation x: connection refused"
	if got := Explain(err).Error(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	var out strings.Builder
	c := &CLI{Err: &out}
	c.Say("starter: %v", err)
	if got := out.String(); got != "starter: "+want+"\n" {
		t.Errorf("got %q", got)
	}
}
