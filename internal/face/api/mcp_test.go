package api

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/configuration"
	"github.com/inquest-dev/inquest/internal/face/mcpserver"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
)

// The results of tools, as their clients read them.
type (
	standingOut struct {
		mcpserver.Outline
		Known  bool
		Report string
		Waits  []system.Thing `json:"waits_for_people"`
		Next   string
		Notice string
	}
	transcriptOut struct {
		Entries []struct {
			Text  string
			Bytes int
		}
		Next int64
	}
	listOut struct {
		Items  []mcpserver.Outline
		Notice string
	}
)

// maxEntry is how many bytes of an entry the tool for transcripts returns.
const maxEntry = 1500

// bearer adds a role's token to requests.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if b != "" {
		r.Header.Set("Authorization", "Bearer "+secret(string(b)))
	}
	return http.DefaultTransport.RoundTrip(r)
}

// dial connects the SDK's client to /mcp with a role's token.
func (w *world) dial(token string, opts *mcp.ClientOptions) (*mcp.ClientSession, error) {
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, opts)
	ctx, cancel := context.WithTimeout(w.Context(), 2*time.Minute)
	defer cancel()
	return c.Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint: w.url + mcpserver.Path, HTTPClient: &http.Client{Transport: bearer(token)}, MaxRetries: -1,
	}, nil)
}

func (w *world) mcp(token string, opts *mcp.ClientOptions) *mcp.ClientSession {
	w.Helper()
	session, err := w.dial(token, opts)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = session.Close() })
	return session
}

// use calls a tool and decodes its result. A failed call returns an error with the tool's text.
func use[T any](t *testing.T, session *mcp.ClientSession, name string, in any) (out T, err error) {
	t.Helper()
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: in})
	if err != nil {
		return out, err
	}
	if result.IsError {
		return out, fmt.Errorf("%s", result.Content[0].(*mcp.TextContent).Text)
	}
	text, err := json.Marshal(result.StructuredContent)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	return out, err
}

// deciding is a world with a value of system.http.mcp.decide.
func deciding(t *testing.T, decide string) *world {
	return open(t, strings.Replace(whoMay(), "http: {", "http: {mcp: {decide: "+decide+"}, ", 1)+
		"agents: {Memo: {}}\nagent_chains: {shop: {projects: [payments], stages: [{name: dig, agents: [{name: Memo}]}]}}\n")
}

// toolArguments are calls that work in the world of TestMCPRoles.
var toolArguments = map[string]any{
	"list_chains":          map[string]any{},
	"start_investigation":  map[string]any{"chain": "shop", "data": "it is slow"},
	"get_investigation":    map[string]any{"id": "ours"},
	"list_investigations":  map[string]any{},
	"get_transcript":       map[string]any{"id": "ours"},
	"get_evidence":         map[string]any{"id": "ours"},
	"list_inbox":           map[string]any{},
	"list_learnings":       map[string]any{},
	"rate_investigation":   map[string]any{"id": "ours", "rating": "accurate"},
	"review_investigation": map[string]any{"id": "ours", "action": "claim"},
	"steer_investigation":  map[string]any{"id": "ours", "action": "pause"},
	"answer_question":      map[string]any{"id": "ours", "question": "q1", "text": "yes"},
	"decide_call":          map[string]any{"id": "ours", "call": "c", "digest": "0123456789ab"},
}

// Each role sees the tools that it may use and cannot call others. Things that belong to another project are hidden.
func TestMCPRoles(t *testing.T) {
	t.Parallel()
	w := deciding(t, "ask")
	w.investigation("ours", "payments")
	roles := map[string]string{"start_investigation": "operator", "steer_investigation": "operator",
		"rate_investigation": "operator", "review_investigation": "operator", "answer_question": "approver",
		"decide_call": "approver"}
	for _, token := range []string{"", "nobody"} {
		if _, err := w.dial(token, nil); err == nil || !strings.Contains(err.Error(), "Unauthorized") {
			t.Errorf("with the token %q: %v", token, err)
		}
	}
	for _, token := range []string{"viewer", "operator", "approver", "admin", "stranger"} {
		session := w.mcp(token, nil)
		listed, err := session.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, one := range listed.Tools {
			names = append(names, one.Name)
		}
		for name, in := range toolArguments {
			role := roles[name]
			may := role == "" || token == "stranger" || rank[token] >= rank[role]
			if slices.Contains(names, name) != may {
				t.Errorf("%s is listed for %s: %v", name, token, !may)
			}
			out, err := use[json.RawMessage](t, session, name, in)
			text := string(out) + fmt.Sprint(err)
			if may == strings.Contains(text, "unknown tool") {
				t.Errorf("%s as %s: %s", name, token, text)
			}
			if token == "stranger" && (strings.Contains(text, "payments") || strings.Contains(text, "found it")) {
				t.Errorf("a stranger is told by %s: %s", name, text)
			}
			if strings.Contains(text, "the log says why") || strings.Contains(text, "validating") {
				t.Errorf("%s as %s: %s", name, token, text)
			}
		}
		if len(names) > len(toolArguments) {
			t.Errorf("tools that are not tested: %v", names)
		}
	}
}

