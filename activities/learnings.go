package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/inquest-dev/inquest/activities/internal/job"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/kit/output"
	"github.com/inquest-dev/inquest/internal/knowledge/learning"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// embedded is how many learnings an embedding model is asked about at a time. Within embedsFor, it is asked about more.
const (
	embedded  = 20
	embedsFor = 20 * time.Second
)

// chooseLearnings puts the learnings that fit the request best into a plan. text is the request's data, masked.
func (a resolver) chooseLearnings(ctx context.Context, p *plan.Plan, text string) (err error) {
	if p.Memory == nil || p.Memory.MaxInject == 0 {
		return nil
	}
	memory := *p.Memory
	memory.Shown, memory.Problem, err = planLearnings(ctx, a.Worker, *p, text, memory.MaxInject)
	p.Memory = &memory
	return err
}

// planLearnings returns learnings for a plan. problem says why their meaning was not compared.
func planLearnings(
	ctx context.Context, a *job.Worker, p plan.Plan, text string, limit int,
) (all []plan.Learning, problem string, err error) {
	if p.Memory.Embedding != nil && a.Embeddings != nil && activity.GetInfo(ctx).IsLocalActivity {
		return nil, "", job.Cannot(ctx, errors.New("an embedding must be made, which can take longer than a workflow task"))
	}
	query := learning.Query{Text: p.AlertType + "\n" + text, Limit: limit}
	found, problem, err := a.FindLearnings(ctx, p, query)
	for _, s := range found {
		all = append(all, plan.Learning{
			ID: s.ID, Kind: string(s.Kind), Polarity: string(s.Polarity), Text: s.Text, From: s.Investigation,
		})
	}
	return all, problem, err
}

// noteLearnings records which learnings the prompts of an investigation have, and tells people if their meaning was not compared.
func (a resolver) noteLearnings(ctx context.Context, investigation string, p plan.Plan) error {
	if p.Memory == nil || p.Memory.Trial || a.Learnings == nil {
		return nil
	}
	var ids []int64
	for _, l := range p.Memory.Shown {
		ids = append(ids, l.ID)
	}
	if err := a.NoteReads(ctx, p.Project, investigation, learning.Shown, ids); err != nil || p.Memory.Problem == "" {
		return err
	}
	return noteOnce(ctx, a.Worker, investigation, "", transcript.Key{Position: 1}, p.Memory.Problem) // position 0 is about the runbook
}

// noteOnce adds a notice for people under a key.
func noteOnce(ctx context.Context, a *job.Worker, investigation, execution string, key transcript.Key, text string) error {
	_, err := a.Transcripts.Append(ctx, transcript.Step{
		Scope: transcript.Scope{Investigation: investigation, Execution: execution}, Writer: job.WriterOf(ctx),
		Rows: []transcript.Row{{Key: key, Kind: transcript.KindNotice, Body: transcript.Body{Text: text}}},
	})
	if err != nil {
		return fmt.Errorf("note the learnings of %s: %w", investigation, err)
	}
	return nil
}

// BeginLearning returns the agent that learns from a judged investigation, and its input. Learns is false if there is nothing to do.
func (a *Activities) BeginLearning(ctx context.Context, in BeginLearningIn) (BeginLearningOut, error) {
	ctx, stop := a.worker().Attend(ctx)
	defer stop()
	out, err := recorder{a.worker()}.beginLearning(ctx, in)
	return out, job.StoreFailure(job.Ended(ctx, err))
}

func (a recorder) beginLearning(ctx context.Context, in BeginLearningIn) (out BeginLearningOut, err error) {
	judged, err := a.Records.Investigation(ctx, in.Investigation)
	if err != nil || judged.PlanHash == "" {
		return out, err
	}
	p, err := a.ReadPlan(ctx, judged.PlanHash)
	if err != nil || p.Learning == nil || p.Memory == nil || a.Learnings == nil {
		return out, err
	}
	if p.Fork != nil && (len(p.Fork.Given) > 0 || p.Fork.Tools != "") { // people gave its results, or they are of another investigation
		return out, nil
	}
	if _, done, err := a.Learnings.Learned(ctx, judged.ID); err != nil || done {
		return out, err
	}
	data, err := a.Blobs.Blob(ctx, judged.DataHash)
	if err != nil && !errors.Is(err, record.ErrNotFound) {
		return out, fmt.Errorf("read the request's data: %w", err)
	}
	memory := *p.Memory
	if memory.Known, _, err = planLearnings(ctx, a.Worker, p, judged.Report+"\n"+string(data), memory.MaxKnown); err != nil {
		return out, err
	}
	for _, l := range memory.Shown { // to confirm or contradict them
		if !slices.ContainsFunc(memory.Known, func(other plan.Learning) bool { return other.ID == l.ID }) {
			memory.Known = append(memory.Known, l)
		}
	}
	p.Memory = &memory
	hash, err := resolver(a).keepPlan(ctx, p)
	if err != nil {
		return out, err
	}
	learner, run := p.Learning.Agents[0], plan.LearningName
	if in.N > 1 { // an earlier attempt has failed
		run = fmt.Sprintf("%s#%d", run, in.N)
	}
	out = BeginLearningOut{Learns: true, PlanVersion: p.Version, Agent: p.Learning.Skeleton().Agents[0], Ref: job.Ref{
		Investigation: judged.ID, Execution: run + "/" + learner.Name, Plan: hash, Data: judged.DataHash, Stage: plan.LearningStage,
	}}
	out.Prior, out.Peers, err = a.toJudge(ctx, judged)
	return out, err
}

