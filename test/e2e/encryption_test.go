package e2e

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// encrypted returns a lab with encrypted histories, and the codec endpoint that decrypts them for clients that have its token.
func encrypted(t *testing.T) (plain, w *world, endpoint string) {
	t.Helper()
	plain, _ = newLab(t, nil)
	w = plain.with("INQUEST_ENCRYPTION_KEYS=k1:b2xkIG9sZCBvbGQgb2xkIG9sZCBvbGQgb2xkIG9sZCE=", "INQUEST_CODEC_TOKEN=sesame")
	w.dev()
	codec := w.start("codec endpoint ", "starter", "codec", "--listen", "127.0.0.1:0", "--ui-origin", "http://"+w.ui)
	_, endpoint, _ = strings.Cut(strings.TrimSpace(codec.log.String()), "codec endpoint ")
	return plain, w, endpoint
}

// With the codec endpoint, Temporal's own CLI starts an investigation and reads its result; without it, the CLI shows nothing.
func TestCodecEndpoint(t *testing.T) {
	cli := buildCLI(t)
	t.Parallel()
	plain, w, address := encrypted(t)
	temporal := func(by []string, args ...string) string {
		out, errs, code := plain.program(cli, "", append(append(args, "--address", w.address), by...)...)
		if code != 0 {
			t.Fatalf("temporal %v: exit code %d\n%s%s", args, code, out, errs)
		}
		return out
	}
	endpoint := []string{"--codec-endpoint", address, "--codec-auth", "Bearer sesame"}
	temporal(endpoint, "workflow", "start", "--type", "Investigation", "--task-queue", "inquest", "--workflow-id", "one",
		"--input", `{"alert_type": "lab", "data": "persimmon"}`)
	if out := temporal(endpoint, "workflow", "result", "--workflow-id", "one"); !strings.Contains(out, "the report of gamma") {
		t.Errorf("by the endpoint, the result is\n%s", out)
	}
	if out := temporal(endpoint, "workflow", "show", "--workflow-id", "one", "--output", "json"); !says(out, "persimmon") {
		t.Errorf("by the endpoint, the history is\n%s", out)
	}
	for _, command := range [][]string{{"workflow", "show", "--workflow-id", "one", "--output", "json"},
		{"workflow", "describe", "--workflow-id", "one"}} {
		out := temporal(nil, command...)
		for _, word := range []string{"persimmon", "report of gamma"} {
			if says(out, word) {
				t.Errorf("without the endpoint, temporal %v says %q:\n%s", command, word, out)
			}
		}
	}
	if out := w.must("show", "one"); !strings.Contains(out, "the report of gamma") {
		t.Errorf("starter shows\n%s", out)
	}
}

// With the codec endpoint, Temporal's own UI shows encrypted data; without it, the UI shows nothing.
func TestLongCodecEndpointInTheUI(t *testing.T) {
	takesLong(t)
	t.Parallel()
	_, w, address := encrypted(t)
	w.must("run", "--alert-type", "lab", "--data", "persimmon", "--workflow-id", "one")
	b := newBrowser(t, "http://"+w.ui+"/namespaces/default/workflows")
	b.open("one", "Timeline")
	b.shows("COMPLETED")
	var page string
	if b.do("read the page", chromedp.Text("body", &page)); strings.Contains(page, "persimmon") {
		t.Errorf("without the endpoint, the UI shows\n%s", page)
	}
	b.shot("encrypted")
	b.click(`[data-testid^=data-encoder-status]`, "")
	b.click(`label`, "Use my browser setting")
	b.write(`#data-encoder-endpoint-input`, address+"/sesame")
	b.click(`button:enabled`, "Apply")
	b.open("one", "Timeline")
	b.shows("COMPLETED", "persimmon", "the report of gamma")
	b.shot("decrypted")
}

// says finds a word in plain text or in base64, where it may start at any of three offsets.
func says(text, word string) bool {
	found := strings.Contains(text, word)
	for at := range 3 {
		encoded := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("x", at) + word))
		found = found || strings.Contains(text, encoded[(at*4+2)/3:len(encoded)-2]) // without the characters that neighbouring bytes affect
	}
	return found
}
