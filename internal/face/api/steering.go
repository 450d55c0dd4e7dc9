package api

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/danielgtaylor/huma/v2"

	"github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/workflows"
)

// steering serves what people decide, answer and send.
type steering struct{ base }

func (h steering) routes(to *Server) {
	register(to, system.ListInbox, h.inbox)
	for _, signal := range system.Signals {
		switch op := signal.Operation(); signal.Body.(type) {
		case nil:
			add(to, op, func(ctx context.Context, in *system.ByID) (*body[system.Steered], error) {
				return h.steer(ctx, in.ID, signal.Name, workflows.By{By: accessOf(ctx).by()})
			})
		case system.GuideBody:
			add(to, op, sends[system.GuideBody](h, signal.Name))
		case system.Target:
			add(to, op, sends[system.Target](h, signal.Name))
		case system.SleepBody:
			add(to, op, sends[system.SleepBody](h, signal.Name))
		default:
			panic("signal " + signal.Name + " has a request of an unknown type")
		}
	}
	register(to, system.Cancel, h.cancel)
	register(to, system.Score, h.score)
	register(to, system.Decide, h.decide)
	register(to, system.Answer, h.answer)
	register(to, system.ExtendBudget, h.extend)
}

// sends makes the handler of a signal with a request.
func sends[T interface{ Payload(by string) any }](
	h steering, signal string,
) func(context.Context, *system.Steer[T]) (*body[system.Steered], error) {
	return func(ctx context.Context, in *system.Steer[T]) (*body[system.Steered], error) {
		return h.steer(ctx, in.ID, signal, in.Body.Payload(accessOf(ctx).by()))
	}
}

func (h steering) steer(ctx context.Context, id, signal string, in any) (*body[system.Steered], error) {
	o, err := h.owned(ctx, id)
	if err != nil {
		return nil, err
	}
	if g, ok := in.(workflows.Guide); ok && len(g.Text) > workflows.MaxGuide {
		return nil, huma.Error422UnprocessableEntity(fmt.Sprintf("the text has %d bytes; the maximum is %d", len(g.Text), workflows.MaxGuide))
	}
	st, err := h.opts.System.Steer(ctx, o.ID, signal, in)
	if err != nil {
		return nil, err
	}
	st.For = append([]string{}, st.For...) // not null in JSON
	return reply(st), nil
}

func (h steering) cancel(ctx context.Context, in *system.ByID) (*body[system.Named], error) {
	o, err := h.owned(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	who := accessOf(ctx)
	_, err = h.opts.System.CancelAs(ctx, o.ID, client.Identity{Name: who.name, Channel: who.channel})
	return reply(system.Named{ID: o.ID}), err
}

func (h steering) score(ctx context.Context, in *system.ByID) (*body[system.Named], error) {
	o, err := h.owned(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	_, err = h.opts.System.Score(ctx, o.ID, accessOf(ctx).name)
	return reply(system.Named{ID: o.ID}), err
}

func (h steering) decide(ctx context.Context, in *system.Steer[system.DecideBody]) (*body[system.Decided], error) {
	o, err := h.waits(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	b, who := in.Body, accessOf(ctx)
	d := workflows.Decide{
		CallID: b.CallID, Approved: b.Approved, Arguments: b.Arguments, Ask: b.Ask, HandTo: b.HandTo, Reason: b.Reason, Digest: b.Digest,
		By: who.name, Identity: who.checked(o.Project),
	}
	out, err := h.opts.System.Decide(ctx, o.ID, d)
	return reply(out), err
}

func (h steering) answer(ctx context.Context, in *system.Steer[system.AnswerBody]) (*body[record.Question], error) {
	o, err := h.owned(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	b := in.Body
	out, err := h.opts.System.Answer(ctx, o.ID, workflows.Answer{
		ID: b.ID, Text: b.Text, Approved: b.Approved, Decision: b.Decision, Data: b.Data, By: accessOf(ctx).by(),
	})
	return reply(out), err
}

func (h steering) extend(ctx context.Context, in *system.Steer[system.ExtendBody]) (*body[workflows.Budget], error) {
	o, err := h.owned(ctx, in.ID)
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
	out, err := h.opts.System.Extend(ctx, o.ID, e)
	return reply(out), err
}
