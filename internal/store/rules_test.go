package store_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/store/storetest"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/internal/trust/audit"
	"github.com/inquest-dev/inquest/internal/trust/remember"
)

// BenchmarkPreview tries a rule that matches a tenth of 100,000 past calls. It fails if this process uses more than a second of CPU
// time. PostgreSQL's own time does not count.
func BenchmarkPreview(b *testing.B) {
	onEach(b, func(b *testing.B, s *store.Store) {
		const calls, together = 100_000, 1000
		for i := range calls / together {
			step := transcript.Step{Scope: scope, Writer: transcript.Writer{RunID: "run", ActivityID: "activity"}}
			for n := range together {
				step.Rows = append(step.Rows, transcript.Row{
					Key: transcript.CallKey(logSize+i, n), Kind: transcript.KindCall, Body: transcript.Body{Call: &transcript.Call{
						ID: fmt.Sprintf("c%d_%d", i, n), Name: "k8s.scale", Risk: agent.RiskWrite, Arguments: fmt.Sprintf(
							`{"namespace":"team%d-%d","kind":"deployment","name":"checkout-%d","replicas":3,"reason":"the queue of checkout grows"}`, n%10, i,
							n),
					}},
				})
			}
			if _, err := s.Append(b.Context(), step); err != nil {
				b.Fatal(err)
			}
		}
		for name, fits := range map[string]int{"team7-*": calls / 10, "team*": calls} {
			b.Run(name, func(b *testing.B) {
				rule := remember.Rule{Tool: "k8s.scale", Where: remember.Where{Project: "default"}, Arguments: map[string]remember.Pattern{
					"namespace": {Glob: name}, "kind": {Equals: []byte(`"deployment"`)}, "name": {Glob: "checkout-*"}, "replicas": {Glob: "*"},
					"reason": {Glob: "*"},
				}}
				began := cpu()
				for b.Loop() {
					p, err := s.Preview(b.Context(), rule)
					if err != nil || p.Looked != calls || p.Count() != fits {
						b.Fatalf("%d of %d calls, %v", p.Count(), p.Looked, err)
					}
				}
				took := (cpu() - began).Seconds() / float64(b.N)
				b.ReportMetric(took, "cpu-s/op")
				if took > 1 {
					b.Errorf("it took %.2f s of the processor's time", took)
				}
			})
		}
	})
}

// cpu returns the CPU time of this process, which is independent of other processes.
func cpu() time.Duration {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// TestRulesAreMaskedInTheTrail: a rule stores a call's arguments unmasked, but the audit trail has other readers and must mask
// them.
func TestRulesAreMaskedInTheTrail(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	rule := remember.Rule{
		ID: "r-1", Tool: "db.login", By: "Ada", Because: "password: hunter2-Zq81", Created: time.Now(),
		Arguments: map[string]remember.Pattern{"password": {Equals: []byte(`"hunter2-Zq81"`)}},
	}
	if err := s.AddRule(t.Context(), rule); err != nil {
		t.Fatal(err)
	}
	err := s.Acts(t.Context(), store.ActFilter{}, func(a audit.Act) error {
		if strings.Contains(string(a.Detail), "hunter2") || !strings.Contains(string(a.Detail), "db.login") {
			t.Errorf("the trail says %s", a.Detail)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
