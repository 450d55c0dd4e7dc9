package api

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/workflows"
)

func (s *Server) steering() {
	post := func(path, id, role, summary string) operation {
		return operation{method: http.MethodPost, path: one + path, id: id, summary: summary, role: role}
	}
	register(s, operation{
		method: http.MethodGet, path: base + "/inbox", id: "list-inbox", role: config.RoleViewer,
		summary: "List what waits for people: calls to approve, questions and reviews, the most urgent first",
	}, s.inbox)
	register(s, post("/guide", "guide", config.RoleOperator, "Put words before the agents' next model call"),
		steer(s, workflows.SignalGuide, func(b guideBody, by string) any {
			return workflows.Guide{Text: b.Text, Stage: b.Stage, Agent: b.Agent, By: by}
		}))
	register(s, post("/conclude", "conclude", config.RoleOperator, "Have it finish now, with what is known"),
		steer(s, workflows.SignalConclude, func(b Target, by string) any {
			return workflows.Conclude{Stage: b.Stage, Agent: b.Agent, By: by}
		}))
	register(s, post("/pause-heartbeats", "pause-heartbeats", config.RoleOperator, "Have agents with heartbeats sleep"),
		steer(s, workflows.SignalPauseHeartbeats, func(b sleepBody, by string) any {
			return workflows.PauseHeartbeats{Minutes: b.Minutes, Stage: b.Stage, Agent: b.Agent, By: by}
		}))
	register(s, post("/resume-heartbeats", "resume-heartbeats", config.RoleOperator, "Have agents that sleep go on"),
		steer(s, workflows.SignalResumeHeartbeats, func(b Target, by string) any {
			return workflows.Conclude{Stage: b.Stage, Agent: b.Agent, By: by}
		}))
	pause := post("/pause", "pause", config.RoleOperator, "Make no further model call until it is resumed")
	register(s, pause, plain(s, workflows.SignalPause))
	register(s, post("/resume", "resume", config.RoleOperator, "Go on"), plain(s, workflows.SignalResume))
	cancel := post("/cancel", "cancel", config.RoleOperator, "Stop it; what it has finished is kept")
	cancel.status = http.StatusAccepted
	register(s, cancel, s.cancel)
	score := post("/score", "score", config.RoleOperator, "Have it judged, when it has ended")
	score.status = http.StatusAccepted
	register(s, score, s.score)
	register(s, post("/decide", "decide", config.RoleApprover, "Approve or deny a tool call that waits"), s.decide)
	register(s, post("/answer", "answer", config.RoleApprover, "Answer a question"), s.answer)
	register(s, post("/extend-budget", "extend-budget", config.RoleApprover, "Raise its bounds"), s.extend)
}

// Target selects one stage or one agent. Without either it means everything that is running.
type Target struct {
	Stage string `json:"stage,omitempty" maxLength:"200"`
	Agent string `json:"agent,omitempty" maxLength:"200"`
}

type guideBody struct {
	Text string `json:"text" minLength:"1" doc:"the words"`
	Target
}

type sleepBody struct {
	Minutes *int `json:"minutes,omitempty" minimum:"1" maximum:"60"`
	Target
}

// steered is the outcome of a signal.
type steered struct {
	ID     string       `json:"id"`
	For    []string     `json:"for" doc:"the executions at work that it is for"`
	Signal bool         `json:"signal,omitempty" doc:"no worker answers now, and it waits for one"`
	Was    agent.Status `json:"was,omitempty"`
}

type steerIn[T any] struct {
	ByID
	Body T
}

// steer makes an operation that sends a signal; input builds the signal's payload.
func steer[T any](s *Server, signal string, input func(b T, by string) any) func(context.Context, *steerIn[T]) (*body[steered], error) {
	return func(ctx context.Context, in *steerIn[T]) (*body[steered], error) {
		return s.steer(ctx, in.ID, signal, input(in.Body, accessOf(ctx).name))
	}
}

// plain is steer for a signal that carries only its sender.
func plain(s *Server, signal string) func(context.Context, *ByID) (*body[steered], error) {
	return func(ctx context.Context, in *ByID) (*body[steered], error) {
		return s.steer(ctx, in.ID, signal, workflows.By{By: accessOf(ctx).name})
	}
}

