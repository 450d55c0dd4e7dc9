package transcript_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// TestBodyInTheStore: rows from before a body had parts are read into the parts, and written back byte for byte.
func TestBodyInTheStore(t *testing.T) {
	t.Parallel()
	call, yes := &transcript.Call{ID: "c1_0", Name: "loki.query", Arguments: "{}"}, true
	for name, test := range map[string]struct {
		stored string
		want   transcript.Body
	}{
		"user": {`{"text":"look","by":"Ada","mail":7}`, transcript.Body{Text: "look", Said: transcript.Said{By: "Ada", Mail: 7}}},
		"intent": {
			`{"call":{"id":"c1_0","name":"loki.query","arguments":"{}"},"decision":"approved by Ada","digest":"d"}`,
			transcript.Body{Call: call, Result: transcript.Result{Decision: "approved by Ada", Digest: "d"}},
		},
		"result": {
			`{"text":"x","call":{"id":"c1_0","name":"loki.query","arguments":"{}"},"status":"error","error_type":"Timeout","pause":3,` +
				`"decision":"approved","digest":"d","blob":"b","size":9,"artifacts":["a"]}`,
			transcript.Body{
				Text: "x", Call: call, Status: "error", ErrorType: "Timeout",
				Result: transcript.Result{Pause: 3, Decision: "approved", Digest: "d", Blob: "b", Size: 9, Artifacts: []string{"a"}},
			},
		},
		"try": {
			`{"text":"503","error_type":"ModelUnavailable","provider":"p","model":"m","elapsed_ms":5}`,
			transcript.Body{Text: "503", ErrorType: "ModelUnavailable", Answer: transcript.Answer{Provider: "p", Model: "m", ElapsedMS: 5}},
		},
		"reply": {
			`{"text":"t","thinking":"h","calls":[{"id":"c1_0","name":"loki.query","arguments":"{}"}],"finish":"stop","provider":"p","model":"m",` +
				`"usage":{"model_calls":1},"summary_usage":{"model_calls":2},` +
				`"compression":{"original_token_count":9,"compressed_token_count":3,"compression_ratio":0.5,"strategy_used":"hybrid"},` +
				`"provider_state":{"s":"x"},"invalid":"no JSON","actions_executed":true,"forced":true}`,
			transcript.Body{
				Text: "t", Thinking: "h", Calls: []transcript.Call{*call},
				Answer: transcript.Answer{Finish: "stop", Provider: "p", Model: "m", Usage: &agent.Usage{ModelCalls: 1}},
				Reply: transcript.Reply{
					SummaryUsage:  &agent.Usage{ModelCalls: 2},
					Compression:   &transcript.Compression{OriginalTokens: 9, CompressedTokens: 3, Ratio: 0.5, Strategy: "hybrid"},
					ProviderState: json.RawMessage(`{"s":"x"}`), Invalid: "no JSON", ActionsExecuted: &yes, Forced: true,
				},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got transcript.Body
			if err := json.Unmarshal([]byte(test.stored), &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("read (-want +got):\n%s", diff)
			}
			if written, err := json.Marshal(got); err != nil || string(written) != test.stored {
				t.Errorf("written as %s, %v; was %s", written, err, test.stored)
			}
		})
	}
}
