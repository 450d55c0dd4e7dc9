package activities

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/inquest-dev/inquest/activities/internal/job"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
)

// The search attributes of an investigation. All are of type Keyword except the score.
const (
	AttributeChain     = "InquestChain"
	AttributeStage     = "InquestStage"
	AttributeStatus    = "InquestStatus"
	AttributeAlertType = "InquestAlertType"
	// AttributeScore is an integer. It is set on the workflow that judged the investigation, because the investigation has
	// ended by then.
	AttributeScore = "InquestScore"
)

// maxSkeleton limits the plan's skeleton, in bytes of JSON.
const maxSkeleton = 48 << 10

// Resolve parses the request strictly and turns it into a plan. The investigation runs by that plan, even if the
// configuration changes, and a repeated attempt returns the same plan. A bad request yields one error that lists
// everything wrong with it, and it gets a record as well.
func (a *Activities) Resolve(ctx context.Context, in ResolveIn) (ResolveOut, error) {
	ctx, stop := a.worker().Attend(ctx)
	defer stop()
	run := activity.GetInfo(ctx).WorkflowExecution
	r := record.Investigation{
		ID: in.Investigation, WorkflowID: run.ID, RunID: in.RunID, Status: agent.StatusRunning, StartedAt: a.worker().Now(ctx), Writer: run.RunID,
	}
	out, err := resolver{a.worker()}.resolve(ctx, &r)
	if refusal, ok := errors.AsType[*temporal.ApplicationError](err); ok && refusal.NonRetryable() {
		resolver{a.worker()}.keepRefusal(ctx, r, refusal.Message())
		known := ResolveOut{SearchAttributes: a.SearchAttributes, Skeleton: plan.Skeleton{Chain: r.Chain, AlertType: r.AlertType}}
		options := temporal.ApplicationErrorOptions{NonRetryable: true, Category: refusal.Category(), Details: []any{known}}
		err = temporal.NewApplicationErrorWithOptions(refusal.Message(), refusal.Type(), options)
	}
	return out, job.StoreFailure(job.Ended(ctx, err))
}

// resolver turns requests into plans.
type resolver struct{ *job.Worker }

// keepRefusal records an investigation that never began. If that fails, the investigation is only in Temporal's list,
// which is no reason to retry.
func (a resolver) keepRefusal(ctx context.Context, r record.Investigation, why string) {
	r.Status, r.Error, r.EndedAt = agent.StatusRefused, why, &r.StartedAt
	if s := r.Envelope.Schedule; s != nil && s.Check {
		c := unknown(why).After(r.Envelope.Before)
		r.Envelope.Check, r.Envelope.Summary = &c, strings.Join(c.Lines(), "\n")
	}
	if err := a.Records.FinishInvestigation(ctx, r); err != nil {
		a.Logger.Warn("a refused request was not recorded", "investigation", r.ID, "error", err)
	}
	job.Count(ctx, job.MetricEnded, "status", string(r.Status))
}

func (a resolver) resolve(ctx context.Context, r *record.Investigation) (ResolveOut, error) {
	stored, err := a.Records.Investigation(ctx, r.ID)
	switch {
	case errors.Is(err, record.ErrNotFound):
	case err != nil:
		return ResolveOut{}, err
	case stored.Writer == r.Writer && stored.PlanHash != "":
		return a.resolved(ctx, stored)
	case stored.Writer != r.Writer: // from a run that was reset, whose stages belong to no run now
		if err := a.Runs.CancelChildren(ctx, r.WorkflowID, r.Writer, r.ID, nil); err != nil {
			return ResolveOut{}, err
		}
	}
	p, err := a.planOf(ctx, r, stored.PlanHash)
	if err != nil {
		return ResolveOut{}, err
	}
	if r.PlanHash, err = a.keepPlan(ctx, p); err != nil {
		return ResolveOut{}, err
	}
	r.StartedAt = a.Now(ctx) // of two duplicates, the one recorded last sees the other, however long the servers took
	if err := a.Records.StartInvestigation(ctx, *r); err != nil {
		return ResolveOut{}, fmt.Errorf("record investigation %s: %w", r.ID, err)
	}
	job.Count(ctx, job.MetricStarted, "chain", r.Chain)
	if stored, err = a.Records.Investigation(ctx, r.ID); err != nil { // another attempt may have been first
		return ResolveOut{}, err
	}
	return a.resolved(ctx, stored)
}

