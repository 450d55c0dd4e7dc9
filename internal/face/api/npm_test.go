package api

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/internal/kit/npmtest"
)

func runNode(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "node", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("node %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// Generated requests, most of them wrong, are answered as the document says, with a reason, and never by 500. The generators (fast-check)
// and the validators of the document and the responses (ajv) are independent of this project.
func TestContract(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ended, talk := w.investigation("ended", "payments"), w.conversation("talk", "payments")
	w.running("slow", "payments")
	w.remember("Memo")
	runs := "40"
	if testing.Short() {
		runs = "5"
	}
	out := runNode(t, npmtest.Folder(t, "testdata/npm"), "contract.mjs", w.url, secret("root"), runs,
		strings.Join([]string{ended, "slow", talk, "shop", "Memo"}, ","))
	var received struct{ Operations int }
	if err := json.Unmarshal([]byte(out), &received); err != nil || received.Operations < 35 {
		t.Errorf("%s, %v", out, err)
	}
	t.Log(out)
}

// A TypeScript client generated from the document compiles in strict mode and works.
func TestTypeScriptClient(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.investigation("ended", "payments")
	dir := npmtest.Folder(t, "testdata/npm")
	text, err := json.Marshal(w.api.OpenAPI())
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "openapi.json"), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	runNode(t, dir, "node_modules/openapi-typescript/bin/cli.js", "openapi.json", "-o", "schema.d.ts")
	runNode(t, dir, "node_modules/typescript/bin/tsc", "--strict", "--noUncheckedIndexedAccess", "--target", "es2022", "--module", "nodenext",
		"--lib", "es2022,dom,dom.iterable", "--skipLibCheck", "--outDir", ".", "node.d.ts", "client.ts")
	out := runNode(t, dir, "client.js", w.url, secret("operator"))
	const want = `{"report":"it is the pool of payments","entries":1,"refused":"nothing with this ID exists in your projects"}`
	if strings.TrimSpace(out) != want {
		t.Errorf("it says %s", out)
	}
}
