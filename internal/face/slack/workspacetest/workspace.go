// Package workspacetest is a workspace of Slack for tests: slacktest with the messages, threads and WebSockets that it lacks.
package workspacetest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/slack-go/slack"
	"github.com/slack-go/slack/slacktest"
)

// Bot is the user ID of the app, and BotID its ID as an app.
const (
	Bot   = "W012A3CDE"
	BotID = "B012A3CDE" // in its own messages
)

// Message is a message in the workspace.
type Message struct {
	slack.Message
	Channel string
	Edits   int
	// Private is the only user who sees it; empty means everyone in the channel.
	Private string
}

// Workspace is a fake workspace.
type Workspace struct {
	*slacktest.Server
	t testing.TB

	mu       sync.Mutex
	changed  chan struct{}
	last     int64
	messages []Message
	views    []slack.ModalViewRequest
	files    map[string]string // content by name
	names    map[string]string // name of an upload
	sockets  []*socket
	acks     map[string]json.RawMessage
	limited  int  // requests to answer with 429
	lost     bool // the next message is posted, and its answer is lost
	away     bool // no request is answered
	stalls   bool // while it is away, it keeps connections open
	refused  int  // requests that have ended since it is away
}

type socket struct {
	*websocket.Conn
	write sync.Mutex
}

// New returns a workspace that runs until the test ends.
func New(t testing.TB) *Workspace {
	w := &Workspace{
		t: t, changed: make(chan struct{}), last: time.Now().Unix() * 1000, acks: map[string]json.RawMessage{}, files: map[string]string{},
		names: map[string]string{},
	}
	w.Server = slacktest.NewTestServer(func(c slacktest.Customize) {
		for path, serve := range map[string]func(*http.Request) any{
			"/auth.test":                    func(*http.Request) any { return ok{"user_id": Bot, "team_id": "T1", "bot_id": BotID} },
			"/chat.postMessage":             w.post,
			"/chat.postEphemeral":           w.post,
			"/chat.update":                  w.update,
			"/chat.delete":                  w.remove,
			"/conversations.replies":        w.list,
			"/conversations.history":        w.list,
			"/views.open":                   w.open,
			"/files.getUploadURLExternal":   w.upload,
			"/files.completeUploadExternal": w.complete,
			"/users.info":                   w.user,
		} {
			c.Handle(path, w.answer(path, serve))
		}
		c.Handle("/upload", func(rw http.ResponseWriter, r *http.Request) {
			file, _, err := r.FormFile("file")
			if err == nil {
				text, _ := io.ReadAll(file)
				w.mu.Lock()
				w.files[r.URL.Query().Get("name")] = string(text)
				w.mu.Unlock()
			}
		})
		c.Handle("/ws", slacktest.Websocket(w.serve))
	})
	w.Start()
	t.Cleanup(w.Stop)
	return w
}

type ok map[string]any

// Limit makes the workspace answer the next requests with 429.
func (w *Workspace) Limit(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.limited = n
}

// LoseAnswer makes the workspace post the next message and lose the answer.
func (w *Workspace) LoseAnswer() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lost = true
}

// Leave makes the workspace answer nothing until back is called. It closes the connection of each request, or stalls until the app does.
// Leave returns once three requests were in vain.
func (w *Workspace) Leave(stalls bool) (back func()) {
	w.mu.Lock()
	w.away, w.stalls, w.refused = true, stalls, 0
	for _, s := range w.sockets {
		_ = s.Close()
	}
	w.mu.Unlock()
	w.Until("requests in vain", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.refused >= 3
	})
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.away = false
	}
}

