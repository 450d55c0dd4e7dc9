package job

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"go.temporal.io/sdk/temporal"

	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
)

// shelf has a plan for every name but one, and counts the requests.
type shelf struct {
	Blobs
	reads int
}

func (s *shelf) Blob(_ context.Context, hash string) ([]byte, error) {
	s.reads++
	if hash == "none" {
		return nil, record.ErrNotFound
	}
	return fmt.Appendf(nil, `{"chain":%q}`, hash), nil
}

func TestPlansAreReadOnce(t *testing.T) {
	t.Parallel()
	blobs := &shelf{}
	a := &Worker{Blobs: blobs}
	read := func(hash string) plan.Plan {
		p, err := a.ReadPlan(t.Context(), hash)
		if err != nil || p.Chain != hash {
			t.Fatalf("plan %s: %+v, %v", hash, p, err)
		}
		return p
	}
	for range 3 {
		read("a")
		read("b")
	}
	if blobs.reads != 2 {
		t.Errorf("two plans were read %d times", blobs.reads)
	}
	for range 2 {
		_, err := a.ReadPlan(t.Context(), "none")
		missing, ok := errors.AsType[*temporal.ApplicationError](err)
		if !ok || missing.Type() != ErrorWorkerCannot || missing.NonRetryable() {
			t.Errorf("a plan that another worker may have: %v", err)
		}
	}
	if blobs.reads != 4 {
		t.Errorf("a plan that was not there is not looked for again: %d reads", blobs.reads)
	}
	for n := range 3 * maxKept {
		read(fmt.Sprint(n))
	}
	if n := len(a.plans.known); n > maxKept {
		t.Errorf("%d plans are kept, more than %d", n, maxKept)
	}
}
