package api

import (
	"bytes"
	"compress/gzip"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/webhook"
)

// outsideCase is a folder with a configuration and bodies from public bug reports.
type outsideCase struct {
	*world
	folder string
	log    bytes.Buffer
}

func openOutside(t *testing.T, name string) *outsideCase {
	t.Helper()
	c := &outsideCase{folder: filepath.Join("testdata/outside", name)}
	file, err := os.ReadFile(filepath.Join(c.folder, "webhook.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	c.world = open(t, string(file)+"agents: {Memo: {}}\nagent_chains: {c: {stages: [{name: dig, agents: [{name: Memo}]}]}}\n")
	c.api.opts.Logger = slog.New(slog.NewTextHandler(&c.log, nil))
	return c
}

func (c *outsideCase) send(hook, body string) webhook.Counts {
	c.Helper()
	return read[system.Delivery](c.world, "", "POST", "/webhooks/"+hook, body).Counts
}

func (c *outsideCase) body(name string) string {
	c.Helper()
	body, err := os.ReadFile(filepath.Join(c.folder, name))
	if err != nil {
		c.Fatal(err)
	}
	return string(body)
}

// A time without a zone is UTC, although the sender's own zone is beside it. An alert whose time cannot be read is investigated without
// it, which the log, the list of alerts and the investigation say, and it can resolve.
func TestUnreadableStart(t *testing.T) {
	t.Parallel()
	c := openOutside(t, "46-unreadable-start")
	body := c.body("body.json")
	c.send("kuma", body)
	if rows := c.alerts(""); len(rows) != 1 || rows[0].StartsAt == nil ||
		rows[0].StartsAt.Format("2006-01-02 15:04:05.000") != "2026-11-28 07:00:00.123" || rows[0].Notes != nil || c.log.Len() > 0 {
		t.Errorf("%+v, %s", rows, c.log.String())
	}
	const token = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
	for at, why := range map[string]string{
		"yesterday": "cannot be read as a time", "2026-11-28 07:00:00 IST": "has several meanings", "password=" + token: "password=",
	} {
		c.log.Reset()
		unreadable := strings.NewReplacer("2026-11-28 07:00:00.123", at, `"id": 7`, `"id": "`+url.QueryEscape(at)+`"`).Replace(body)
		if got := c.send("kuma", unreadable); got != (webhook.Counts{New: 1}) {
			t.Errorf("%s: %+v", at, got)
		}
		row := c.alerts("")[0]
		if row.StartsAt != nil || len(row.Notes) != 1 || !strings.HasPrefix(row.Notes[0], "starts_at ") ||
			!strings.Contains(row.Notes[0], why) || !strings.Contains(c.log.String(), why) || strings.Contains(row.Notes[0]+c.log.String(), token) {
			t.Errorf("%s: %+v, %s", at, row, c.log.String())
		}
		if _, err := c.place(c.intake(webhook.DefaultLimits)); err != nil {
			t.Fatal(err)
		}
		if req := c.temporal.inputs[len(c.temporal.inputs)-1].(agent.Request); req.Metadata[agent.AlertNotes] != row.Notes[0] {
			t.Errorf("%s: the investigation has the metadata %q", at, req.Metadata)
		}
		if got := c.send("kuma", strings.Replace(unreadable, `"status": 0`, `"status": 1`, 1)); got != (webhook.Counts{Resolved: 1}) {
			t.Errorf("%s resolves: %+v", at, got)
		}
	}
}

// Labels at their largest, and a type that no chain can have, do not cost the alert.
func TestLargeLabels(t *testing.T) {
	t.Parallel()
	w := open(t, "system: {http: {webhooks: {x: {chain: shop, "+
		"mapping: {fingerprint: [f], alert_type: [t], group: [f], severity: [f], starts_at: [f], priority: [f]}}}}}\n"+oneChain)
	got := read[system.Delivery](w, "", "POST", "/webhooks/x", `{"f": "`+strings.Repeat("<", 200)+`", "t": "`+strings.Repeat("<", 5000)+`"}`)
	if rows := w.alerts(""); got.New != 1 || len(rows) != 1 || len(rows[0].Notes) != 2 {
		t.Errorf("%+v, %+v", got, rows)
	}
}

// A chain that does not exist is left out.
func TestUnknownChainOfAnAlert(t *testing.T) {
	t.Parallel()
	w := open(t, "system: {http: {webhooks: {x: {chain: shop, mapping: {fingerprint: [f], chain: [c]}}}}}\n"+oneChain)
	got := read[system.Delivery](w, "", "POST", "/webhooks/x", `{"f": "1", "c": "nosuch"}`)
	const note = `chain "nosuch" was left out: the project has no such chain`
	if rows := w.alerts(""); got.New != 1 || len(rows) != 1 || strings.Join(rows[0].Notes, "") != note {
		t.Errorf("%+v, %+v", got, rows)
	}
}

// Alerts whose fingerprint is a placeholder that the sender did not fill in are different alerts.
func TestPlaceholderAsFingerprint(t *testing.T) {
	t.Parallel()
	c := openOutside(t, "47-placeholder-as-fingerprint")
	for _, name := range []string{"first.json", "second.json"} {
		if got := c.send("zabbix", c.body(name)); got != (webhook.Counts{New: 1}) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := c.send("zabbix", c.body("first.json")); got != (webhook.Counts{Known: 1}) {
		t.Errorf("sent again: %+v", got)
	}
	const note = `fingerprint "{EVENT.ID}" was left out: it is a placeholder that the sender did not fill in`
	if rows := c.alerts(""); len(rows) != 2 || rows[0].Title != "Host web-9 unreachable" || strings.Join(rows[0].Notes, "") != note {
		t.Errorf("%+v", rows)
	}
}

// Bodies are read in their charset, decompressed, and as forms. An unreadable body is refused with a list of the accepted forms.
func TestBodiesOfSenders(t *testing.T) {
	t.Parallel()
	legacy, err := os.ReadFile("testdata/outside/49-declared-charset/body.json")
	if err != nil {
		t.Fatal(err)
	}
	zip := func(text string) string {
		var b bytes.Buffer
		to := gzip.NewWriter(&b)
		_, _ = to.Write([]byte(text))
		_ = to.Close()
		return b.String()
	}
	const form, title = "application/x-www-form-urlencoded", "Festplatte läuft über"
	const windows = "application/json; charset=windows-1252"
	plain := firing("firing", 1, 1)
	for name, test := range map[string]struct {
		contentType, encoding, body string
		status                      int
		want                        string // title, or part of the problem
	}{
		"windows-1252":         {windows, "", string(legacy), 202, title},
		"windows-1252 in gzip": {windows, "gzip", zip(string(legacy)), 202, title},
		"a form with JSON":     {form, "", "payload=" + url.QueryEscape(plain), 202, "h1 is slow"},
		"JSON sent by curl":    {form, "", plain, 202, "h1 is slow"},
		"no charset":           {"application/json", "", string(legacy), 202, "Festplatte l\ufffduft \ufffdber"},
		"brotli":               {"application/json", "br", "x", 415, "send JSON or a form"},
		"another charset":      {"application/json; charset=klingon", "", string(legacy), 415, "send JSON or a form"},
		"XML":                  {"text/xml", "", "<alert/>", 422, "send JSON or a form"},
		"half of a gzip":       {"application/json", "gzip", zip(plain)[:50], 422, "cannot be decompressed"},
		"a bomb":               {"application/json", "gzip", zip(strings.Repeat(" ", system.MaxData+1)), 413, "too large"},
	} {
		w := openOn(t, "system: {http: {webhooks: {alertmanager: {chain: shop}}}}\n"+oneChain, filepath.Join(t.TempDir(), "inquest.db"))
		got := w.call("", "POST", "/webhooks/alertmanager", test.body, "Content-Type", test.contentType, "Content-Encoding", test.encoding)
		rows := w.alerts("")
		if got.status != test.status || (got.status == http.StatusAccepted) != (len(rows) == 1) {
			t.Errorf("%s: %d %s, %+v", name, got.status, got.body, rows)
			continue
		}
		if len(rows) == 0 && !strings.Contains(got.body, test.want) || len(rows) == 1 && rows[0].Title != test.want {
			t.Errorf("%s: %s, %+v", name, got.body, rows)
		}
		if wantNote := name == "no charset"; len(rows) == 1 && (len(rows[0].Notes) == 1) != wantNote {
			t.Errorf("%s: notes %q", name, rows[0].Notes)
		}
	}
}

// The fields of a form are the parts of an alert, and a signature covers the bytes as they were sent.
func TestSignedForm(t *testing.T) {
	t.Setenv("HOOK_SECRET", "it is known to two")
	w := open(t, "system: {http: {"+rootToken()+`, webhooks: {forms: {chain: shop, mapping: {fingerprint: [id], title: [text]},
		signature: {scheme: github, secrets: ["{{.HOOK_SECRET}}"]}}}}}`+"\n"+oneChain)
	w.as = "root"
	var b bytes.Buffer
	to := gzip.NewWriter(&b)
	_, _ = to.Write([]byte("id=7&text=the+disk+is+full"))
	_ = to.Close()
	sum := func(text string) string {
		h := hmac.New(sha256.New, []byte("it is known to two"))
		h.Write([]byte(text))
		return "sha256=" + hex.EncodeToString(h.Sum(nil))
	}
	for signed, want := range map[string]int{b.String(): 202, "id=7&text=the+disk+is+full": 401} {
		if got := w.call("", "POST", "/webhooks/forms", b.String(), "Content-Type", "application/x-www-form-urlencoded",
			"Content-Encoding", "gzip", "X-Hub-Signature-256", sum(signed)); got.status != want {
			t.Errorf("%d %s, want %d", got.status, got.body, want)
		}
	}
	if rows := w.alerts(""); len(rows) != 1 || rows[0].Fingerprint != "7" || rows[0].Title != "the disk is full" {
		t.Errorf("%+v", rows)
	}
}
