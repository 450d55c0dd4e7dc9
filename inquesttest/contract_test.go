package inquesttest_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest"
	"github.com/inquest-dev/inquest/inquesttest"
)

// TestExampleBeforeTheResult runs a stage whose agent quotes the arguments of a call before its result. The stage meets its contract,
// and a later stage gets the result.
func TestExampleBeforeTheResult(t *testing.T) {
	t.Parallel()
	const folder = "testdata/34-example-before-the-result"
	body, err := os.ReadFile(filepath.Join(folder, "reply.json"))
	if err != nil {
		t.Fatal(err)
	}
	var reply struct{ Replies [][]string }
	if err := json.Unmarshal(body, &reply); err != nil {
		t.Fatal(err)
	}
	text := reply.Replies[0][0]
	var got map[string]any
	stage := func(name string, flow inquest.Flow) *inquest.Stage {
		return &inquest.Stage{Name: name, Agents: []*inquest.StageAgent{{Name: "A"}}, Flow: flow}
	}
	reads := stage("reads", inquest.Flow{})
	reads.Mock = "reads"
	w := inquesttest.World{
		Options: inquest.Options{
			Config: filepath.Join(folder, "stage.yaml"),
			Agents: map[string]*inquest.Agent{"A": {DefaultModel: "openai:gpt-4o"}},
			Chains: map[string]*inquest.Chain{"later": {Stages: []*inquest.Stage{
				stage("s", inquest.Flow{RequiredOutputFields: []string{"steps"}}), reads,
			}}},
			Mocks: map[string]inquest.Mock{"reads": func(_ context.Context, in inquest.MockInput) (any, error) {
				got = in.Outputs["s"].JSON
				return "Read.", nil
			}},
		},
		Script: []inquesttest.Rule{{Say: text}},
	}
	for chain, report := range map[string]string{"c": text, "later": "Read."} {
		result, err := w.Run(t.Context(), inquest.Request{Chain: chain, Data: "What happened?", UseMock: chain == "later"})
		if err != nil || result.Status != "completed" || result.EndReason != "completed" || result.Report != report || len(result.Asked) != 1 {
			t.Errorf("chain %s: %+v, %v", chain, result, err)
		}
	}
	if diff := cmp.Diff(map[string]any{"steps": []any{"look at db-1"}}, got); diff != "" {
		t.Error(diff)
	}
}
