package slack_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/configuration"
	"github.com/inquest-dev/inquest/internal/face/slack"
	"github.com/inquest-dev/inquest/internal/face/slack/workspacetest"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/trust/evidence"
)

// world is a face with a workspace, a store, and a system that the test controls.
type world struct {
	*testing.T
	*workspacetest.Workspace
	store *store.Store
	opts  slack.Options
	face  *slack.Face
	stop  func()

	mu       sync.Mutex
	changed  chan struct{}
	started  map[string]system.StartIn // by investigation
	records  map[string]record.Update
	refusals []string
	pending  []record.Approval
	applied  map[string][]string // what was carried out, by idempotency key
}

const channel = "C0000000001"

func newWorld(t *testing.T) *world {
	st, err := store.Open(t.Context(), store.At(filepath.Join(t.TempDir(), "inquest.db")))
	if err != nil {
		t.Fatal(err)
	}
	w := &world{
		T: t, Workspace: workspacetest.New(t), store: st, changed: make(chan struct{}), started: map[string]system.StartIn{},
		records: map[string]record.Update{}, applied: map[string][]string{},
	}
	w.opts = slack.Options{
		Settings: config.Slack{
			Channels: map[string]config.SlackChannel{channel: {Project: "shop", Chain: "dig"}},
			Users: map[string]config.SlackUser{
				"U1":             {Name: "ada", Grant: config.Grant{Role: config.RoleApprover}},
				"U2@example.com": {Grant: config.Grant{Role: config.RoleViewer}},
			},
		},
		Secrets: configuration.SlackSecrets{Bot: "xoxb-1", App: "xapp-1", Signing: "s3"}, APIURL: w.GetAPIURL(),
		PageURL: "https://inquest.example.com/", Operations: w, System: w, Store: st,
		As: func(ctx context.Context, name string, user config.SlackUser) context.Context {
			return context.WithValue(ctx, whoKey{}, who{name, user.Role})
		},
		Explain: func(_ context.Context, _ string, err error) (string, int) {
			if errors.Is(err, errForbidden) {
				return err.Error(), http.StatusForbidden
			}
			return err.Error(), http.StatusConflict
		},
		Refused: func(_ context.Context, id, name, operation, why string) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.refusals = append(w.refusals, fmt.Sprintf("%s %s %s", id, name, operation))
			return nil
		},
		Mask: func(_ context.Context, text string) (string, error) {
			return strings.ReplaceAll(text, "hunter2", "***"), nil
		},
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
	}
	w.run()
	t.Cleanup(func() {
		w.stop()
		_ = st.Close()
	})
	return w
}

// run starts the face, as a new process would.
func (w *world) run() {
	ctx, cancel := context.WithCancel(w.Context())
	w.face = slack.New(w.opts)
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.face.Run(ctx)
	}()
	w.stop = func() {
		cancel()
		<-done
	}
}

type (
	whoKey struct{}
	who    struct{ name, role string }
)

var errForbidden = errors.New("this requires a higher role in the project shop")

