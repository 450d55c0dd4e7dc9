package api

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/internal/face/mcpserver"
	"github.com/inquest-dev/inquest/internal/kit/npmtest"
)

// received is the report of a client in testdata/mcp/clients.mjs about our server.
type received struct {
	Tools, Started, Ended, Refused, Report string
	Progress, Prompt, Lists                bool
	Transcript                             []string
}

// Independent clients can use the server. Each validates results against the schemas that it received.
func TestMCPClients(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.investigation("ours", "payments")
	w.running("slow", "payments")
	dir := npmtest.Folder(t, "testdata/mcp")
	var all []received
	out := runNode(t, dir, "clients.mjs", w.url+mcpserver.Path, secret("operator"))
	if err := json.Unmarshal([]byte(out), &all); err != nil || len(all) != 2 {
		t.Fatalf("%s, %v", out, err)
	}
	for n, got := range all {
		want := received{
			Tools: "get_evidence get_investigation get_transcript list_chains list_inbox list_investigations list_learnings rate_investigation " +
				"review_investigation start_investigation steer_investigation",
			Started: "running", Ended: "running", Refused: "nothing with this ID exists in your projects", Report: "it is the pool of payments",
			Progress: true, Prompt: true, Lists: true, Transcript: []string{"found it"},
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("client %d: %+v", n, got)
		}
	}

	inspect := func(args ...string) string {
		args = append([]string{"node_modules/.bin/mcp-inspector", "--cli", w.url + mcpserver.Path, "--transport", "http",
			"--header", "Authorization: Bearer " + secret("viewer")}, args...)
		return runNode(t, dir, args...)
	}
	if out := inspect("--method", "tools/list"); !strings.Contains(out, `"get_investigation"`) ||
		strings.Contains(out, `"start_investigation"`) {
		t.Errorf("the inspector lists %s", out)
	}
	if out := inspect("--method", "tools/call", "--tool-name", "get_investigation", "--tool-arg",
		"id=ours"); !strings.Contains(out, "the pool of payments") {
		t.Errorf("the inspector reads %s", out)
	}
}
