package api

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/testsuite"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/internal/configuration"
	"github.com/inquest-dev/inquest/internal/payload"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/webhook"
	"github.com/inquest-dev/inquest/workflows"
)

const oneChain = "agents: {Memo: {}}\nagent_chains: {shop: {alert_types: [Slow], stages: [{name: dig, agents: [{name: Memo}]}]}}\n"

// hooked is an API with webhooks and without tokens.
func hooked(t *testing.T, webhooks string, env ...string) *world {
	t.Helper()
	for n := 0; n < len(env); n += 2 {
		t.Setenv(env[n], env[n+1])
	}
	return open(t, "system: {http: {webhooks: {"+webhooks+"}}}\n"+oneChain)
}

// rootToken returns the configuration of root's token only, because signed webhooks require a token.
func rootToken() string {
	return fmt.Sprintf(`tokens: {root: {sha256: %x, role: admin, projects: ["*"]}}`, sha256.Sum256([]byte(secret("root"))))
}

// intake starts investigations in the world's Temporal and records what agents are told.
type intake struct {
	*client.Client
	limits   webhook.Limits
	mu       sync.Mutex
	received []string
	keys     []string    // idempotency keys of the messages: Temporal accepts each once
	dies     func() bool // called after each start; true means that the worker dies
}

func (i *intake) Flood(string) webhook.Limits { return i.limits }
func (i *intake) KeepAlerts() time.Duration   { return time.Hour }
func (i *intake) GuideOnce(_ context.Context, _, key, text, _ string) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if !slices.Contains(i.keys, key) {
		i.keys, i.received = append(i.keys, key), append(i.received, text)
	}
	return nil
}
func (i *intake) EndedAlert(context.Context, string) (bool, error) { return false, nil }
func (i *intake) StartAlert(ctx context.Context, workflow string, request json.RawMessage) (string, error) {
	id, err := i.Client.StartAlert(ctx, workflow, request)
	if err == nil && i.dies != nil && i.dies() {
		return "", errors.New("the worker has died")
	}
	return id, err
}

func (w *world) intake(limits webhook.Limits) *intake {
	return &intake{Client: client.Over(w.temporal, payload.Keys{}, w.store, workflows.TaskQueue, ""), limits: limits}
}

// place does the work of the intake workflow.
func (w *world) place(i *intake) (activities.PlaceAlertsOut, error) {
	act := activities.Activities{Alerts: w.store, Intake: i, Logger: slog.New(slog.NewTextHandler(w.Output(), nil))}
	env := new(testsuite.WorkflowTestSuite).NewTestActivityEnvironment()
	env.RegisterActivity(&act)
	var out activities.PlaceAlertsOut
	value, err := env.ExecuteActivity(act.PlaceAlerts)
	if err == nil {
		err = value.Get(&out)
	}
	return out, err
}

func (w *world) alerts(query string) []webhook.Row {
	w.Helper()
	return read[system.Page[webhook.Row]](w, w.as, "GET", "/api/v1/alerts?limit=1000&"+query, nil).Items
}

// firing returns an Alertmanager delivery.
func firing(status string, group int, names ...int) string {
	var alerts []string
	for _, n := range names {
		alerts = append(alerts, fmt.Sprintf(`{"status":%q,"labels":{"alertname":"Slow","host":"h%d"},"annotations":{"summary":"h%[2]d is slow"},
			"startsAt":"2026-11-23T02:00:00Z","endsAt":"0001-01-01T00:00:00Z","fingerprint":"f%[2]d"}`, status, n))
	}
	return fmt.Sprintf(`{"receiver":"inquest","status":%q,"alerts":[%s],"version":"4","groupKey":"{}:{g=\"%d\"}",`+
		`"groupLabels":{"alertname":"Slow"}}`,
		status, strings.Join(alerts, ","), group)
}