// Call carries out an operation, once for its key.
func (w *world) Call(ctx context.Context, row system.Operation, in, out any) error {
	by, _ := ctx.Value(whoKey{}).(who)
	rank := map[string]int{config.RoleViewer: 1, config.RoleOperator: 2, config.RoleApprover: 3}
	if rank[by.role] < rank[row.Role] {
		return errForbidden
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if start, ok := in.(system.StartIn); ok {
		id := fmt.Sprintf("dig-%x:run", sha256.Sum256([]byte(start.Key)))
		if _, known := w.started[id]; !known {
			w.started[id] = start
			w.set(id, record.Update{Record: &record.Investigation{ID: id, WorkflowID: id, Status: agent.StatusRunning}})
		}
		reflect.ValueOf(out).Elem().Set(reflect.ValueOf(system.Started{ID: id, WorkflowID: id, Project: "shop"}))
		return nil
	}
	if _, ok := in.(system.InboxIn); ok {
		page := system.Page[system.Thing]{}
		for _, a := range w.pending {
			page.Items = append(page.Items, system.Thing{Name: a.Name(), Approval: &a})
		}
		reflect.ValueOf(out).Elem().Set(reflect.ValueOf(page))
		return nil
	}
	key := system.KeyOf(ctx)
	if key == "" {
		w.Errorf("%s has no key", row.Name)
	}
	if w.applied[key] == nil {
		text, _ := json.Marshal(in)
		w.applied[key] = []string{fmt.Sprintf("%s %s %s", by.name, row.Name, text)}
	}
	return nil
}

func (w *world) set(id string, u record.Update) {
	w.records[id] = u
	close(w.changed)
	w.changed = make(chan struct{})
}

// becomes changes the state of an investigation.
func (w *world) becomes(id string, status agent.Status, report string, waits record.Waits) {
	w.mu.Lock()
	defer w.mu.Unlock()
	stage := record.Stage{Name: "look", Status: status}
	r := record.Investigation{ID: id, WorkflowID: id, Chain: "dig", Status: status, Report: report}
	if status.Closed() {
		r.EndedAt = new(time.Now())
	}
	w.set(id, record.Update{Record: &r, Stages: []record.Stage{stage}, Waits: &waits})
}

func (w *world) Find(_ context.Context, id string) (system.Handle, error) {
	return system.Handle{Workflow: id, Open: true}, nil
}

func (w *world) Follow(ctx context.Context, h system.Handle, _ int64, fn func(system.Event) error) (system.Result, error) {
	for {
		w.mu.Lock()
		u, changed := w.records[h.Workflow], w.changed
		w.mu.Unlock()
		if err := fn(system.Event{Update: &u}); err != nil {
			return system.Result{}, err
		}
		if u.Record.Status.Closed() {
			return system.ResultOf(*u.Record), nil
		}
		select {
		case <-ctx.Done():
			return system.Result{}, ctx.Err()
		case <-changed:
		}
	}
}

func (w *world) Whole(_ context.Context, id string) (system.Record, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	u := w.records[id]
	return system.Record{Investigation: *u.Record, Stages: u.Stages}, nil
}

func (w *world) Evidence(context.Context, system.Record) (evidence.Evidence, error) {
	return evidence.Evidence{}, nil
}
func (w *world) Text(context.Context, *string, string) error { return nil }
func (w *world) Fate(context.Context, string, string) string { return "approved by ada" }
func (w *world) investigation(thread string) (id string, start system.StartIn) {
	w.Helper()
	w.Until("an investigation in "+thread, func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		for id, start = range w.started {
			if start.Body.Metadata["slack_thread"] == thread {
				return true
			}
		}
		return false
	})
	return id, start
}

// ours returns the messages of the app in a thread whose text contains a part.
func (w *world) ours(thread, part string) (all []workspacetest.Message) {
	for _, m := range w.Messages(thread) {
		text, _ := json.Marshal(m.Blocks)
		if m.User == workspacetest.Bot && m.Private == "" && strings.Contains(m.Text+string(text), part) {
			all = append(all, m)
		}
	}
	return all
}

// A mention starts an investigation with the thread above as its context. One message shows its status, and one its report.
func TestMention(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	root := w.Write(channel, "", "U9", "checkout is slow, my password is hunter2")
	w.Limit(1)
	w.Say(channel, root, "U1", "<@"+workspacetest.Bot+"> investigate the deploy of 14:02")
	id, start := w.investigation(root)
	if data := string(start.Body.Data); !strings.Contains(data, "the deploy of 14:02") || !strings.Contains(data, "[U9] checkout is slow") {
		t.Errorf("the request is %s", data)
	}
	if start.Body.Chain != "dig" || start.Body.Project != "shop" {
		t.Errorf("the request is %+v", start.Body)
	}
	w.Until("a status", func() bool { return len(w.ours(root, "running")) == 1 })
	w.LoseAnswer()
	const found = "# Root cause\n\nA **bad** deploy, see [the log](https://evil.example.com). <!channel>\n"
	w.becomes(id, agent.StatusCompleted, found, record.Waits{})
	w.Until("a report", func() bool { return len(w.ours(root, "bad")) > 0 })
	w.Until("the end", func() bool { open, err := w.store.ChatThreads(t.Context()); return err == nil && len(open) == 0 })
	reports, status := w.ours(root, "Open the investigation"), w.ours(root, "completed")
	if len(reports) != 2 || len(status) != 2 || status[0].Edits == 0 { // the status and the report have the link and the line
		t.Errorf("messages: %s", w.Dump())
	}
	last, _ := json.Marshal(reports[1])
	for _, want := range []string{"*bad* deploy", "the log (https://evil.example.com)", "#/" + url.PathEscape(id)} {
		if !strings.Contains(string(last), want) {
			t.Errorf("the report lacks %s: %s", want, last)
		}
	}
	if strings.Contains(string(last), "<!channel>") {
		t.Error("the report mentions the channel")
	}
}

