package e2e

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOperatorByServer works with only an API address and a token, like an operator's laptop: its environment
// contains neither Temporal's address nor the store nor the configuration.
func TestOperatorByServer(t *testing.T) {
	t.Parallel()
	const token = "a token of thirty-two characters"
	w, k := newTalks(t)
	w.configure(talkConfig + fmt.Sprintf("system: {http: {tokens: {ada: {sha256: %x, role: admin, projects: ['*']}}}}\n",
		sha256.Sum256([]byte(token))))
	w.dev("--no-worker")
	address := freeAddress(t)
	w.worker("--http", address)
	laptop := *w
	laptop.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "NO_COLOR=1", "TEMPORAL_ADDRESS=127.0.0.1:1",
		"TEMPORAL_CONFIG_FILE=" + filepath.Join(t.TempDir(), "none.toml"), "INQUEST_SERVER=http://" + address, "INQUEST_TOKEN=" + token,
	}
	var all strings.Builder
	says := func(args ...string) string {
		out := laptop.must(args...)
		all.WriteString(out)
		return out
	}
	expect := func(out string, parts ...string) {
		t.Helper()
		for _, part := range parts {
			if !strings.Contains(out, part) {
				t.Errorf("no %q in\n%s", part, out)
			}
		}
	}

	watched := laptop.start("Decide: starter decide", "starter", "run", "--chain", "desk", "--data", "do: set it")
	expect(says("list", "--needs-me"), "waiting_approval", "desk")
	expect(says("inbox"), "lab.set", "approval")
	expect(says("decide", "1", "--approve"), "approved by ada")
	if code := watched.wait(); code != 0 {
		t.Errorf("run ends with %d", code)
	}
	expect(watched.log.String(), "dig/Clerk", "done: ", "completed")
	var listed []struct{ ID string }
	if err := json.Unmarshal([]byte(says("list", "--json")), &listed); err != nil || len(listed) != 1 {
		t.Fatalf("%v, %v", listed, err)
	}
	expect(says("report", listed[0].ID), "done: ")
	expect(says("show", listed[0].ID), "lab.set", "system prompt")
	expect(says("status", listed[0].ID), "completed", "requested by ada")
	expect(says("watch", listed[0].ID, "--json"), `"type":"started"`, `"type":"ended","result":{"id":"`)
	expect(says("audit", listed[0].ID), "ada (http)", "lab.set")

	var said chatted
	if err := json.Unmarshal([]byte(says("chat", "--agent", "Memo", "--message", "what do you know?", "--json")), &said); err != nil {
		t.Fatal(err)
	}
	if said.Text == "" || said.Turn != 1 || !strings.HasPrefix(said.Thread, "Memo-") {
		t.Errorf("the first turn: %+v", said)
	}
	expect(says("chat", "--thread", said.Thread, "--message", "remember the disk is on node 7"),
		"done: Successfully updated memory block 'facts'")
	expect(says("chat", "--list"), said.Thread)
	waiting := laptop.start("To continue it later", "starter", "chat", "--agent", "Memo", "--message", "wait") // printed once it was accepted
	k.hold.Release()
	if code := waiting.wait(); code != 0 || strings.Count(waiting.log.String(), "waited long") != 1 {
		t.Errorf("exit code %d, and it says\n%s", code, waiting.log)
	}
	if n := len(w.model.Requests()); n != 6 {
		t.Errorf("%d model calls: a message was said twice, or not at all", n)
	}
	says("chat", "--thread", said.Thread, "--close")
	if strings.Contains(all.String()+watched.log.String(), token) {
		t.Error("the token is shown")
	}
}
