package activities

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/inquest-dev/inquest/activities/internal/job"
	"github.com/inquest-dev/inquest/internal/knowledge/runbook"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// runbookTime limits all fetches for a plan. Selectors and the check of a request's tools take up to 50 s of the minute
// that the activity has.
const runbookTime = 8 * time.Second

// readRunbook replaces the URLs of a plan by the first text that can be fetched. If none can be, the plan's own text stays.
// Text from outside the configuration is masked, like the request's data.
func (a resolver) readRunbook(ctx context.Context, p *plan.Plan) error {
	urls := p.RunbookURLs
	p.RunbookURLs = nil
	if len(urls) > 0 && activity.GetInfo(ctx).IsLocalActivity {
		return job.Cannot(ctx, errors.New("a runbook must be fetched, which can take longer than a workflow task"))
	}
	within, cancel := context.WithTimeoutCause(ctx, runbookTime, errors.New("the time for fetching runbooks is over"))
	defer cancel()
	for _, u := range urls {
		text, err := a.fetchRunbook(within, *p, u.URL)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil {
			p.Runbook = text
			p.RunbookOrigin = plan.RunbookOrigin{Name: runbook.Shown(u.URL), Requested: u.Requested, Fetched: true}
			*p = p.Versioned()
			return nil
		}
		from := "the configuration"
		if u.Requested {
			from = "the request"
		}
		problem := fmt.Sprintf("The runbook %s, from %s, could not be used: %v.", runbook.Shown(u.URL), from, err)
		p.RunbookProblems = append(p.RunbookProblems, problem)
		a.Logger.Warn("a runbook could not be used", "chain", p.Chain, "url", runbook.Shown(u.URL), "given_by", from, "error", err)
	}
	if p.RunbookOrigin.Untrusted() == "" {
		return nil
	}
	text, err := a.MaskData(ctx, *p, "the request's runbook", p.Runbook)
	p.Runbook = text
	return err
}

// fetchRunbook returns the masked text at a URL. Text that cannot be masked is not used.
func (a resolver) fetchRunbook(ctx context.Context, p plan.Plan, url string) (string, error) {
	if a.Runbooks == nil {
		return "", errors.New("this worker is not set up to fetch runbooks")
	}
	text, err := a.Runbooks.Fetch(ctx, p.Project, url)
	if err != nil {
		return "", err
	}
	if text, err = a.MaskData(ctx, p, "the runbook", text); err != nil {
		a.Logger.Warn("a runbook cannot be masked", "url", runbook.Shown(url), "error", err)
		return "", errors.New("its secrets cannot be masked")
	}
	return text, nil
}

// noteRunbook tells people about runbooks that could not be used, in a notice of the investigation, which is written once.
func (a resolver) noteRunbook(ctx context.Context, investigation string, p plan.Plan) error {
	if len(p.RunbookProblems) == 0 {
		return nil
	}
	text := strings.Join(p.RunbookProblems, "\n") + "\nThe agents work without a runbook."
	if strings.TrimSpace(p.Runbook) != "" {
		text = strings.Join(p.RunbookProblems, "\n") + "\nThe agents use the runbook from " + p.RunbookOrigin.Name + " instead."
	}
	_, err := a.Transcripts.Append(ctx, transcript.Step{
		Scope:  transcript.Scope{Investigation: investigation},
		Writer: job.WriterOf(ctx),
		Rows:   []transcript.Row{{Kind: transcript.KindNotice, Body: transcript.Body{Text: text}}},
	})
	if err != nil {
		return fmt.Errorf("note the runbook of %s: %w", investigation, err)
	}
	return nil
}
