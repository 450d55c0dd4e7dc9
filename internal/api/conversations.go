package api

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/workflows"
)

const (
	conversations = base + "/conversations"
	thread        = conversations + "/{id}"
)

func (s *Server) conversations() {
	list := operation{method: http.MethodGet, path: conversations, id: "list-conversations", role: config.RoleViewer,
		summary: "List the conversations that are open, newest first"}
	register(s, list, s.threads)
	register(s, operation{method: http.MethodGet, path: thread, id: "get-conversation", role: config.RoleViewer,
		summary: "Ask whether a conversation is open, and with whom"}, s.thread)
	begin := operation{method: http.MethodPost, path: conversations, id: "begin-conversation", role: config.RoleOperator, stream: true,
		summary: "Say something to an agent, and begin a conversation by it"}
	register(s, begin, s.begin)
	say := operation{method: http.MethodPost, path: thread + "/messages", id: "say", role: config.RoleOperator, stream: true,
		summary: "Say something in a conversation that is open"}
	register(s, say, s.say)
	register(s, operation{method: http.MethodGet, path: thread + "/transcript", id: "get-conversation-transcript", role: config.RoleViewer,
		summary: "Read what was said, in the order in which it was written"}, s.said)
	register(s, operation{method: http.MethodPost, path: thread + "/conclude", id: "conclude-turn", role: config.RoleOperator,
		summary: "Have the agent come to an end of its turn"}, s.concludeTurn)
	register(s, operation{method: http.MethodPost, path: thread + "/close", id: "close-conversation", role: config.RoleOperator,
		summary: "End a conversation, after the running turn"}, s.closeThread)
}

type ThreadIn struct {
	ID string `path:"id" maxLength:"1000" doc:"the thread"`
}

// ownedThread finds a conversation that the request is allowed to use.
func (s *Server) ownedThread(ctx context.Context, id string) (client.Owned, error) {
	o, err := s.opts.System.ThreadOwner(ctx, id)
	if err == nil {
		err = accessOf(ctx).of(o.Project)
	}
	return o, err
}

type threadsIn struct {
	Project string `query:"project" doc:"only this one; absent = all that the token sees"`
	Agent   string `query:"agent" maxLength:"200" doc:"only those with this agent"`
}

func (s *Server) threads(ctx context.Context, in *threadsIn) (*body[page[client.Thread]], error) {
	who := accessOf(ctx)
	if in.Project != "" {
		if err := who.of(in.Project); err != nil {
			return nil, err
		}
	}
	all, err := s.opts.System.Threads(ctx, in.Agent, 0)
	out := page[client.Thread]{Items: []client.Thread{}}
	for _, t := range all {
		if t.Project == "" {
			t.Project = shown(record.Investigation{}).Project
		}
		if who.rank(t.Project) > 0 && (in.Project == "" || in.Project == t.Project) {
			out.Items = append(out.Items, t)
		}
	}
	return &body[page[client.Thread]]{out}, err
}

// talk is a conversation.
type talk struct {
	ID      string `json:"id"`
	Thread  string `json:"thread"`
	Agent   string `json:"agent,omitempty"`
	Project string `json:"project"`
	Open    bool   `json:"open" doc:"it can be gone on with"`
}

func (s *Server) thread(ctx context.Context, in *ThreadIn) (*body[talk], error) {
	o, err := s.ownedThread(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	name, _ := workflows.WorkflowOf(o.ID)
	h, agent, err := s.opts.System.FindThread(ctx, name)
	return &body[talk]{talk{ID: h.ID(), Thread: name, Agent: agent, Project: o.Project, Open: h.Running()}}, err
}

// Wait is the query parameter for how long to wait for a reply.
type Wait struct {
	Wait orMinute `query:"wait" minimum:"0" maximum:"600" doc:"seconds that the reply is waited for; after that, 202: it is in the transcript"`
}

// orMinute is a number of seconds, 60 if absent. A default in huma would replace an explicit 0 as well.
type orMinute struct {
	Seconds int
	said    bool
}

// Schema returns the schema of the number.
func (orMinute) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeInteger, Format: "int64", Default: 60}
}

// Receiver returns the field that the number is decoded into.
func (s *orMinute) Receiver() reflect.Value { return reflect.ValueOf(&s.Seconds).Elem() }

// OnParamSet records that the parameter was given.
func (s *orMinute) OnParamSet(bool, any) { s.said = true }

func (s *orMinute) duration() time.Duration {
	if !s.said {
		return time.Minute
	}
	return time.Duration(s.Seconds) * time.Second
}

// MessageKey is the idempotency key of a message.
type MessageKey struct {
	Key string `header:"Idempotency-Key" maxLength:"255" doc:"the same key and text are the same message, said once: its reply is waited for"`
}

