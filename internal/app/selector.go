package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/configuration"
	"github.com/inquest-dev/inquest/internal/hook"
	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/trust/mask"
)

const (
	// selectorTime is the timeout for all selectors of a plan. The activity has a minute, and asking servers for their tools may
	// take half of it.
	selectorTime = 20 * time.Second
	// maxSelectorError is the maximum length of a selector's error in messages, in bytes.
	maxSelectorError = 1000
)

// questions holds the questions to selectors for one plan, and their answers.
type questions struct {
	planner
	req     agent.Request // Chain and AlertType are those of the plan
	data    string
	answers map[question]string
	in      *hook.SelectorInput // input of all selectors; nil means that none has been called
	masker  *mask.Masker        // nil means that nothing is masked
	until   time.Time           // deadline of the selectors
	failed  error               // why none can be called
}

// question is a selector and the agent that it chooses a model for.
type question struct{ selector, agent string }

func (p planner) asking(req agent.Request, data string) *questions {
	return &questions{planner: p, req: req, data: data, answers: map[question]string{}}
}

// chosen makes a plan with the models that the program's functions choose. Once a selector was called, errors are masked, because
// they may contain its output.
func chosen[P any](ctx context.Context, q *questions, cfg *configuration.Config, plan func(*configuration.Config) (P, error)) (P, error) {
	out, err := plan(cfg.Choosing(func(selector, name string) (string, error) {
		return q.ask(ctx, cfg, question{selector, name})
	}))
	if q.failed != nil {
		return out, q.failed
	}
	if err != nil && q.in != nil {
		said, failed := q.masked(ctx, err.Error())
		err = cmp.Or(failed, errors.New(said))
	}
	return out, err
}

// ask calls a selector, unless it has answered the same question before.
func (q *questions) ask(ctx context.Context, cfg *configuration.Config, what question) (string, error) {
	if model, known := q.answers[what]; known {
		return model, nil
	}
	if q.in == nil {
		if q.failed = q.prepare(ctx, cfg); q.failed != nil {
			return "", q.failed
		}
	}
	within, cancel := context.WithDeadlineCause(ctx, q.until, fmt.Errorf("the selectors of a plan took more than %v in total", selectorTime))
	defer cancel()
	in := *q.in
	in.Agent, in.Metadata = what.agent, maps.Clone(in.Metadata)
	model, err := q.selectors[what.selector].Call(within, in, q.log)
	if within.Err() != nil {
		return "", context.Cause(within)
	}
	if err != nil {
		said, failed := q.masked(ctx, err.Error()) // before the cut, because part of a secret may not look like one
		return "", cmp.Or(failed, errors.New(clip.Bytes(said, maxSelectorError)))
	}
	q.answers[what] = model
	return model, nil
}

// prepare builds the selectors' input and starts their timeout.
func (q *questions) prepare(ctx context.Context, cfg *configuration.Config) (err error) {
	if activity.IsActivity(ctx) && activity.GetInfo(ctx).IsLocalActivity {
		return activities.ErrTakesLong
	}
	if err := q.req.CheckData(q.data, cfg.MaxData()); err != nil {
		return err
	}
	if q.masker, err = mask.Of(cfg.AlertMasking()); err != nil {
		return err
	}
	masked := func(text string) (string, error) { return q.masked(ctx, text) }
	labels, err := q.req.Labels.Masked(masked)
	text, failed := masked(q.data)
	if err = errors.Join(err, failed); err != nil {
		return err
	}
	q.in = &hook.SelectorInput{
		Chain: q.req.Chain, AlertType: q.req.AlertType, Project: cmp.Or(q.req.Project, agent.DefaultProject), Request: text,
		RequestedBy: q.req.By, Tenant: labels.Tenant, Session: labels.Session, Metadata: labels.Metadata,
	}
	q.until = time.Now().Add(selectorTime)
	return nil
}

// masked returns a text in a form that may be stored.
func (q *questions) masked(ctx context.Context, text string) (string, error) {
	if q.masker == nil {
		return text, nil
	}
	return q.masker.Text(ctx, text)
}
