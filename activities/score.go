package activities

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/inquest-dev/inquest/activities/internal/job"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/prompt"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/score"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// BeginScore records that an investigation is being judged, and returns the judge and its input. It uses the
// investigation's own plan. If that plan names no judge, it uses the current configuration.
func (a *Activities) BeginScore(ctx context.Context, in BeginScoreIn) (BeginScoreOut, error) {
	ctx, stop := a.worker().Attend(ctx)
	defer stop()
	out, err := recorder{a.worker()}.beginScore(ctx, in)
	return out, job.StoreFailure(job.Ended(ctx, err))
}

func (a recorder) beginScore(ctx context.Context, in BeginScoreIn) (out BeginScoreOut, err error) {
	judged, err := a.Records.Investigation(ctx, in.Investigation)
	switch {
	case err != nil:
		return out, err
	case judged.EndedAt == nil:
		return out, refusal(fmt.Errorf("investigation %s is %s: it can be scored after it has ended", judged.ID, judged.Status))
	case judged.PlanHash == "":
		return out, refusal(fmt.Errorf("investigation %s has the status %s and no plan, so it cannot be scored", judged.ID, judged.Status))
	}
	p, err := a.ReadPlan(ctx, judged.PlanHash)
	if err != nil {
		return out, err
	}
	hash := judged.PlanHash
	if p.Scoring == nil {
		stage, err := a.judge(ctx, judged)
		if later := notYet(ctx, err); later != nil {
			return out, later
		}
		if err != nil {
			return out, refusal(err)
		}
		p.Scoring = &stage
		if hash, err = resolver(a).keepPlan(ctx, p.Versioned()); err != nil {
			return out, err
		}
	}
	judge := p.Scoring.Agents[0]
	row, _ := agent.LookupType(judge.Type)
	r := record.Score{
		Investigation: judged.ID, Status: agent.StatusRunning, StartedAt: time.Now(), Run: activity.GetInfo(ctx).WorkflowExecution.RunID,
	}
	r.By = in.By
	if r.PromptHash, err = prompt.Hash(row.Prompt, judge.Instructions, judge.Prompt); err != nil {
		return out, job.Final(job.ErrorConfiguration, err)
	}
	if r, err = a.Records.BeginScore(ctx, r); err != nil {
		return out, err
	}
	run := plan.ScoringName
	if r.N > 1 { // executions of each judgement need their own name
		run = fmt.Sprintf("%s#%d", run, r.N)
	}
	out = BeginScoreOut{
		N: r.N, PlanVersion: p.Version, Agent: p.Skeleton().Scoring.Agents[0],
		Learns: p.Learning != nil,
		Chain:  judged.Chain, AlertType: judged.AlertType, SearchAttributes: a.SearchAttributes,
		Ref: job.Ref{
			Investigation: judged.ID, Execution: run + "/" + judge.Name, Plan: hash, Data: judged.DataHash, Stage: plan.ScoringStage,
		},
	}
	out.Prior, out.Peers, err = a.toJudge(ctx, judged)
	return out, err
}

// judge returns the judge for an investigation whose chain did not ask for a score.
func (a recorder) judge(ctx context.Context, judged record.Investigation) (plan.Stage, error) {
	data, err := a.Blobs.Blob(ctx, judged.DataHash)
	if err != nil && !errors.Is(err, record.ErrNotFound) {
		return plan.Stage{}, fmt.Errorf("read the request's data: %w", err)
	}
	req := agent.Request{Chain: judged.Chain, AlertType: judged.AlertType, Labels: judged.Labels, By: judged.Envelope.By}
	return a.Planner.Scoring(ctx, req, string(data))
}

// maxJudged is how many results, and how many agents, a judge is shown: the newest.
const maxJudged = 50

// toJudge returns the judge's material: the results of the last pass, and the records of all agents.
func (a recorder) toJudge(ctx context.Context, judged record.Investigation) (prior []job.Source, peers []job.Peer, err error) {
	stages, err := a.Records.Stages(ctx, judged.ID)
	if err != nil {
		return nil, nil, err
	}
	for _, s := range stages {
		if s.Result != "" && slices.Contains(judged.Envelope.Outputs, s.Name) {
			prior = append(prior, job.Source{Stage: s.Name, Execution: s.Result})
		}
	}
	executions, err := a.Records.Executions(ctx, judged.ID)
	for _, e := range executions {
		if e.Type != job.ScoringType && e.Type != job.ReflectorType && e.Stage != plan.SummaryName {
			peers = append(peers, job.Peer{Execution: e.Name, Agent: e.Name, Status: e.Status, Error: clip.Text(e.Error, 200)})
		}
	}
	return prior[max(0, len(prior)-maxJudged):], peers[max(0, len(peers)-maxJudged):], err
}

// SaveScore records the judgement that the judge's transcript contains.
func (a *Activities) SaveScore(ctx context.Context, in SaveScoreIn) (record.Score, error) {
	ctx, stop := a.worker().Attend(ctx)
	defer stop()
	out, err := recorder{a.worker()}.saveScore(ctx, in)
	return out, job.StoreFailure(job.Ended(ctx, err))
}

func (a recorder) saveScore(ctx context.Context, in SaveScoreIn) (r record.Score, err error) {
	all, err := a.Records.Scores(ctx, in.Judge.Ref.Investigation)
	n := slices.IndexFunc(all, func(r record.Score) bool { return r.N == in.N })
	switch {
	case err != nil:
		return r, err
	case n < 0:
		return r, fmt.Errorf("score %d of %s: %w", in.N, in.Judge.Ref.Investigation, record.ErrNotFound)
	case all[n].EndedAt != nil:
		return all[n], nil
	}
	r = all[n]
	entries, err := a.Transcripts.Entries(ctx, in.Judge.Ref.Scope())
	if err != nil {
		return r, fmt.Errorf("read transcript of %s: %w", in.Judge.Ref.Execution, err)
	}
	judge, err := a.execution(ctx, in.Judge, record.Stage{StartedAt: r.StartedAt, EndedAt: new(time.Now())})
	if err != nil {
		return r, err
	}
	readJudgement(entries, &r)
	r.Status, r.Error, r.Execution, r.Model, r.Usage = in.Judge.Status, in.Judge.Error, in.Judge.Ref.Execution, judge.Model, judge.Usage
	r.EndedAt = judge.EndedAt
	return r, a.Records.SaveScore(ctx, r, judge)
}

// maxJudgement limits each text of a judgement in its record, in bytes; the transcript has the full text.
const maxJudgement = 8 << 10

// readJudgement reads the first reply that ends with a score, and the judge's last reply after that.
func readJudgement(entries []transcript.Entry, r *record.Score) {
	for _, e := range entries {
		if e.Kind != transcript.KindReply || e.Superseded {
			continue
		}
		if r.Score != nil {
			r.MissingTools = tool.ValidText(clip.Bytes(cmp.Or(e.Text, r.MissingTools), maxJudgement))
			continue
		}
		if assessment, points, ok := score.Parse(e.Text); ok {
			r.Score, r.Tags = &points, score.Tags(assessment)
			r.Assessment = tool.ValidText(clip.Bytes(assessment, maxJudgement))
		}
	}
}
