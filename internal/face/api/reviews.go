package api

import (
	"context"

	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
)

// reviews serves ratings, reviews and statistics.
type reviews struct{ base }

func (h reviews) routes(to *Server) {
	register(to, system.Rate, h.rate)
	register(to, system.Review, h.review)
	register(to, system.GetStats, h.stats)
}

func (h reviews) rate(ctx context.Context, in *system.RateIn) (*body[system.Rated], error) {
	o, err := h.owned(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	in.ID = o.ID
	out, err := h.opts.System.Rate(ctx, *in, sender(ctx))
	return reply(out), err
}

func (h reviews) review(ctx context.Context, in *system.ReviewIn) (*body[record.Review], error) {
	o, err := h.owned(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	in.ID = o.ID
	out, err := h.opts.System.Review(ctx, *in, sender(ctx))
	return reply(out), err
}

func (h reviews) stats(ctx context.Context, in *system.StatsIn) (*body[system.Stats], error) {
	projects, err := accessOf(ctx).within(in.Project)
	if err != nil {
		return nil, err
	}
	out, err := h.opts.System.Stats(ctx, in.By, record.Filter{Projects: projects, Chain: in.Chain, Since: in.Since})
	return reply(out), err
}