// SaveLearnings stores the agent's learnings. A reply that breaks the contract teaches nothing, and a notice says why.
func (a *Activities) SaveLearnings(ctx context.Context, in SaveLearningsIn) (learning.Outcome, error) {
	ctx, stop := a.worker().Attend(ctx)
	defer stop()
	out, err := recorder{a.worker()}.saveLearnings(ctx, in)
	return out, job.StoreFailure(job.Ended(ctx, err))
}

func (a recorder) saveLearnings(ctx context.Context, in SaveLearningsIn) (out learning.Outcome, err error) {
	ref := in.Reflector.Ref
	p, err := a.ReadPlan(ctx, ref.Plan)
	if err != nil {
		return out, err
	}
	if p.Memory.Embedding != nil && a.Embeddings != nil && activity.GetInfo(ctx).IsLocalActivity {
		return out, job.Cannot(ctx, errors.New("embeddings must be made, which can take longer than a workflow task"))
	}
	did, err := a.execution(ctx, in.Reflector, record.Stage{})
	if err == nil {
		err = a.Records.SaveExecution(ctx, did)
	}
	if err != nil || in.Reflector.Status != agent.StatusCompleted {
		return out, err
	}
	taught, notes, err := a.taught(ctx, p, ref)
	if err != nil {
		return out, err
	}
	if taught != nil {
		if out, err = a.Learnings.Learn(ctx, p.Project, *taught); err != nil {
			return out, err
		}
		problem, err := a.embedNew(ctx, p)
		if err != nil {
			return out, err
		}
		notes = append(notes, problem)
	}
	if text := strings.TrimSpace(strings.Join(notes, "\n")); text != "" {
		err = noteOnce(ctx, a.Worker, ref.Investigation, ref.Execution, transcript.Key{Iteration: in.Reflector.Iterations + 1}, text)
	}
	return out, err
}

// taught reads the agent's reply. The result is nil if the reply breaks the contract.
func (a recorder) taught(ctx context.Context, p plan.Plan, ref job.Ref) (out *learning.Taught, notes []string, err error) {
	own, err := a.Transcripts.Entries(ctx, ref.Scope())
	if err != nil {
		return nil, nil, fmt.Errorf("read transcript of %s: %w", ref.Execution, err)
	}
	var known []int64
	for _, l := range p.Memory.Known {
		known = append(known, l.ID)
	}
	said, err := reflection(transcript.Final(own, false), known)
	if err != nil {
		return nil, []string{"Nothing was learned: " + clip.Text(tool.ValidText(err.Error()), 1000)}, nil
	}
	rows, err := a.evident(ctx, ref)
	if err != nil {
		return nil, nil, err
	}
	out = &learning.Taught{Investigation: ref.Investigation, At: a.Now(ctx), Confirmed: said.Confirmed, Contradicted: said.Contradicted}
	for n, one := range said.New {
		one.Rows = slices.DeleteFunc(one.Rows, func(row int64) bool { return !rows[row] })
		if len(one.Rows) == 0 {
			notes = append(notes, fmt.Sprintf("Learning new[%d] was not saved: none of the transcript rows that it cites can support it.", n))
			continue
		}
		if one.Text, err = a.MaskData(ctx, p, "a learning", one.Text); err != nil {
			return nil, nil, err
		}
		out.New = append(out.New, learning.Learning{
			Kind: one.Kind, Polarity: one.Polarity, Text: one.Text, Confidence: learning.Initial, Rows: one.Rows,
			Chain: p.Chain, AlertType: p.AlertType, Untrusted: transcript.Untrusted(own),
		})
	}
	return out, notes, nil
}

func reflection(text string, known []int64) (learning.Reflection, error) {
	var out learning.Reflection
	_, err := output.Object(text, func(object map[string]json.RawMessage) error {
		body, err := json.Marshal(object)
		if err == nil {
			out, err = learning.Parse(body, known)
		}
		return err
	})
	return out, err
}

// evident returns the rows of the investigation's agents that can show a learning.
func (a recorder) evident(ctx context.Context, ref job.Ref) (map[int64]bool, error) {
	entries, err := a.Transcripts.After(ctx, ref.Investigation, 0, 0)
	if err != nil {
		return nil, fmt.Errorf("read the journal of %s: %w", ref.Investigation, err)
	}
	rows := map[int64]bool{}
	for _, e := range entries {
		around := plan.Judges(e.Execution) || strings.HasPrefix(e.Execution, plan.SummaryName)
		switch e.Kind {
		case transcript.KindReply, transcript.KindResult, transcript.KindCall, transcript.KindSummary:
			recalled := e.Call != nil && slices.Contains(agent.RecallTools(), e.Call.Name) // taught by others already
			rows[e.Seq] = !around && !e.Superseded && !recalled
		}
	}
	return rows, nil
}

// embedNew makes vectors of the project's newest learnings that have none: also of edited ones, and those from before there was an
// embedding model.
func (a recorder) embedNew(ctx context.Context, p plan.Plan) (problem string, err error) {
	if p.Memory.Embedding == nil || a.Embeddings == nil {
		return "", nil
	}
	for began := time.Now(); time.Since(began) < embedsFor; {
		all, err := a.Learnings.Unembedded(ctx, p.Project, job.VectorModel(*p.Memory.Embedding), embedded)
		if err != nil || len(all) == 0 {
			return "", err
		}
		var texts []string
		for _, l := range all {
			texts = append(texts, l.Text)
		}
		vectors, problem := a.Vectors(ctx, p.Memory.Embedding, false, texts)
		if problem != "" {
			return problem, nil
		}
		var of []learning.Candidate
		for n, v := range vectors {
			of = append(of, learning.Candidate{Learning: all[n], Vector: v})
		}
		if err := a.Learnings.SetVectors(ctx, p.Project, of); err != nil {
			return "", err
		}
	}
	return "", nil
}