// The author is the authenticated sender, and results say that they are not instructions.
func TestMCPTools(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.investigation("ours", "payments")
	long := strings.Repeat("ä", maxEntry)
	w.say(id, 2, long)
	session := w.mcp("operator", nil)
	got, err := use[standingOut](t, session, "get_investigation", map[string]any{"id": "ours", "wait": 1})
	if err != nil || got.ID != id || got.Status != agent.StatusCompleted || got.Report != "it is the pool of payments" || got.Notice == "" {
		t.Errorf("%+v, %v", got, err)
	}
	page, err := use[transcriptOut](t, session, "get_transcript", map[string]any{"id": id, "limit": 1})
	if err != nil || len(page.Entries) != 1 || page.Entries[0].Text != "found it" || page.Next != 1 {
		t.Errorf("%+v, %v", page, err)
	}
	page, err = use[transcriptOut](t, session, "get_transcript", map[string]any{"id": id, "after": 1})
	if err != nil || len(page.Entries) != 1 || page.Entries[0].Bytes != len(long) || len(page.Entries[0].Text) > maxEntry+3 {
		t.Errorf("%+v, %v", page, err)
	}
	page, err = use[transcriptOut](t, session, "get_transcript", map[string]any{"id": id, "entry": 2, "offset": 1})
	if err != nil || page.Entries[0].Text != long[2:] {
		t.Errorf("%+v, %v", page, err)
	}
	started, err := use[standingOut](t, session, "start_investigation", map[string]any{"chain": "shop", "data": "slow", "key": "k"})
	if err != nil || started.Status != agent.StatusRunning || started.Next == "" {
		t.Errorf("%+v, %v", started, err)
	}
	second, err := use[standingOut](t, session, "start_investigation", map[string]any{"chain": "shop", "data": "slow", "key": "k"})
	if err != nil || second.ID != started.ID || !second.Known {
		t.Errorf("%+v, %v", second, err)
	}
	if req := w.temporal.inputs[0].(agent.Request); req.By != "operator (mcp)" || req.Project != "payments" || req.DataText() != "slow" {
		t.Errorf("started %+v", req)
	}
	list, err := use[listOut](t, session, "list_investigations", map[string]any{"limit": 1})
	if err != nil || len(list.Items) != 1 || list.Notice == "" {
		t.Errorf("%+v, %v", list, err)
	}
	for _, in := range []map[string]any{
		{"id": "ours", "action": "explode"}, {"id": "ours", "action": "guide"}, {"id": "ours"}, {"id": "none", "action": "pause"},
		{"id": "ours", "action": "pause"}, {"id": "ours", "action": "pause", "by": "the boss"},
	} {
		if out, err := use[system.Steered](t, session, "steer_investigation", in); err == nil {
			t.Errorf("%v: %+v", in, out)
		}
	}
	for _, address := range []string{"inquest://investigations/ours/report", "inquest://investigations/" + id + "/transcript"} {
		read, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: address})
		if err != nil ||
			!strings.Contains(read.Contents[0].Text, map[bool]string{true: "pool", false: "found it"}[strings.HasSuffix(address, "report")]) {
			t.Errorf("%s: %+v, %v", address, read, err)
		}
		if read.CacheScope != "private" {
			t.Errorf("%s: caches that several people share may keep it: %q", address, read.CacheScope)
		}
	}
	if _, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "inquest://investigations/none/report"}); err == nil {
		t.Error("a report of nothing is read")
	}
}

// The inbox comes in pages, most urgent first and paused items last, even when long arguments fill a page.
func TestMCPInboxPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	soon := time.Now().Add(time.Hour)
	var want []string
	for n, expires := range []time.Time{soon, soon, soon.Add(time.Minute), {}, {}} {
		name := fmt.Sprintf("i%d", n)
		id := w.running(name, "payments")
		waits := record.Waits{Approvals: []record.Approval{{CallID: "1", Execution: "dig/Memo",
			Arguments: strings.Repeat("x", 10<<10), Expires: expires}}}
		err := w.store.SetWaiting(t.Context(), record.Waiting{
			Investigation: id, WorkflowID: name, RunID: "r", Seq: 2, Status: agent.StatusWaitingApproval, Waits: waits,
		})
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, id)
	}
	session := w.mcp("viewer", nil)
	for limit, sizes := range map[int]string{1: "1 1 1 1 1 ", 20: "2 2 1 "} {
		var seen []string
		pages := ""
		for cursor := ""; ; {
			out, err := use[system.Page[system.Thing]](t, session, "list_inbox", map[string]any{"limit": limit, "cursor": cursor})
			if err != nil {
				t.Fatal(err)
			}
			pages += fmt.Sprint(len(out.Items), " ")
			for _, one := range out.Items {
				seen = append(seen, one.Investigation)
			}
			if cursor = out.Next; cursor == "" {
				break
			}
		}
		if !slices.Equal(seen, want) || pages != sizes {
			t.Errorf("%d at once: pages of %s: %v", limit, pages, seen)
		}
	}
	if got := w.call("viewer", "GET", "/api/v1/inbox?cursor=!", nil); got.status != http.StatusUnprocessableEntity {
		t.Errorf("a cursor that is none: %d %s", got.status, got.body)
	}
}

// A server without HTTP has no secrets of senders and needs none.
func TestLocalNeedsNoSecrets(t *testing.T) {
	t.Parallel()
	file := `{system: {http: {tokens: {t: {sha256: ` + strings.Repeat("0", 64) +
		`, role: viewer, projects: [p]}}, webhooks: {shop: {format: alertmanager,
  chain: dig, signature: {secrets: ["{{.HOOK_ABSENT}}"], header: X-Signature}}}}},
agents: {Memo: {}}, agent_chains: {dig: {stages: [{name: dig, agents: [{name: Memo}]}]}}}`
	unset := func(string) (string, bool) { return "", false }
	cfg, err := configuration.Load(configuration.Source{Dir: write(t, file), Env: unset, SkipCredentials: true})
	if err != nil {
		t.Fatal(err)
	}
	opts := Options{Config: func() *configuration.Config { return cfg }, Logger: slog.New(slog.DiscardHandler)}
	if _, err := New(t.Context(), opts); err == nil {
		t.Error("it is served without the secret")
	}
	opts.WithoutHTTP = true
	if _, err := New(t.Context(), opts); err != nil {
		t.Error(err)
	}
}