// A slash command begins a thread, and a shortcut takes the message it is used on. Someone without the right is told so in private.
func TestCommandAndShortcut(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Send("slash_commands", map[string]any{
		"token": "gIkuvaNzQIHg97ATvDxqgjtO", "team_id": "T1", "channel_id": channel, "user_id": "U1", "command": "/inquest",
		"text": "why is checkout slow?", "response_url": "https://hooks.slack.com/commands/1234/5678", "trigger_id": "13345224609.738474920.8088",
	})
	w.Until("a root and a status", func() bool {
		roots := w.ours("", "why is checkout slow?")
		return len(roots) == 1 && len(w.ours(roots[0].Timestamp, "running")) == 1
	})
	alert := w.Write(channel, "", "U9", "[FIRING:1] HighLatency")
	shortcut := func(user, at string) {
		w.Send("interactive", map[string]any{
			"type": "message_action", "callback_id": "investigate", "action_ts": at, "trigger_id": "1.2", "token": "t",
			"user": map[string]string{"id": user}, "channel": map[string]string{"id": channel}, "team": map[string]string{"id": "T1"},
			"message": map[string]any{"type": "message", "user": "U9", "ts": alert, "text": "[FIRING:1] HighLatency"},
		})
	}
	shortcut("U2", "1.1")
	w.Until("a refusal", func() bool {
		for _, m := range w.Messages(alert) {
			if m.Private == "U2" && strings.Contains(m.Text, "higher role") {
				return true
			}
		}
		return false
	})
	shortcut("U1", "1.2")
	shortcut("U1", "1.2")
	if _, start := w.investigation(alert); !strings.Contains(string(start.Body.Data), "HighLatency") {
		t.Errorf("the request is %s", start.Body.Data)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.started) != 2 || len(w.refusals) != 1 || w.refusals[0] != " U2@example.com start-investigation" {
		t.Errorf("%d investigations, refused %q", len(w.started), w.refusals)
	}
}

// Requests over HTTP count only with a signature of the last five minutes.
func TestSignatures(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.stop()
	w.opts.Settings.Mode = config.SlackHTTP
	w.run()
	server := httptest.NewServer(w.face)
	defer server.Close()
	send := func(body, secret string, at time.Time) (int, string) {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+slack.Path, strings.NewReader(body))
		stamp := fmt.Sprint(at.Unix())
		mac := hmac.New(sha256.New, []byte(secret))
		fmt.Fprintf(mac, "v0:%s:%s", stamp, body)
		r.Header.Set("X-Slack-Request-Timestamp", stamp)
		r.Header.Set("X-Slack-Signature", fmt.Sprintf("v0=%x", mac.Sum(nil)))
		r.Header.Set("Content-Type", "application/json")
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, _ := io.ReadAll(answer.Body)
		return answer.StatusCode, string(text)
	}
	const hello = `{"token": "Jhj5dZrVaK7ZwHHjRyZWjbDl", "challenge": "3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P",
		"type": "url_verification"}`
	w.Until("the connection", func() bool {
		status, _ := send(hello, "s3", time.Now())
		return status != http.StatusServiceUnavailable
	})
	if status, text := send(hello, "s3", time.Now()); status != http.StatusOK || !strings.Contains(text, "3eZbrw1aBm2") {
		t.Errorf("the challenge is answered with %d %s", status, text)
	}
	body, _ := json.Marshal(workspacetest.MessageEvent(channel, "", "U1", "<@"+workspacetest.Bot+"> look", "1700000000.000100"))
	for name, refused := range map[string]struct {
		secret string
		at     time.Time
	}{
		"forged": {"other", time.Now()}, "replayed": {"s3", time.Now().Add(-6 * time.Minute)},
		"from the future": {"s3", time.Now().Add(6 * time.Minute)},
	} {
		if status, _ := send(string(body), refused.secret, refused.at); status != http.StatusUnauthorized {
			t.Errorf("%s: %d", name, status)
		}
	}
	for range 2 { // Slack sends it again if the answer was lost
		if status, text := send(string(body), "s3", time.Now()); status != http.StatusOK {
			t.Errorf("a signed event is answered with %d %s", status, text)
		}
	}
	w.investigation("1700000000.000100")
	if w.mu.Lock(); len(w.started) != 1 {
		t.Errorf("%d investigations", len(w.started))
	}
	w.mu.Unlock()
}

