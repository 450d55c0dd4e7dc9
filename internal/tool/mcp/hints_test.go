package mcp_test

import (
	"fmt"
	"maps"
	"testing"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/tool/tooltest"
)

// standing is the effect of a tool's annotations.
type standing struct {
	risk  agent.Risk
	class tool.Idempotency
	from  tool.Source
}

const (
	annotated = tool.SourceAnnotation
	byDefault = tool.SourceDefault
	distrust  = tool.SourceUntrusted
	ro, wr, d = agent.RiskReadOnly, agent.RiskWrite, agent.RiskDestructive
	safe      = tool.Safe
	repeat    = tool.Idempotent
	once      = tool.NonIdempotent
)

// hinted holds every combination of hints, with its effect for a trusted and for an untrusted server.
var hinted = map[string][2]standing{
	"none":  {{wr, once, byDefault}, {wr, once, byDefault}},
	"t_":    {{wr, once, annotated}, {wr, once, annotated}},
	"t_i":   {{wr, repeat, annotated}, {wr, once, annotated}},
	"t_D":   {{wr, once, annotated}, {wr, once, annotated}},
	"t_Di":  {{wr, repeat, annotated}, {wr, once, annotated}},
	"t_d":   {{d, once, annotated}, {d, once, annotated}},
	"t_di":  {{d, repeat, annotated}, {d, once, annotated}},
	"t_r":   {{ro, safe, annotated}, {wr, once, distrust}},
	"t_ri":  {{ro, safe, annotated}, {wr, once, distrust}},
	"t_rD":  {{ro, safe, annotated}, {wr, once, distrust}},
	"t_rDi": {{ro, safe, annotated}, {wr, once, distrust}},
	"t_rd":  {{ro, safe, annotated}, {d, once, annotated}},
	"t_rdi": {{ro, safe, annotated}, {d, once, annotated}},
}

// TestHints checks that a call is repeated only if a trusted source allows it.
func TestHints(t *testing.T) {
	t.Parallel()
	pool := newPool(t, tooltest.Hints, nil)
	configured := []agent.Risk{"", ro, wr, d, agent.RiskLow, agent.RiskMedium, agent.RiskHigh, agent.RiskCritical, agent.RiskUnknown}
	for _, trusted := range []bool{true, false} {
		for _, risk := range configured {
			for _, repeatable := range []bool{false, true} {
				t.Run(fmt.Sprintf("trusted=%t risk=%s repeatable=%t", trusted, risk, repeatable), func(t *testing.T) {
					server := plan.Server{Name: "s", TrustAnnotations: trusted, Risk: map[string]agent.Risk{}}
					for name := range hinted {
						if risk != "" {
							server.Risk[name] = risk
						}
						if repeatable {
							server.Idempotent = append(server.Idempotent, name)
						}
					}
					specs, err := pool.List(t.Context(), server, "")
					if err != nil {
						t.Fatal(err)
					}
					got, want := map[string]standing{}, map[string]standing{}
					for _, spec := range specs {
						_, name := tool.Split(spec.Name)
						got[name] = standing{spec.Risk, spec.Class(), spec.RiskFrom}
					}
					for name := range hinted {
						want[name] = expected(name, trusted, risk, repeatable)
					}
					if !maps.Equal(got, want) {
						t.Errorf("got  %v\nwant %v", got, want)
					}
				})
			}
		}
	}
}

// expected returns a tool's row, changed by the configuration.
func expected(name string, trusted bool, risk agent.Risk, repeatable bool) standing {
	want := hinted[name][1]
	if trusted {
		want = hinted[name][0]
	}
	if risk != "" {
		want.risk, want.from = risk, tool.SourceConfiguration
		saidSo := trusted && tooltest.AllHints()[name] != nil && tooltest.AllHints()[name].IdempotentHint
		want.class = map[bool]tool.Idempotency{true: repeat, false: once}[saidSo && (risk == wr || risk == d)]
	}
	switch {
	case want.risk == ro:
		want.class = safe
	case repeatable && (want.risk == wr || want.risk == d):
		want.class = repeat
	}
	return want
}