func (w *Workspace) answer(path string, serve func(*http.Request) any) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.away {
			if w.stalls {
				w.mu.Unlock()
				<-r.Context().Done()
				w.mu.Lock()
			}
			w.refused++
			close(w.changed)
			w.changed = make(chan struct{})
			panic(http.ErrAbortHandler)
		}
		if w.limited > 0 && path != "/auth.test" {
			w.limited--
			rw.Header().Set("Retry-After", "1")
			rw.WriteHeader(http.StatusTooManyRequests)
			return
		}
		out := serve(r)
		if fields, isOK := out.(ok); isOK {
			fields["ok"] = true
		}
		close(w.changed)
		w.changed = make(chan struct{})
		if w.lost && path == "/chat.postMessage" {
			w.lost = false
			panic(http.ErrAbortHandler)
		}
		_ = json.NewEncoder(rw).Encode(out)
	}
}

func (w *Workspace) next() string {
	w.last++
	return fmt.Sprintf("%d.%06d", w.last/1000, w.last%1000)
}

func failed(why string) map[string]any { return map[string]any{"ok": false, "error": why} }

func (w *Workspace) post(r *http.Request) any {
	m := Message{Channel: r.Form.Get("channel"), Private: r.Form.Get("user")}
	m.User, m.Text, m.ThreadTimestamp, m.Timestamp = Bot, r.Form.Get("text"), r.Form.Get("thread_ts"), w.next()
	if why := w.fill(&m, r); why != "" {
		return failed(why)
	}
	_ = json.Unmarshal([]byte(r.Form.Get("metadata")), &m.Metadata)
	w.messages = append(w.messages, m)
	return ok{"channel": m.Channel, "ts": m.Timestamp, "message_ts": m.Timestamp}
}

// fill sets the blocks and checks Slack's documented limits.
func (w *Workspace) fill(m *Message, r *http.Request) string {
	m.Blocks = slack.Blocks{}
	if text := r.Form.Get("blocks"); text != "" {
		if err := json.Unmarshal([]byte(text), &m.Blocks); err != nil {
			return "invalid_blocks_format"
		}
	}
	if err := CheckBlocks(m.Blocks.BlockSet); err != nil {
		w.t.Errorf("a message breaks Slack's limits: %v", err)
		return "invalid_blocks"
	}
	return ""
}

func (w *Workspace) update(r *http.Request) any {
	n := slices.IndexFunc(w.messages, func(m Message) bool { return m.Timestamp == r.Form.Get("ts") })
	if n < 0 {
		return failed("message_not_found")
	}
	m := &w.messages[n]
	if why := w.fill(m, r); why != "" {
		return failed(why)
	}
	m.Text = r.Form.Get("text")
	m.Edits++
	return ok{"channel": m.Channel, "ts": m.Timestamp, "text": m.Text}
}

func (w *Workspace) remove(r *http.Request) any {
	w.messages = slices.DeleteFunc(w.messages, func(m Message) bool { return m.Timestamp == r.Form.Get("ts") })
	return ok{"channel": r.Form.Get("channel"), "ts": r.Form.Get("ts")}
}

func (w *Workspace) list(r *http.Request) any {
	thread, all := r.Form.Get("ts"), []slack.Message{}
	for _, m := range w.messages {
		if m.Private == "" && m.Channel == r.Form.Get("channel") && (thread == "" || m.Timestamp == thread || m.ThreadTimestamp == thread) {
			all = append(all, m.Message)
		}
	}
	return ok{"messages": all}
}

func (w *Workspace) open(r *http.Request) any {
	var in struct{ View slack.ModalViewRequest }
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		return failed("invalid_arguments")
	}
	if err := checkView(in.View); err != nil {
		w.t.Errorf("a modal breaks Slack's limits: %v", err)
		return failed("invalid_arguments")
	}
	w.views = append(w.views, in.View)
	return ok{"view": map[string]string{"id": "V1"}}
}

func (w *Workspace) upload(r *http.Request) any {
	id := "F" + strconv.Itoa(len(w.names)+1)
	w.names[id] = r.Form.Get("filename")
	return ok{"upload_url": w.GetAPIURL() + "upload?name=" + r.Form.Get("filename"), "file_id": id}
}

