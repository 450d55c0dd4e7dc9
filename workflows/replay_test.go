package workflows

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/converter"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/encoding/protojson"
)

// The corpus holds histories recorded from real runs, in one folder per release. Released folders are
// never edited: an investigation that an older build started must complete on this one. A changed
// workflow uses workflow.GetVersion and adds histories to the folder of the next release:
//
//	go test ./test/e2e -run 'Shapes|Continue|Critique|OutageOf|Gates|SubAgents|Scoring|WebhookFlood' -long -record
//	go test . -run Code -record
const corpus = "testdata/histories"

// released has the digest of each released folder, as folderDigest computes it.
var released = map[string]string{
	"v0.1": "4cb5480f3dc2f34b57bf8734ae7d139187caeda875556b1395c605be30c25636",
}

func TestReleasedHistoriesAreUnchanged(t *testing.T) {
	t.Parallel()
	for release, want := range released {
		if got := folderDigest(t, filepath.Join(corpus, release)); got != want {
			t.Errorf("%s/%s has the digest %s, want %s: released histories are never edited", corpus, release, got, want)
		}
	}
}

// folderDigest is the SHA-256, in hex, of the names and contents of all files in a folder.
func folderDigest(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir) // sorted by name
	if err != nil {
		t.Fatal(err)
	}
	all := sha256.New()
	for _, entry := range entries {
		body, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(all, "%s %x\n", entry.Name(), sha256.Sum256(body))
	}
	return hex.EncodeToString(all.Sum(nil))
}

// TestReplay runs every recorded history through the current code. A difference
// would break investigations that are running during an upgrade.
func TestReplay(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob(corpus + "/*/*.json")
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d histories in %s (%v)", len(paths), corpus, err)
	}
	seen := map[string]bool{}
	for _, path := range paths {
		recorded := readHistory(t, path)
		seen[workflowType(recorded).GetName()] = true
		release := filepath.Base(filepath.Dir(path))
		t.Run(release+"/"+strings.TrimSuffix(filepath.Base(path), ".json"), func(t *testing.T) {
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

// TestChangesAreRecorded checks that the corpus has a history with each change of workflows.
func TestChangesAreRecorded(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob(corpus + "/*/*.json")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, path := range paths {
		for _, e := range readHistory(t, path).GetEvents() {
			if marker := e.GetMarkerRecordedEventAttributes(); marker.GetMarkerName() == "Version" {
				var id string
				if err := converter.GetDefaultDataConverter().FromPayloads(marker.GetDetails()["change-id"], &id); err != nil {
					t.Fatalf("%s: %v", path, err)
				}
				seen[id] = true
			}
		}
	}
	for _, id := range Changes {
		if !seen[id] {
			t.Errorf("no history in %s has the change %s: record one, as CONTRIBUTING.md says", corpus, id)
		}
	}
}

// TestReplayNoticesAChange checks that TestReplay can fail: it replays a history with another activity in it.
func TestReplayNoticesAChange(t *testing.T) {
	t.Parallel()
	recorded := readHistory(t, corpus+"/v0.1/plain_dig-Alpha.json")
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