func (s *Server) steer(ctx context.Context, id, signal string, in any) (*body[steered], error) {
	o, err := s.owned(ctx, id)
	if err != nil {
		return nil, err
	}
	if g, ok := in.(workflows.Guide); ok && len(g.Text) > workflows.MaxGuide {
		return nil, huma.Error422UnprocessableEntity("the text is too long")
	}
	st, err := s.opts.System.Steer(ctx, o.ID, signal, in)
	if err != nil {
		return nil, err
	}
	return &body[steered]{steered{st.ID(), append([]string{}, st.For...), st.Left, st.Was}}, nil
}

// named identifies an investigation.
type named struct {
	ID string `json:"id"`
}

func (s *Server) cancel(ctx context.Context, in *ByID) (*body[named], error) {
	o, err := s.owned(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	who := accessOf(ctx)
	_, err = s.opts.System.CancelAs(ctx, o.ID, client.Identity{Name: who.name, Channel: who.channel})
	return &body[named]{named{o.ID}}, err
}

func (s *Server) score(ctx context.Context, in *ByID) (*body[named], error) {
	o, err := s.owned(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	_, err = s.opts.System.Score(ctx, o.ID, accessOf(ctx).name)
	return &body[named]{named{o.ID}}, err
}

// decideBody is a decision on a tool call.
type decideBody struct {
	CallID   string `json:"call_id" maxLength:"1000" doc:"name of the call in the inbox"`
	Approved *bool  `json:"approved,omitempty" doc:"or one of ask and hand_to"`
	// For Arguments, Ask and HandTo see workflows.Decide.
	Arguments json.RawMessage `json:"arguments,omitempty" doc:"approved in the place of those that the agent has written"`
	Ask       string          `json:"ask,omitempty" maxLength:"10000" doc:"put to the agent in the place of the call, which is not made"`
	HandTo    string          `json:"hand_to,omitempty" maxLength:"200" doc:"a group, a role or @name who is to decide"`
	Reason    string          `json:"reason,omitempty" maxLength:"4000"`
	Digest    string          `json:"digest,omitempty" maxLength:"200" doc:"of the call that was seen: no other call is decided"`
}

func (s *Server) decide(ctx context.Context, in *steerIn[decideBody]) (*body[client.Decided], error) {
	o, err := s.waits(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	b, who := in.Body, accessOf(ctx)
	d := workflows.Decide{
		CallID: b.CallID, Approved: b.Approved, Arguments: b.Arguments, Ask: b.Ask, HandTo: b.HandTo, Reason: b.Reason, Digest: b.Digest,
		By: who.name, Identity: who.checked(o.Project),
	}
	out, err := s.opts.System.Decide(ctx, o.ID, d)
	return &body[client.Decided]{out}, err
}

// waits finds an investigation or a conversation that may be waiting for someone.
func (s *Server) waits(ctx context.Context, id string) (client.Owned, error) {
	o, err := s.owned(ctx, id)
	if isHidden(err) {
		if o, err = s.opts.System.ThreadOwner(ctx, id); err == nil {
			err = accessOf(ctx).of(o.Project)
		}
	}
	return o, err
}

// answerBody is an answer to a question.
type answerBody struct {
	ID       string          `json:"id,omitempty" maxLength:"1000" doc:"of the question; absent = the only one that waits"`
	Text     string          `json:"text,omitempty" maxLength:"100000"`
	Approved *bool           `json:"approved,omitempty"`
	Decision string          `json:"decision,omitempty" maxLength:"1000"`
	Data     json.RawMessage `json:"data,omitempty"`
}

func (s *Server) answer(ctx context.Context, in *steerIn[answerBody]) (*body[record.Question], error) {
	o, err := s.owned(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	b := in.Body
	out, err := s.opts.System.Answer(ctx, o.ID, workflows.Answer{
		ID: b.ID, Text: b.Text, Approved: b.Approved, Decision: b.Decision, Data: b.Data, By: accessOf(ctx).by(),
	})
	return &body[record.Question]{out}, err
}

// extendBody is the increase of the limits.
type extendBody struct {
	plan.Extension
	Duration string `json:"duration,omitempty" maxLength:"40" doc:"30m, 1h30m"`
}

func (s *Server) extend(ctx context.Context, in *steerIn[extendBody]) (*body[workflows.Budget], error) {
	o, err := s.owned(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	e := workflows.ExtendBudget{Extension: in.Body.Extension, By: accessOf(ctx).name}
	if in.Body.Duration != "" {
		text, _ := json.Marshal(in.Body.Duration)
		if err := e.Duration.UnmarshalJSON(text); err != nil {
			return nil, huma.Error422UnprocessableEntity("duration: " + err.Error())
		}
	}
	out, err := s.opts.System.Extend(ctx, o.ID, e)
	return &body[workflows.Budget]{out}, err
}
