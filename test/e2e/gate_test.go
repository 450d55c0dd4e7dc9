package e2e

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// all also runs the tests that are not in gate.
var all = flag.Bool("all", false, "run every end-to-end test, not only those of the gate")

// gate lists the tests that run by default, and therefore before every landing: one or two for each promise of the README and for
// each way in. With -all (`make nightly`) all tests run, and with -run those that it names. A test that joins must not take more than
// a minute.
var gate = []struct{ test, why string }{
	{"TestGate", "this list"},

	// The promises of the README.
	{"TestDemoInSlack", "the demo, in a terminal and in Slack"},
	{"TestInitTry", "from init to a report"},
	{"TestKill", "kill a worker during a model call"},
	{"TestKillAtRandom", "kill the whole system at any point; pay for no reply twice"},
	{"TestKillInACallThatIsNotIdempotent", "no unsafe call is repeated"},
	{"TestKillWhilePaused", "a restart while people have paused the work"},
	{"TestStallOfTemporal", "Temporal stalls, and nothing is cancelled"},
	{"TestHungToolServer", "a tool server freezes"},
	{"TestApprovals", "destructive calls need approval, also across a kill"},
	{"TestWritesAreActivities", "every call that may change something is an activity"},
	{"TestOutageOfAProvider", "agents wait for their provider"},
	{"TestHistoryOfQuickCalls", "histories stay small"},
	{"TestCancelIsQuickAndKeepsWhatWasDone", "findings are kept after a cancellation"},
	{"TestStoreIsSetBack", "a store that has lost entries is noticed"},
	{"TestReset", "a reset in Temporal keeps a consistent transcript"},
	{"TestMissingServers", "agents wait for their tools, and a report says what was not checked"},
	{"TestSecretsAreNowhere", "no secret in a log, a store, or a history"},

	// The ways in.
	{"TestCLI", "the CLI"},
	{"TestProgramsRefuseBadInput", "the programs' flags"},
	{"TestLiveView", "the live view in a terminal"},
	{"TestPage", "the page in a browser"},
	{"TestUI", "the Temporal UI in a browser"},
	{"TestPipelineAnsweredByTheStockCLI", "the Temporal CLI"},
	{"TestOperatorByServer", "the HTTP API, from another machine"},
	{"TestMCPOverStdio", "MCP, with the client of another implementation"},
	{"TestConversation", "conversations"},

	// A fleet.
	{"TestFleet", "two workers share PostgreSQL, and lose a worker and the database"},
	{"TestWorkerDrains", "a worker that stops hands over its work"},
	{"TestPipelineGates", "a chain with branches, loops and questions"},
}

// maxGate keeps the gate quick.
const maxGate = 30

// onlyGate limits the run to the gate, unless -run or another flag asks for other tests. The flags have been parsed.
func onlyGate() {
	run := flag.Lookup("test.run")
	if *all || *long || *soak || run.Value.String() != "" {
		return
	}
	names := make([]string, len(gate))
	for i, g := range gate {
		names[i] = g.test
	}
	_ = run.Value.Set("^(" + strings.Join(names, "|") + ")$") // a string: Set cannot fail
}

var testFunction = regexp.MustCompile(`(?m)^func (Test\w+)\(`)

// TestGate checks that the gate's tests exist, once each, are few, and are none of those that only run with a flag.
func TestGate(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range testFunction.FindAllSubmatch(text, -1) {
			tests[string(match[1])] = true
		}
	}
	var names []string
	for _, g := range gate {
		if !tests[g.test] || slices.Contains(names, g.test) || strings.HasPrefix(g.test, "TestLong") || strings.HasPrefix(g.test, "TestSoak") {
			t.Errorf("%s is not a test, is listed twice, or needs a flag", g.test)
		}
		names = append(names, g.test)
	}
	if len(gate) > maxGate {
		t.Errorf("the gate has %d tests, more than %d", len(gate), maxGate)
	}
}