// resolved rebuilds a run's output from its record.
func (a resolver) resolved(ctx context.Context, r record.Investigation) (ResolveOut, error) {
	p, err := a.ReadPlan(ctx, r.PlanHash)
	if err == nil {
		err = a.refuseSame(ctx, r, p.Dedup.Within.D())
	}
	if err == nil {
		err = a.shareEntries(ctx, r, p.Fork)
	}
	if err == nil {
		err = a.noteRunbook(ctx, r.ID, p)
	}
	if err == nil {
		err = a.noteLearnings(ctx, r.ID, p)
	}
	return ResolveOut{
		Plan: r.PlanHash, Data: r.DataHash, Skeleton: p.Skeleton(), SearchAttributes: a.SearchAttributes, By: r.Envelope.By,
		Labels: r.Labels, Schedule: r.Envelope.Schedule, Before: r.Envelope.Before, Fork: r.Envelope.Fork,
		Trial: r.Envelope.Trial, Level: LevelListing,
	}, err
}

// planOf reads the request, resolves it and stores the request's data for r. earlier is the hash of the plan of a run that Temporal has
// reset, or empty.
func (a resolver) planOf(ctx context.Context, r *record.Investigation, earlier string) (plan.Plan, error) {
	inputs, from, err := a.Requests.Inputs(ctx, r.WorkflowID, r.RunID)
	if err != nil {
		return plan.Plan{}, fmt.Errorf("read the request of %s: %w", r.WorkflowID, err)
	}
	req, err := agent.ParseRequest(inputs...)
	if err != nil {
		return plan.Plan{}, refusal(err)
	}
	req.By, r.Envelope.Trial = cmp.Or(req.By, agent.PersonOf(from)), req.Trial
	if req.Fork != nil {
		return a.forkOf(ctx, r, req, earlier)
	}
	r.Chain, r.AlertType = req.Chain, req.AlertType
	text, err := a.data(ctx, req)
	if err != nil {
		return plan.Plan{}, err
	}
	within, err := a.scheduled(ctx, r, req)
	if err != nil {
		return plan.Plan{}, err
	}
	p, err := a.Planner.Plan(ctx, within, text)
	if req.Trial && err == nil {
		err = p.Try()
	}
	if later := notYet(ctx, err); later != nil {
		return p, later
	}
	unknown, listErr := a.unknownTools(ctx, r.ID, req.MCP, p)
	if listErr != nil {
		return p, listErr
	}
	if err = errors.Join(append([]error{err}, unknown...)...); err != nil {
		return p, refusal(err)
	}
	r.Chain, r.AlertType = p.Chain, p.AlertType
	p.Project = cmp.Or(req.Project, agent.DefaultProject)
	if size := jsonSize(ResolveOut{Skeleton: p.Skeleton()}); size > maxSkeleton {
		return p, refusal(fmt.Errorf("chain %s is too large: %d bytes of stages and agents, %d allowed", p.Chain, size, maxSkeleton))
	}
	if err := req.CheckData(text, p.MaxData); err != nil {
		return p, refusal(err)
	}
	if p.MaxData > 0 && len(text) > p.MaxData {
		p.Attach()
	}
	if err := a.readRunbook(ctx, &p); err != nil {
		return p, err
	}
	mask := func(text string) (string, error) { return a.MaskData(ctx, p, job.RequestData, text) }
	if text, err = mask(text); err != nil {
		return p, err
	}
	if err := a.chooseLearnings(ctx, &p, text); err != nil {
		return p, err
	}
	if r.Labels, err = req.Labels.Masked(mask); err != nil {
		return p, err
	}
	if s := req.Schedule; s != nil { // after masking, which would change a name that looks like a secret
		r.Session, req.Again = s.Session(), true
	}
	req.Labels, r.Overrides = r.Labels, req.Overrides
	if r.Fingerprint, _ = p.Dedup.Fingerprint(p.Chain, req, text); req.Again || req.Trial {
		r.Fingerprint = ""
	}
	before := r.Envelope.Before
	r.Envelope = firstEnvelope(p, req)
	r.Envelope.Schedule, r.Envelope.Before = req.Schedule, before
	// Data that is already in the store is masked again, because someone else may have put it there.
	if r.DataHash, err = a.Blobs.PutBlob(ctx, []byte(text)); err != nil {
		return p, fmt.Errorf("keep the request's data: %w", err)
	}
	return p, nil
}

