package api

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/kit/processtest"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/webhook"
)

// block returns a code block of docs/reference/webhooks.md, found by the text of its first line.
func block(t *testing.T, heading, first string) string {
	t.Helper()
	doc, err := os.ReadFile("../../../docs/reference/webhooks.md")
	if err != nil {
		t.Fatal(err)
	}
	_, part, _ := strings.Cut(string(doc), "\n## "+heading+"\n")
	part, _, _ = strings.Cut(part, "\n## ")
	found := regexp.MustCompile("(?s)```[a-z]*\n# " + regexp.QuoteMeta(first) + "[^\n]*\n(.*?)```").FindStringSubmatch(part)
	if found == nil {
		t.Fatalf("docs/reference/webhooks.md has no %q under %q", first, heading)
	}
	return found[1]
}

const chains = "agents: {Memo: {}}\nagent_chains: {" +
	"shop: {alert_types: [Slow, grafana, deploy], stages: [{name: dig, agents: [{name: Memo}]}]}, " +
	"pagerduty: {stages: [{name: dig, agents: [{name: Memo}]}]}}\n"

// A real Alertmanager, configured as in docs/reference/webhooks.md, sends firing and resolved alerts with its token.
func TestRealAlertmanager(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("prometheus-alertmanager")
	if err != nil {
		t.Fatal("install prometheus-alertmanager, as .ci/run does")
	}
	const token = "0123456789abcdef"
	tokens := fmt.Sprintf("system: {http: {tokens: {prom: {sha256: %x, role: operator}}}}\n", sha256.Sum256([]byte(token)))
	w := open(t, tokens+chains)
	dir := t.TempDir()
	text := strings.NewReplacer("http://inquest.example.com:8088", w.url, "TOKEN", token, "group_wait: 1s",
		"group_wait: 1s\n  group_interval: 1s").
		Replace(block(t, "Alertmanager", "alertmanager.yml"))
	if err := writeFile(filepath.Join(dir, "am.yml"), text); err != nil {
		t.Fatal(err)
	}
	address, err := processtest.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "--config.file="+filepath.Join(dir, "am.yml"), "--storage.path="+dir, "--web.listen-address="+address,
		"--cluster.listen-address=")
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = log, log, &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	cut, err := processtest.Tie(cmd)
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		cut()
		if said, _ := os.ReadFile(log.Name()); t.Failed() {
			t.Logf("%s", said)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	fire := func(ends string) bool {
		alerts := fmt.Sprintf(`[{"labels":{"alertname":"Slow","host":"a"},"annotations":{"summary":"a is slow"},"startsAt":%q%s}]`,
			time.Now().Add(-time.Minute).Truncate(time.Hour).Format(time.RFC3339), ends)
		response, err := http.Post("http://"+address+"/api/v2/alerts", "application/json", strings.NewReader(alerts))
		if err != nil {
			return false
		}
		_ = response.Body.Close()
		return response.StatusCode == http.StatusOK
	}
	rows := func() []webhook.Row {
		return readAs[system.Page[webhook.Row]](w, token, "/api/v1/alerts").Items
	}
	eventually(t, "Alertmanager takes the alert", func() bool { return fire("") })
	eventually(t, "the alert comes", func() bool { return len(rows()) == 1 })
	if out, err := w.place(w.intake(webhook.DefaultLimits)); err != nil || out.Started != 1 {
		t.Errorf("%+v, %v", out, err)
	}
	fire(fmt.Sprintf(`,"endsAt":%q`, time.Now().Format(time.RFC3339)))
	eventually(t, "it is resolved", func() bool { return rows()[0].ResolvedAt != nil })
	i := w.intake(webhook.DefaultLimits)
	if _, err := w.place(i); err != nil || len(i.received) != 1 || len(rows()) != 1 || rows()[0].Title != "a is slow" {
		t.Errorf("told %q, %v, %+v", i.received, err, rows())
	}
}

func readAs[T any](w *world, token, path string) (out T) {
	w.Helper()
	got := w.call("", "GET", path, nil, "Authorization", "Bearer "+token)
	if err := json.Unmarshal([]byte(got.body), &out); err != nil || got.status != http.StatusOK {
		w.Fatalf("%d %s, %v", got.status, got.body, err)
	}
	return out
}

// The configurations in docs/reference/webhooks.md accept what their senders send, with the senders' signatures.
func TestDocumentedSenders(t *testing.T) {
	const secret = "kept by two"
	for _, name := range []string{"HOOK_GRAFANA", "HOOK_PAGERDUTY", "HOOK_DEPLOYS"} {
		t.Setenv(name+"_WEBHOOK_SECRET", secret)
	}
	sum := func(text string) string {
		h := hmac.New(sha256.New, []byte(secret))
		h.Write([]byte(text))
		return hex.EncodeToString(h.Sum(nil))
	}
	now := fmt.Sprint(time.Now().Unix())
	for heading, test := range map[string]struct {
		path   string
		header func(body string) []string
		title  string
	}{
		"Grafana": {"grafana", func(body string) []string {
			return []string{"X-Grafana-Alerting-Signature", sum(now + ":" + body), "X-Grafana-Alerting-Timestamp", now}
		}, "This alert was triggered for zone us-1"},
		"PagerDuty": {"pagerduty", func(body string) []string {
			return []string{"X-PagerDuty-Signature", "v1=00,v1=" + sum(body), "X-Webhook-Id", "x"}
		}, "A little bump in the road"},
		"Any other system": {"deploys", nil, "the deploy failed"},
	} {
		t.Run(test.path, func(t *testing.T) {
			file := strings.ReplaceAll(block(t, heading, "inquest.yaml"), "{{.", "{{.HOOK_")
			w := open(t, strings.Replace(file, "  http:\n", "  http:\n    "+rootToken()+"\n", 1)+chains)
			w.as = "root"
			if test.header == nil {
				script := strings.ReplaceAll(block(t, heading, "send"), "http://localhost:8088", w.url)
				cmd := exec.CommandContext(t.Context(), "sh", "-ec", script)
				cmd.Env = append(os.Environ(), "DEPLOYS_WEBHOOK_SECRET="+secret)
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
			} else {
				raw, err := os.ReadFile("../../webhook/testdata/" + test.path + ".json")
				var fixture struct{ Body json.RawMessage }
				if err == nil {
					err = json.Unmarshal(raw, &fixture)
				}
				if err != nil {
					t.Fatal(err)
				}
				body := string(fixture.Body)
				if got := w.call("", "POST", "/webhooks/"+test.path, body, test.header(body)...); got.status != http.StatusAccepted {
					t.Fatalf("%d %s", got.status, got.body)
				}
			}
			rows := w.alerts("")
			if len(rows) != 1 || rows[0].Title != test.title {
				t.Errorf("%+v", rows)
			}
			if out, err := w.place(w.intake(webhook.DefaultLimits)); err != nil || out.Started != 1 {
				t.Errorf("%+v, %v", out, err)
			}
		})
	}
	settings := block(t, "Grafana", "grafana: provisioning")
	for _, name := range []string{"hmacConfig", "timestampHeader: X-Grafana-Alerting-Timestamp", "secret: "} { // the names in its source
		if !strings.Contains(settings, name) {
			t.Errorf("Grafana's settings have no %q", name)
		}
	}
}