// An alert starts one investigation, which learns when the alert has resolved, however often either is sent.
func TestAlertmanager(t *testing.T) {
	t.Parallel()
	w := hooked(t, "")
	i := w.intake(webhook.DefaultLimits)
	send := func(text string, want webhook.Counts) {
		t.Helper()
		if got := read[system.Delivery](w, "", "POST", "/webhooks/alertmanager", text); got.Counts != want || got.Unusable != nil {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	send(firing("firing", 1, 1), webhook.Counts{New: 1})
	send(firing("firing", 1, 1, 2), webhook.Counts{New: 1, Known: 1})
	if out, err := w.place(i); err != nil || out.Started != 2 || w.temporal.wakes != 2 {
		t.Errorf("placed %+v, %v, woken %d times", out, err, w.temporal.wakes)
	}
	req := w.temporal.inputs[0].(agent.Request)
	if req.AlertType != "Slow" || req.By != "webhook alertmanager (local)" || req.Metadata["fingerprint"] != "f1" ||
		!strings.Contains(req.DataText(), `"host":"h1"`) {
		t.Errorf("started %+v", req)
	}
	send(firing("resolved", 1, 1, 3), webhook.Counts{Resolved: 1, Ignored: 1})
	if _, err := w.place(i); err != nil || len(i.received) != 1 || !strings.Contains(i.received[0], `have resolved: 1`+"\n"+`- "h1 is slow"`) {
		t.Errorf("told %q, %v", i.received, err)
	}
	rows := w.alerts("")
	if len(rows) != 2 || rows[1].Times != 2 || rows[1].ResolvedAt == nil || rows[0].Investigation == "" ||
		len(w.alerts("place=waiting")) != 0 {
		t.Errorf("%+v", rows)
	}
	if about := w.alerts("investigation=" + rows[0].Investigation); len(about) != 1 || about[0].ID != rows[0].ID {
		t.Errorf("about it: %+v", about)
	}
}

// Unusable alerts are reported and do not delay the others.
func TestUnusableAlerts(t *testing.T) {
	t.Parallel()
	w := hooked(t,
		"custom: {alert_type: Slow, mapping: {alert_type: [kind], project: [team], status: [is], firing: [open], "+
			"resolved: [closed], ignored: [ack]}}")
	mixed := strings.Replace(firing("firing", 1, 1, 2), "Slow", "Unknown", 1)
	got := read[system.Delivery](w, "", "POST", "/webhooks/grafana", mixed)
	if got.New != 1 || len(got.Unusable) != 1 || !strings.Contains(got.Unusable[0], `has no chain for the alert type "Unknown"`) {
		t.Errorf("%+v", got)
	}
	for name, test := range map[string]struct {
		path, body string
		want       int
	}{
		"unusable":       {"alertmanager", strings.ReplaceAll(mixed, "Slow", "Unknown"), 422},
		"no JSON":        {"alertmanager", "{", 422},
		"no alerts":      {"alertmanager", "{}", 422},
		"none":           {"alertmanager", `{"alerts":[]}`, 202},
		"no webhook":     {"nothing", "{}", 404},
		"a name":         {"custom", `{"kind": "Unknown", "is": "open"}`, 202},
		"acknowledged":   {"custom", `{"kind": "Slow", "is": "ack"}`, 202},
		"unknown status": {"custom", `{"kind": "Slow", "is": "seen"}`, 422},
		"wrong project":  {"custom", `{"kind": "Slow", "is": "open", "team": "../x"}`, 422},
		"too large":      {"custom", `{"kind": "` + strings.Repeat("x", system.MaxData) + `"}`, 413},
	} {
		if got := w.call("", "POST", "/webhooks/"+test.path, test.body); got.status != test.want {
			t.Errorf("%s: %d %.300s", name, got.status, got.body)
		} else {
			problemOf(t, got)
		}
	}
}

// Secrets in alerts are masked before they are written anywhere.
func TestMaskedAlerts(t *testing.T) {
	t.Parallel()
	w := hooked(t, "")
	const token = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
	if got := w.call("", "POST", "/webhooks/alertmanager",
		strings.ReplaceAll(firing("firing", 1, 1), "h1", "password="+token)); got.status != 202 {
		t.Fatal(got.body)
	}
	raw, err := os.ReadFile(w.path)
	wal, _ := os.ReadFile(w.path + "-wal")
	if err != nil || bytes.Contains(append(raw, wal...), []byte(token)) {
		t.Errorf("the store has the secret, %v", err)
	}
}

// A text is masked before it is cut: no part of a secret remains in a note, a label or an error.
func TestMaskedBeforeCut(t *testing.T) {
	t.Parallel()
	w := hooked(t, "custom: {chain: shop, mapping: {alert_type: [kind], starts_at: [at], timezone: [zone], priority: [urgency], "+
		"severity: [severity], status: [is], firing: [open]}}")
	cut := func(n int) string { return strings.Repeat("x ", n/2-5) + "ghp_16C7e42F292c6912E7710c838347Ae178B4a" }
	for name, test := range map[string]struct {
		field, value string
		want         int
	}{
		"a time":               {"at", cut(60), 202},
		"a zone":               {"zone", cut(40), 202},
		"a priority":           {"urgency", cut(60), 202},
		"a severity":           {"severity", cut(maxName), 202},
		"a type":               {"kind", cut(maxType), 202},
		"a type with no chain": {"kind", cut(60), 202},
		"a status":             {"is", cut(60), 422},
	} {
		alert := map[string]string{"is": "open", "at": "2026-11-28 08:00:00", "title": name}
		alert[test.field] = test.value
		body, err := json.Marshal(alert)
		if err != nil {
			t.Fatal(err)
		}
		if got := w.call("", "POST", "/webhooks/custom", string(body)); got.status != test.want || strings.Contains(got.body, "ghp_") {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
	raw, err := os.ReadFile(w.path)
	wal, _ := os.ReadFile(w.path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	raw = append(raw, wal...)
	for at := bytes.Index(raw, []byte("ghp_")); at >= 0; at = bytes.Index(raw, []byte("ghp_")) {
		t.Errorf("the store has %q", raw[max(at-80, 0):at+30])
		raw = raw[at+4:]
	}
}

// A webhook with a secret accepts signed deliveries without a token, for its own projects only.
func TestSignedWebhooks(t *testing.T) {
	const secret = "it is known to two"
	t.Setenv("HOOK_SECRET", secret)
	w := open(t, "system: {http: {"+rootToken()+`, webhooks: {grafana: {projects: [pay, search], mapping: {project: [labels.team]},
		signature: {secrets: ["{{.HOOK_SECRET}}"], timestamp_header: X-Time}}}}}`+"\n"+oneChain)
	w.as = "root"
	now := fmt.Sprint(time.Now().Unix())
	sum := func(text string) string {
		h := hmac.New(sha256.New, []byte(secret))
		h.Write([]byte(text))
		return hex.EncodeToString(h.Sum(nil))
	}
	body := firing("firing", 1, 1)
	foreign := strings.Replace(body, `"host"`, `"team":"secret-team","host"`, 1)
	for name, test := range map[string]struct {
		body, signature, at string
		want                int
	}{
		"signed":          {body, sum(now + ":" + body), now, 202},
		"unsigned":        {body, "", now, 401},
		"of another body": {body, sum(now + ":{}"), now, 401},
		"replayed":        {body, sum("1000:" + body), "1000", 401},
		"another project": {foreign, sum(now + ":" + foreign), now, 422},
	} {
		got := w.call("", "POST", "/webhooks/grafana", test.body, "X-Grafana-Alerting-Signature", test.signature, "X-Time", test.at)
		if got.status != test.want {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
		problemOf(t, got)
	}
	if rows := w.alerts(""); len(rows) != 1 || rows[0].Project != "pay" {
		t.Errorf("%+v", rows)
	}
}

// A byte order mark, which senders on Windows write, is not part of the JSON.
func TestByteOrderMark(t *testing.T) {
	t.Parallel()
	w := hooked(t, "")
	if got := read[system.Delivery](w, "", "POST", "/webhooks/alertmanager", "\xef\xbb\xbf"+firing("firing", 1, 1)); got.New != 1 {
		t.Errorf("%+v", got)
	}
}

// The number of large deliveries without a token that are read at once is limited. Small ones pass.
func TestLargeDeliveries(t *testing.T) {
	t.Setenv("HOOK_SECRET", "it is known to two")
	w := open(t, "system: {http: {"+rootToken()+`, webhooks: {pagerduty: {chain: shop, signature: {secrets: ["{{.HOOK_SECRET}}"]}}}}}`+"\n"+
		oneChain)
	large := `"` + strings.Repeat("x", maxBody) + `"`
	for range maxLarge {
		w.api.webhooks.large <- struct{}{}
	}
	if got := w.call("", "POST", "/webhooks/pagerduty", large); got.status != http.StatusServiceUnavailable ||
		got.header.Get("Retry-After") == "" {
		t.Errorf("large: %d %s", got.status, got.body)
	}
	if got := w.call("", "POST", "/webhooks/pagerduty", "{}"); got.status != http.StatusUnauthorized {
		t.Errorf("small: %d %s", got.status, got.body)
	}
	<-w.api.webhooks.large
	for range 2 {
		if got := w.call("", "POST", "/webhooks/pagerduty", large); got.status != http.StatusUnauthorized {
			t.Errorf("with room: %d %s", got.status, got.body)
		}
	}
}

// A secret whose variable is not set is detected at the start.
func TestSecretsAreThere(t *testing.T) {
	t.Parallel()
	source := configuration.Source{Dir: write(t,
		"system: {http: {"+rootToken()+`, webhooks: {pagerduty: {signature: {secrets: ["{{.NOT_THERE}}"]}}}}}`),
		Env: func(string) (string, bool) { return "", false }, SkipCredentials: true}
	cfg, err := configuration.Load(source)
	if err != nil {
		t.Fatal(err)
	}
	opts := Options{Config: func() *configuration.Config { return cfg }, System: client.New(client.Options{})}
	_, err = New(t.Context(), opts)
	if err == nil || !strings.Contains(err.Error(), "webhooks.pagerduty.signature.secrets[0]: variables that are not set: NOT_THERE") {
		t.Error(err)
	}
	opts.WithoutHTTP = true // as in `starter mcp`
	if _, err := New(t.Context(), opts); err != nil {
		t.Error(err)
	}
}

// While Temporal is unavailable, the sender is asked to retry, and the retry is recognised as the same alert.
func TestTemporalIsAway(t *testing.T) {
	t.Parallel()
	w := hooked(t, "")
	w.temporal.away = true
	if got := w.call("", "POST", "/webhooks/alertmanager", firing("firing", 1, 1)); got.status != http.StatusServiceUnavailable {
		t.Errorf("%d %s", got.status, got.body)
	}
	w.temporal.away = false
	if got := read[system.Delivery](w, "", "POST", "/webhooks/alertmanager", firing("firing", 1, 1)); got.Known != 1 {
		t.Errorf("%+v", got)
	}
	// Only the first delivery stores the resolution. The second still wakes the intake.
	w.temporal.away = true
	if got := w.call("", "POST", "/webhooks/alertmanager", firing("resolved", 1, 1)); got.status != http.StatusServiceUnavailable {
		t.Errorf("%d %s", got.status, got.body)
	}
	w.temporal.away = false
	woken := w.temporal.wakes
	if got := read[system.Delivery](w, "", "POST", "/webhooks/alertmanager", firing("resolved", 1, 1)); got.Ignored != 1 ||
		w.temporal.wakes != woken+1 {
		t.Errorf("%+v, woken %d times", got, w.temporal.wakes-woken)
	}
}