// firstEnvelope returns the envelope of an investigation that begins.
func firstEnvelope(p plan.Plan, req agent.Request) record.Envelope {
	out := record.Envelope{
		Version: record.EnvelopeVersion, By: req.By, Trial: req.Trial, Bounds: p.Bounds.InForce(p.Timeout, plan.Extension{}, 0),
	}
	for _, stage := range p.Stages {
		out.Pending = append(out.Pending, stage.Name)
	}
	return out
}

// data returns the text of the request's data, wherever it is stored.
func (a resolver) data(ctx context.Context, req agent.Request) (string, error) {
	if req.DataRef == "" {
		return req.DataText(), nil
	}
	body, err := a.Blobs.Blob(ctx, req.DataRef)
	if errors.Is(err, record.ErrNotFound) {
		return "", refusal(fmt.Errorf("data_ref %q is not in this worker's store", req.DataRef))
	}
	if err != nil {
		return "", fmt.Errorf("read the request's data: %w", err)
	}
	return string(body), nil
}

func jsonSize(v any) int {
	body, err := json.Marshal(v)
	if err != nil {
		return 0
	}
	return len(body)
}

func (a resolver) keepPlan(ctx context.Context, p plan.Plan) (string, error) {
	p.Store = a.Store
	if err := a.keepSkills(ctx, &p); err != nil {
		return "", err
	}
	body, err := json.Marshal(p)
	if err != nil {
		return "", fmt.Errorf("write plan: %w", err)
	}
	hash, err := a.Blobs.PutBlob(ctx, body)
	if err != nil {
		return "", fmt.Errorf("keep the plan: %w", err)
	}
	return hash, nil
}

// keepSkills stores the texts of skills.
func (a resolver) keepSkills(ctx context.Context, p *plan.Plan) error {
	for agent := range p.AllAgents() {
		for n, s := range agent.Skills {
			if s.Texts == nil {
				continue // of a plan that was stored before
			}
			blobs := map[string]string{}
			for name, text := range s.Texts {
				hash, err := a.Blobs.PutBlob(ctx, []byte(text))
				if err != nil {
					return fmt.Errorf("keep the skill %s: %w", s.Name, err)
				}
				blobs[name] = hash
			}
			agent.Skills[n].Blobs = blobs
		}
	}
	return nil
}

// refusal is the failure of a request that cannot be carried out.
func refusal(err error) error {
	options := temporal.ApplicationErrorOptions{NonRetryable: true, Category: temporal.ApplicationErrorCategoryBenign}
	return temporal.NewApplicationErrorWithOptions(err.Error(), ErrorInvalidRequest, options)
}

// ErrTakesLong means that a plan takes longer to make than a workflow task may.
var ErrTakesLong = errors.New("the worker's functions must be called, which takes longer than a workflow task")

// notYet returns the error if the request may get a plan later. It returns nil if it has a plan or if err refuses it.
func notYet(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, ErrTakesLong):
		return job.Cannot(ctx, err)
	case errors.Is(err, record.ErrUnavailable), err != nil && ctx.Err() != nil:
		return err
	}
	return nil
}
