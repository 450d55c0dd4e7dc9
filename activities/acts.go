package activities

import (
	"context"
	"encoding/json"
	"slices"

	"go.temporal.io/sdk/activity"

	"github.com/inquest-dev/inquest/activities/internal/job"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/trust/audit"
)

// Tell adds messages that people sent directly to a workflow to the audit trail.
func (a *Activities) Tell(ctx context.Context, in TellIn) error {
	ctx, stop := a.worker().Attend(ctx)
	defer stop()
	return job.StoreFailure(job.Ended(ctx, recorder{a.worker()}.keepActs(ctx, in.Plan, in.Acts)))
}

// keepActs masks the acts that a workflow reports of people and adds them to the audit trail. The workflow has numbered
// them in their keys.
func (a recorder) keepActs(ctx context.Context, planHash string, acts []audit.Act) error {
	run := activity.GetInfo(ctx).WorkflowExecution.RunID
	acts = slices.Clone(acts) // a local activity gets the workflow's own slice
	for n, act := range acts {
		detail, err := a.maskedDetail(ctx, planHash, act.Detail)
		if err != nil {
			return err
		}
		acts[n].Detail, acts[n].Key = detail, run+" "+act.Key
	}
	return a.Records.Audit(ctx, acts...)
}

// maskedWaits returns the open questions with the notes masked that repeat what other people said.
func (a recorder) maskedWaits(ctx context.Context, planHash string, waits record.Waits) (record.Waits, error) {
	waits.Approvals = slices.Clone(waits.Approvals)
	for n, approval := range waits.Approvals {
		if len(approval.Notes) == 0 || planHash == "" {
			continue
		}
		p, err := a.ReadPlan(ctx, planHash)
		if err != nil {
			return waits, err
		}
		notes := slices.Clone(approval.Notes)
		for i, note := range notes {
			if notes[i], err = a.MaskData(ctx, p, "a note", note); err != nil {
				return waits, err
			}
		}
		waits.Approvals[n].Notes = notes
	}
	return waits, nil
}

func (a recorder) maskedDetail(ctx context.Context, planHash string, detail json.RawMessage) (json.RawMessage, error) {
	if planHash == "" || len(detail) == 0 { // it ended before there was a plan with masking settings
		return nil, nil
	}
	p, err := a.ReadPlan(ctx, planHash)
	if err != nil {
		return nil, err
	}
	texts := map[string]string{}
	_ = json.Unmarshal(detail, &texts) // written by audit.Detail
	for name, text := range texts {
		if texts[name], err = a.MaskData(ctx, p, job.RequestData, text); err != nil {
			return nil, err
		}
	}
	return json.Marshal(texts)
}
