package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// apiServer holds the responses that kubernetes-mcp-server needs from a cluster for events: discovery, and the
// events of one namespace.
var apiServer = map[string]string{
	"/api":  `{"kind":"APIVersions","versions":["v1"]}`,
	"/apis": `{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`,
	"/api/v1": `{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"events","namespaced":true,"kind":"Event",` +
		`"verbs":["get","list"]},{"name":"pods","namespaced":true,"kind":"Pod","verbs":["get","list"]}]}`,
	"/api/v1/namespaces/default/pods": `{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[]}`,
	"/api/v1/namespaces/shop/events": `{"kind":"EventList","apiVersion":"v1","metadata":{},"items":[
		{"kind":"Event","apiVersion":"v1","metadata":{"name":"a","namespace":"shop"},"type":"Normal","reason":"Scheduled",
		 "message":"assigned","lastTimestamp":"2026-11-22T16:00:00Z","involvedObject":{"kind":"Pod","name":"prometheus-5d8f7c9b6-x2x9z"}},
		{"kind":"Event","apiVersion":"v1","metadata":{"name":"b","namespace":"shop"},"type":"Warning","reason":"Failed",
		 "message":"Error: configmap \"inventory-config-v42\" not found","lastTimestamp":"2026-11-22T16:00:00Z",
		 "involvedObject":{"kind":"Pod","name":"inventory-6c9f8d7b5-q7w2k"}}]}`,
}

// prometheus holds Prometheus's response to the query "up == 0".
var prometheus = map[string]string{
	"/api/v1/query": `{"status":"success","data":{"resultType":"vector","result":[
		{"metric":{"__name__":"up","instance":"inventory.shop:8080","job":"inventory"},"value":[1795368033.1,"0"]}]}}`,
}

func serving(t *testing.T, answers map[string]string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, known := answers[r.URL.Path]
		if !known {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// TestClusterExample runs examples/kind-scripted as its README says, with the public MCP servers from npm. The
// test provides the cluster and Prometheus.
func TestClusterExample(t *testing.T) {
	t.Parallel()
	kubeconfig := filepath.Join(t.TempDir(), "config")
	cluster := fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: kind, contexts: [{name: kind, context: {cluster: kind, user: me}}],
users: [{name: me, user: {}}], clusters: [{name: kind, cluster: {server: %q}}]}`, serving(t, apiServer))
	if err := os.WriteFile(kubeconfig, []byte(cluster), 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../examples/kind-scripted/inquest.yaml")
	if err != nil {
		t.Fatal(err)
	}
	const servers = "--toolsets, core]"
	if !strings.Contains(string(text), servers) {
		t.Fatalf("the example has no %q", servers)
	}
	// npx fetches a package on first use. On a busy machine that may take longer than the start of a server may, and a killed npx
	// leaves a broken package behind.
	for _, used := range regexp.MustCompile(`\[-y, ([^,\]]+)`).FindAllStringSubmatch(string(text), -1) {
		if out, err := exec.Command("npm", "exec", "--yes", "--package="+used[1], "-c", "true").CombinedOutput(); err != nil {
			t.Fatalf("fetch %s: %v\n%s", used[1], err, out)
		}
	}
	w := newWorld(t, nil, strings.NewReplacer(
		"http://127.0.0.1:9090", serving(t, prometheus),
		servers, servers+fmt.Sprintf(", env: {KUBECONFIG: %q}", kubeconfig),
	).Replace(string(text)))
	w.dev()
	looked := w.must("doctor", "--config", w.config, "--wait", "100s")
	for _, want := range []string{" tools; the cluster lists pods\n", "ok    server prometheus: 10 tools; Prometheus answers\n"} {
		if !strings.Contains(looked, want) {
			t.Errorf("doctor does not say %q:\n%s", want, looked)
		}
	}
	nobody := serving(t, nil)
	lost := filepath.Join(t.TempDir(), "lost.yaml")
	text = []byte(strings.NewReplacer("http://127.0.0.1:9090", nobody,
		servers, servers+fmt.Sprintf(", env: {KUBECONFIG: %q}", filepath.Join(t.TempDir(), "config"))).Replace(string(text)))
	if err := os.WriteFile(lost, text, 0o600); err != nil {
		t.Fatal(err)
	}
	looked, errs, code := w.starter("", "doctor", "--config", lost, "--wait", "100s")
	for _, want := range []string{
		"fail  server kubernetes: ", "fail  server prometheus: 10 tools; prometheus_query failed: ", "→ check that Prometheus answers: curl ",
	} {
		if code != 1 || !strings.Contains(looked, want) {
			t.Errorf("doctor does not say %q (exit code %d):\n%s%s", want, code, looked, errs)
		}
	}
	report := w.must("run", "--alert-type", "shop", "--data", "@../../examples/kind/alert.json", "--workflow-id", "shop")
	for _, want := range []string{
		`inventory does not come up: Error: configmap "inventory-config-v42" not found.`, "Confidence: high",
		"SignalsAgent: up is 0 for job inventory",
	} {
		if !strings.Contains(report, want) {
			t.Errorf("the report lacks %q:\n%s", want, report)
		}
	}
	report = w.must("report", "shop")
	if strings.Contains(report, "Not checked") || strings.Contains(report, " failed") {
		t.Errorf("the report says that calls failed, and none did:\n%s", report)
	}
}