// Every report fits into a message: each document of the project, and texts that are hard to divide.
func TestLimits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	reports := []string{
		strings.Repeat("x", 40000), "```\n" + strings.Repeat("log line &<>\n", 3000), strings.Repeat("| a | b |\n", 2000),
		"é\n\n" + strings.Repeat("ü", 3000),
	}
	for _, folder := range []string{"how-to", "explanation", "reference"} {
		names, err := filepath.Glob("../../../docs/" + folder + "/*.md")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			reports = append(reports, string(text))
		}
	}
	for n, text := range reports {
		thread := w.Say(channel, "", "U1", fmt.Sprintf("<@%s> report %d", workspacetest.Bot, n))
		id, _ := w.investigation(thread)
		w.becomes(id, agent.StatusCompleted, text, record.Waits{})
	}
	w.Until("all reports", func() bool { open, err := w.store.ChatThreads(t.Context()); return err == nil && len(open) == 0 })
	files := 0
	for _, m := range w.Messages("") {
		files += len(m.Files)
		for _, f := range m.Files {
			if len(w.File(f.Name)) < 5000 {
				t.Errorf("the file %s has %d bytes", f.Name, len(w.File(f.Name)))
			}
		}
	}
	if files < 4 {
		t.Errorf("%d long reports were posted as files", files)
	}
}

// Processes that are killed at random post one status and one report for each investigation.
func TestKilled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var threads []string
	for n := range 6 {
		threads = append(threads, w.Say(channel, "", "U1", fmt.Sprintf("<@%s> case %d", workspacetest.Bot, n)))
	}
	for n, thread := range threads {
		id, _ := w.investigation(thread)
		w.LoseAnswer()
		w.becomes(id, agent.StatusRunning, "", record.Waits{Approvals: []record.Approval{call("c1", fmt.Sprintf(`{"case":%d}`, n))}})
		ask := fmt.Sprintf(`\"case\": %d`, n)
		w.Until("the call", func() bool { return len(w.ours(thread, ask)) > 0 })
		m := w.ours(thread, ask)[0]
		w.Press("U1", m, "approve")
		w.becomes(id, agent.StatusCompleted, fmt.Sprintf("The cause of case %d.", n), record.Waits{})
		select {
		case <-time.After(rand.N(50 * time.Millisecond)): // the moment of death is random
		case <-t.Context().Done():
		}
		w.stop()
		w.run()
	}
	w.Until("all reports", func() bool { open, err := w.store.ChatThreads(t.Context()); return err == nil && len(open) == 0 })
	for n, thread := range threads {
		w.Until("the decision", func() bool { return w.did("ada decide", fmt.Sprintf(`\"case\":%d}`, n)) })
		reports := w.ours(thread, fmt.Sprintf("cause of case %d", n))
		if all := w.ours(thread, ""); len(reports) != 1 || len(all) != 3 {
			t.Errorf("thread %d: %d reports among %d messages: %s", n, len(reports), len(all), w.Dump())
		}
	}
}
