package tool

import (
	"encoding/json"
	"testing"

	"github.com/inquest-dev/inquest/internal/agent"
)

// Rules and pending approvals hold a tool's definition, so a release must not compute another one for the same tool. These are the
// definitions of commit 67a5c1de.
func TestDefinitionsStay(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		risk agent.Risk
		from Source
		want string
	}{
		"does not say":     {agent.RiskWrite, SourceDefault, writes},
		"says it writes":   {agent.RiskWrite, SourceAnnotation, writes},
		"untrusted read":   {agent.RiskWrite, SourceUntrusted, "07cdd721b762b6ff"},
		"destructive":      {agent.RiskDestructive, SourceAnnotation, "c224b742fd5370fd"},
		"read-only":        {agent.RiskReadOnly, SourceAnnotation, "810e285e6a90067e"},
		"by configuration": {agent.RiskReadOnly, SourceConfiguration, "9030bd8b3af55178"},
	} {
		spec := Spec{
			Name: "lab.set", Description: "Sets it.", Schema: json.RawMessage(`{"type":"object"}`), Risk: test.risk, RiskFrom: test.from,
			Idempotent: true,
		}
		if got := spec.Definition()[:16]; got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

const writes = "5323dfa00598df8c"