func (w *Workspace) complete(r *http.Request) any {
	var files []slack.FileSummary
	if err := json.Unmarshal([]byte(r.Form.Get("files")), &files); err != nil || len(files) == 0 {
		return failed("invalid_arguments")
	}
	m := Message{Channel: cmp.Or(r.Form.Get("channel_id"), r.Form.Get("channels"))}
	m.User, m.ThreadTimestamp, m.Timestamp = Bot, r.Form.Get("thread_ts"), w.next()
	m.Files = []slack.File{{ID: files[0].ID, Name: w.names[files[0].ID]}}
	w.messages = append(w.messages, m)
	return ok{"files": files}
}

func (w *Workspace) user(r *http.Request) any {
	id := r.Form.Get("user")
	return ok{"user": map[string]any{"id": id, "team_id": "T1", "profile": map[string]string{"email": id + "@example.com"}}}
}

// serve is the other end of a WebSocket.
func (w *Workspace) serve(c *websocket.Conn) {
	s := &socket{Conn: c}
	w.mu.Lock()
	w.sockets = append(w.sockets, s)
	w.mu.Unlock()
	s.send(map[string]any{"type": "hello", "num_connections": 1})
	for {
		var ack struct {
			EnvelopeID string          `json:"envelope_id"`
			Payload    json.RawMessage `json:"payload"`
		}
		if err := c.ReadJSON(&ack); err != nil {
			w.mu.Lock()
			w.sockets = slices.DeleteFunc(w.sockets, func(other *socket) bool { return other == s })
			w.mu.Unlock()
			return
		}
		w.mu.Lock()
		w.acks[ack.EnvelopeID] = ack.Payload
		close(w.changed)
		w.changed = make(chan struct{})
		w.mu.Unlock()
	}
}

func (s *socket) send(what any) {
	s.write.Lock()
	defer s.write.Unlock()
	_ = s.WriteJSON(what) // a socket that is gone loses it, as at Slack
}

// patience limits the wait for the app's immediate reactions.
const patience = 6 * time.Minute

// Until waits for a condition.
func (w *Workspace) Until(what string, is func() bool) {
	w.t.Helper()
	deadline := time.After(patience)
	for {
		w.mu.Lock()
		changed := w.changed
		w.mu.Unlock()
		if is() {
			return
		}
		select {
		case <-changed:
		case <-time.After(100 * time.Millisecond): // a condition may be on the other side
		case <-deadline:
			w.t.Fatalf("waited in vain: %s; messages: %s", what, w.Dump())
		}
	}
}

// Dump describes all messages.
func (w *Workspace) Dump() (out string) {
	for _, m := range w.Messages("") {
		out += fmt.Sprintf("\n%s in %s for %q: %s", m.Timestamp, m.ThreadTimestamp, m.Private, m.Text)
	}
	return out
}

// Messages returns the messages of a thread; an empty thread means all.
func (w *Workspace) Messages(thread string) (all []Message) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range w.messages {
		if thread == "" || m.Timestamp == thread || m.ThreadTimestamp == thread {
			all = append(all, m)
		}
	}
	return all
}

// Views returns the modals that were opened.
func (w *Workspace) Views() []slack.ModalViewRequest {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.views)
}

// File returns the content of an uploaded file.
func (w *Workspace) File(name string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.files[name]
}

// Send delivers a payload over a WebSocket until the app acknowledges it, as Slack does, and returns the app's answer.
func (w *Workspace) Send(kind string, payload any) json.RawMessage {
	w.t.Helper()
	w.mu.Lock()
	id := "envelope-" + w.next()
	w.mu.Unlock()
	var sent *socket
	w.Until("the acknowledgement of "+kind, func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		if _, acked := w.acks[id]; acked {
			return true
		}
		if n := len(w.sockets); n > 0 && w.sockets[n-1] != sent {
			sent = w.sockets[n-1]
			sent.send(map[string]any{"type": kind, "envelope_id": id, "payload": payload, "accepts_response_payload": true})
		}
		return false
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.acks[id]
}
