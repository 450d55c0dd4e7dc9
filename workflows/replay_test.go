package workflows

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/history/v1"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/encoding/protojson"
)

// The corpus is recorded from real runs: go test ./test/e2e -run 'Shapes|Continue|Critique|OutageOf' -long -record,
// and go test . -run Code -record. It was recorded anew on 2026-11-22, before the first release: older
// histories are void.
const corpus = "testdata/histories"

// TestReplay runs every recorded history through the code as it is now. A
// difference would break investigations that run during a deploy: version the
// change (workflow.GetVersion) and record a new history beside the old one.
func TestReplay(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob(corpus + "/*.json")
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d histories in %s (%v)", len(paths), corpus, err)
	}
	seen := map[string]bool{}
	for _, path := range paths {
		recorded := readHistory(t, path)
		seen[workflowType(recorded).GetName()] = true
		t.Run(strings.TrimSuffix(filepath.Base(path), ".json"), func(t *testing.T) {
			t.Parallel()
			if err := replay(recorded); err != nil {
				t.Error(err)
			}
		})
	}
	agents := []string{"IteratingAgent", "SingleShotAgent", "ToolPlanAgent", "ServiceAgent"}
	for _, name := range append(agents, TypeInvestigation, TypeConversation, TypeIntake, "Stage", "Scoring") {
		if !seen[name] {
			t.Errorf("no history of the workflow %s is recorded", name)
		}
	}
}

// The replay would notice a change: a history that another code wrote fails.
func TestReplayNoticesAChange(t *testing.T) {
	t.Parallel()
	recorded := readHistory(t, corpus+"/plain_dig-Alpha.json")
	for _, e := range recorded.GetEvents() {
		if scheduled := e.GetActivityTaskScheduledEventAttributes(); scheduled.GetActivityType().GetName() == "CallTool" {
			scheduled.ActivityType.Name = "AnotherActivity"
		}
	}
	if err := replay(recorded); err == nil {
		t.Error("a history with another activity was replayed")
	}
}

func replay(recorded *history.History) error {
	replayer := worker.NewWorkflowReplayer()
	Register(replayer)
	started := recorded.GetEvents()[0].GetWorkflowExecutionStartedEventAttributes()
	logger := sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler))
	return replayer.ReplayWorkflowHistoryWithOptions(logger, recorded, worker.ReplayWorkflowHistoryOptions{
		OriginalExecution: workflow.Execution{ID: started.GetWorkflowId(), RunID: started.GetOriginalExecutionRunId()},
	})
}

func readHistory(t *testing.T, path string) *history.History {
	t.Helper()
	body, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	recorded := &history.History{}
	if err := protojson.Unmarshal(body, recorded); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return recorded
}

func workflowType(recorded *history.History) *common.WorkflowType {
	return recorded.GetEvents()[0].GetWorkflowExecutionStartedEventAttributes().GetWorkflowType()
}