// id derives the message ID from the sender, the thread, the key and the text: the same key with another text is another message. Empty
// means any ID.
func (k MessageKey) id(who, where, text string) string {
	if k.Key == "" {
		return ""
	}
	return fmt.Sprintf("said-%x", sha256.Sum256(fmt.Appendf(nil, "%q", []string{who, where, k.Key, text})))
}

type beginIn struct {
	Wait
	MessageKey
	Body beginBody
}

type beginBody struct {
	Project  string `json:"project,omitempty" maxLength:"63" doc:"whose it is; absent = default, or the only one of the token"`
	Agent    string `json:"agent" minLength:"1" maxLength:"200" doc:"name of the agent's definition"`
	Provider string `json:"provider,omitempty" maxLength:"500" doc:"in the place of its model"`
	Text     string `json:"text" minLength:"1" maxLength:"100000"`
}

type sayIn struct {
	ThreadIn
	Wait
	MessageKey
	Body sayBody
}

type sayBody struct {
	Text string `json:"text" minLength:"1" maxLength:"100000"`
}

// spoken is the outcome of sending a message.
type spoken struct {
	Thread string           `json:"thread"`
	Reply  *workflows.Reply `json:"reply,omitempty" doc:"absent = it is still being written"`
}

type sayOut struct {
	Status int
	Body   spoken
}

func (s *Server) begin(ctx context.Context, in *beginIn) (*sayOut, error) {
	who, b := accessOf(ctx), in.Body
	project, err := who.owner(b.Project)
	if err != nil {
		return nil, err
	}
	if err := s.knownAgent(ctx, project, b.Agent); err != nil {
		if errors.Is(err, record.ErrNotFound) {
			err = huma.Error422UnprocessableEntity("there is no such agent")
		}
		return nil, err
	}
	id := in.id(who.name, project, b.Text)
	part := strings.ToLower(rand.Text()[:16])
	if id != "" {
		part = strings.TrimPrefix(id, "said-")[:24]
	}
	return s.speak(ctx, in.Wait, client.Words{
		Thread: client.IDOf(b.Agent) + "-" + part, ID: id, Text: b.Text, By: who.name, Agent: b.Agent, Provider: b.Provider, Project: project,
	})
}

func (s *Server) say(ctx context.Context, in *sayIn) (*sayOut, error) {
	o, err := s.ownedThread(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	name, _ := workflows.WorkflowOf(o.ID)
	who := accessOf(ctx).name
	return s.speak(ctx, in.Wait, client.Words{Thread: name, ID: in.id(who, o.ID, in.Body.Text), Text: in.Body.Text, By: who})
}

// speak sends a message and waits a while for the reply.
func (s *Server) speak(ctx context.Context, w Wait, words client.Words) (*sayOut, error) {
	taken := make(chan struct{})
	waiting, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	out := &sayOut{Body: spoken{Thread: words.Thread}}
	speaking, stop := context.WithCancel(ctx)
	defer stop()
	type said struct {
		reply workflows.Reply
		err   error
	}
	done := make(chan said, 1)
	go func() {
		reply, err := s.opts.System.Say(speaking, words, func(string) { close(taken) })
		done <- said{reply, err}
	}()
	select {
	case d := <-done:
		return s.answered(ctx, out, d.reply, d.err)
	case <-waiting.Done():
		return nil, client.ErrNotTaken
	case <-taken:
	}
	select {
	case d := <-done:
		return s.answered(ctx, out, d.reply, d.err)
	case <-time.After(w.Wait.duration()):
		out.Status = http.StatusAccepted
		return out, nil
	}
}

func (s *Server) answered(ctx context.Context, out *sayOut, reply workflows.Reply, err error) (*sayOut, error) {
	if err == nil {
		err = s.opts.System.Text(ctx, &reply.Text, reply.TextRef)
	}
	if refused, ok := errors.AsType[interface {
		error
		Message() string
	}](err); ok {
		return nil, huma.Error409Conflict(refused.Message())
	}
	out.Status, out.Body.Reply = http.StatusOK, &reply
	return out, err
}

type saidIn struct {
	ThreadIn
	PartIn
}

func (s *Server) said(ctx context.Context, in *saidIn) (*body[entries], error) {
	o, err := s.ownedThread(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return s.entriesOf(ctx, o.ID, in.PartIn)
}

func (s *Server) concludeTurn(ctx context.Context, in *ThreadIn) (*body[named], error) {
	o, err := s.ownedThread(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	name, _ := workflows.WorkflowOf(o.ID)
	return &body[named]{named{o.ID}}, s.opts.System.Conclude(ctx, name, accessOf(ctx).name)
}

func (s *Server) closeThread(ctx context.Context, in *ThreadIn) (*body[named], error) {
	o, err := s.ownedThread(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	name, _ := workflows.WorkflowOf(o.ID)
	return &body[named]{named{o.ID}}, s.opts.System.CloseThread(ctx, name)
}
