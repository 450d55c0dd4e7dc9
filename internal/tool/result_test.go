package tool_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/tool"
)

// TestUnsure checks the result of a call that failed after its request was sent.
func TestUnsure(t *testing.T) {
	t.Parallel()
	const why = "MCP server s: it answered 502 Bad Gateway"
	sent := tool.Failure(tool.ErrorUnavailable, why)
	sent.Sent, sent.Sends, sent.Artifacts = true, 3, []tool.Artifact{{Name: "a"}}
	repeatable := sent
	repeatable.Content = why + ". s.put may have taken effect. It is safe to repeat the call."
	once := tool.OutcomeUnknown("s.put", why)
	once.Sends, once.Artifacts = 3, sent.Artifacts
	unsent, success := tool.Failure(tool.ErrorUnavailable, why), tool.Success("done")
	success.Sent = true
	for name, tt := range map[string]struct {
		spec      tool.Spec
		got, want tool.Result
	}{
		"reads":           {tool.Spec{Name: "s.put", Risk: agent.RiskReadOnly}, sent, sent},
		"may be repeated": {tool.Spec{Name: "s.put", Risk: agent.RiskWrite, Idempotent: true}, sent, repeatable},
		"only once":       {tool.Spec{Name: "s.put"}, sent, once},
		"not sent":        {tool.Spec{Name: "s.put"}, unsent, unsent},
		"success":         {tool.Spec{Name: "s.put"}, success, success},
	} {
		if diff := cmp.Diff(tt.want, tool.Unsure(tt.spec, tt.got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
