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

	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/workflows"
)

// conversations serves conversations with agents.
type conversations struct{ base }

func (h conversations) routes(to *Server) {
	register(to, system.ListConversations, h.threads)
	register(to, system.GetConversation, h.thread)
	add(to, system.BeginConversation.Operation, h.begin)
	add(to, system.Say.Operation, h.say)
	register(to, system.GetConversationTranscript, h.said)
	register(to, system.ConcludeTurn, h.concludeTurn)
	register(to, system.CloseConversation, h.closeThread)
	register(to, system.FindTurns, h.find)
	add(to, system.ExportConversation.Operation, h.export)
	register(to, system.DeleteConversation, h.delete)
}

func (h conversations) threads(ctx context.Context, in *system.ThreadsIn) (*body[system.Page[system.Thread]], error) {
	who := accessOf(ctx)
	if in.Project != "" {
		if err := who.of(in.Project); err != nil {
			return nil, err
		}
	}
	if in.Closed {
		projects, err := who.within(in.Project)
		if err != nil {
			return nil, err
		}
		out, err := h.opts.System.ThreadPage(ctx, *in, projects)
		return reply(out), err
	}
	all, err := h.opts.System.Threads(ctx, in.Agent, 0)
	out := system.Page[system.Thread]{Items: []system.Thread{}}
	for _, t := range all {
		if t.Project == "" {
			t.Project = shown(record.Investigation{}).Project
		}
		if who.rank(t.Project) > 0 && (in.Project == "" || in.Project == t.Project) {
			out.Items = append(out.Items, t)
		}
	}
	return reply(out), err
}

func (h conversations) thread(ctx context.Context, in *system.ThreadIn) (*body[system.Talk], error) {
	o, err := h.ownedThread(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	out, err := h.opts.System.Talk(ctx, o.ID)
	return reply(out), err
}

// Wait is the query parameter for how long to wait for a reply.
type Wait struct {
	Wait orMinute `query:"wait" minimum:"0" maximum:"600" doc:"seconds to wait (default 60); then status 202: poll the transcript"`
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

// messageID derives the message ID from the sender, the thread, the key and the text: the same key with another text is another message.
// An empty string means any ID.
func messageID(k system.MessageKey, who, where, text string) string {
	if k.Key == "" {
		return ""
	}
	return fmt.Sprintf("said-%x", sha256.Sum256(fmt.Appendf(nil, "%q", []string{who, where, k.Key, text})))
}

type beginIn struct {
	Wait
	system.MessageKey
	Body system.BeginBody
}

type sayIn struct {
	system.ThreadIn
	Wait
	system.MessageKey
	Body system.SayBody
}

type sayOut struct {
	Status int
	Body   system.Spoken
}

func (h conversations) begin(ctx context.Context, in *beginIn) (*sayOut, error) {
	who, b := accessOf(ctx), in.Body
	project, err := who.owner(b.Project)
	if err != nil {
		return nil, err
	}
	if err := h.knownAgent(ctx, project, b.Agent); err != nil {
		if errors.Is(err, record.ErrNotFound) {
			err = huma.Error422UnprocessableEntity("no agent with that name: list-agents returns the names")
		}
		return nil, err
	}
	id := messageID(in.MessageKey, who.name, project, b.Text)
	part := strings.ToLower(rand.Text()[:16])
	if id != "" {
		part = strings.TrimPrefix(id, "said-")[:24]
	}
	return h.speak(ctx, in.Wait, system.Words{
		Thread: system.IDOf(b.Agent) + "-" + part, ID: id, Text: b.Text, By: who.name, Agent: b.Agent, Provider: b.Provider, Project: project,
	})
}

func (h conversations) say(ctx context.Context, in *sayIn) (*sayOut, error) {
	o, err := h.ownedThread(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	name, _ := workflows.WorkflowOf(o.ID)
	who := accessOf(ctx).name
	id := messageID(in.MessageKey, who, o.ID, in.Body.Text)
	return h.speak(ctx, in.Wait, system.Words{Thread: name, ID: id, Text: in.Body.Text, By: who})
}

// speak sends a message and waits a while for the reply.
func (h conversations) speak(ctx context.Context, w Wait, words system.Words) (*sayOut, error) {
	taken := make(chan struct{})
	waiting, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	out := &sayOut{Body: system.Spoken{Thread: words.Thread}}
	speaking, stop := context.WithCancel(ctx)
	defer stop()
	type said struct {
		reply workflows.Reply
		err   error
	}
	done := make(chan said, 1)
	go func() {
		reply, err := h.opts.System.Say(speaking, words, func(string) { close(taken) })
		done <- said{reply, err}
	}()
	select {
	case d := <-done:
		return h.answered(ctx, out, d.reply, d.err)
	case <-waiting.Done():
		return nil, system.ErrNotTaken
	case <-taken:
	}
	select {
	case d := <-done:
		return h.answered(ctx, out, d.reply, d.err)
	case <-time.After(w.Wait.duration()):
		out.Status = http.StatusAccepted
		return out, nil
	}
}

func (h conversations) answered(ctx context.Context, out *sayOut, reply workflows.Reply, err error) (*sayOut, error) {
	if err == nil {
		err = h.opts.System.Text(ctx, &reply.Text, reply.TextRef)
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

func (h conversations) said(ctx context.Context, in *system.ThreadTranscriptIn) (*body[system.Entries], error) {
	o, err := h.ownedThread(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return h.entriesOf(ctx, o.ID, in.PartIn)
}

func (h conversations) concludeTurn(ctx context.Context, in *system.ThreadIn) (*body[system.Named], error) {
	o, err := h.ownedThread(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	name, _ := workflows.WorkflowOf(o.ID)
	return reply(system.Named{ID: o.ID}), h.opts.System.Conclude(ctx, name, accessOf(ctx).name)
}

func (h conversations) closeThread(ctx context.Context, in *system.ThreadIn) (*body[system.Named], error) {
	o, err := h.ownedThread(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	name, _ := workflows.WorkflowOf(o.ID)
	return reply(system.Named{ID: o.ID}), h.opts.System.CloseThread(ctx, name)
}
