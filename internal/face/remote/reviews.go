package remote

import (
	"context"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
)

// Rate rates an investigation. It ignores the identity, as Review does: the server takes it from the token.
func (l *learner) Rate(ctx context.Context, in system.RateIn, _ agent.Identity) (system.Rated, error) {
	return do(ctx, l, system.Rate, in)
}

// Review carries out an action on the review of an investigation.
func (l *learner) Review(ctx context.Context, in system.ReviewIn, _ agent.Identity) (record.Review, error) {
	return do(ctx, l, system.Review, in)
}

// Stats summarises ended investigations.
func (l *learner) Stats(ctx context.Context, by record.StatsKey, f record.Filter) (system.Stats, error) {
	if len(f.Projects) > 1 {
		return system.Stats{}, errProjects
	}
	return do(ctx, l, system.GetStats, system.StatsIn{By: by, Since: f.Since, Chain: f.Chain, Project: strings.Join(f.Projects, "")})
}
