package job

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/knowledge/learning"
	"github.com/inquest-dev/inquest/internal/plan"
)

// Learnings stores what investigations have taught, by project.
type Learnings interface {
	// Learn stores the learnings from an investigation, once.
	Learn(ctx context.Context, project string, taught learning.Taught) (learning.Outcome, error)
	// Learned reports whether it has taught anything, and what.
	Learned(ctx context.Context, investigation string) (out learning.Outcome, known bool, err error)
	FindLearnings(ctx context.Context, query learning.Query) ([]learning.Scored, error)
	NoteReads(ctx context.Context, project string, reads []learning.Read) error
	// LearningsInUse returns the given IDs, except of learnings that were withdrawn or deleted.
	LearningsInUse(ctx context.Context, project string, ids []int64) ([]int64, error)
	// Unembedded returns the newest learnings without a vector of the model, and SetVectors stores vectors.
	Unembedded(ctx context.Context, project, model string, limit int) ([]learning.Learning, error)
	SetVectors(ctx context.Context, project string, of []learning.Candidate) error
	PastInvestigations(ctx context.Context, q learning.PastQuery) ([]learning.Past, error)
}

// Embeddings calls models that turn texts into vectors.
type Embeddings interface {
	// Embed returns a vector for each text. Queries are compared with other texts. Errors are for people and contain no secrets.
	Embed(ctx context.Context, model plan.Embedding, query bool, texts []string) ([][]float32, error)
}

// metricNoVectors counts the failed calls of embedding models.
const metricNoVectors = "inquest_embedding_failures_total"

const (
	// ReflectorType is the type of agents that learn.
	ReflectorType = "reflector"
	// fromLearnings is the source that taints agents which were shown learnings: they come from models, not from the configuration.
	fromLearnings = "learnings from earlier investigations"
	// embedTime limits a call of an embedding model.
	embedTime = 5 * time.Second
	// queryText is how much of a request's data learnings are compared with, in bytes. Embeddings are made of the beginning.
	queryText, queryEmbedded = 64 << 10, 4 << 10
)

// FindLearnings completes a query from a plan and runs it.
func (a *Worker) FindLearnings(
	ctx context.Context, p plan.Plan, q learning.Query,
) (found []learning.Scored, problem string, err error) {
	if a.Learnings == nil {
		return nil, "", nil
	}
	q.Project, q.Chain, q.AlertType, q.Now = p.Project, p.Chain, p.AlertType, a.Now(ctx)
	q.Text = clip.Bytes(q.Text, queryText)
	vectors, problem := a.Vectors(ctx, p.Memory.Embedding, true, []string{clip.Bytes(q.Text, queryEmbedded)})
	if len(vectors) == 1 {
		q.Vector = vectors[0]
	}
	found, err = a.Learnings.FindLearnings(ctx, q)
	return found, problem, cmp.Or(ctx.Err(), err)
}

// Vectors returns the vectors of texts, or none and the problem, which never fails any work.
func (a *Worker) Vectors(ctx context.Context, e *plan.Embedding, query bool, texts []string) (all []learning.Vector, problem string) {
	if e == nil || a.Embeddings == nil || len(texts) == 0 {
		return nil, ""
	}
	within, cancel := context.WithTimeoutCause(ctx, embedTime, fmt.Errorf("it took longer than %s", embedTime))
	defer cancel()
	values, err := a.Embeddings.Embed(within, *e, query, texts)
	if err == nil && len(values) != len(texts) {
		err = fmt.Errorf("vectors returned: %d, expected: %d", len(values), len(texts))
	}
	if err != nil {
		Count(ctx, metricNoVectors, "provider", e.Provider, "model", e.Model)
		a.Logger.Warn("learnings are compared by words only", "model", e.Model, "error", err)
		return nil, fmt.Sprintf("The embedding model %s failed: %s. Learnings are compared by words only.",
			e.Model, clip.Text(cmp.Or(context.Cause(within), err).Error(), 300))
	}
	for _, v := range values {
		all = append(all, learning.Vector{Model: VectorModel(*e), Values: v})
	}
	return all, ""
}

// VectorModel identifies the vectors that can be compared.
func VectorModel(e plan.Embedding) string {
	return fmt.Sprintf("%s/%s/%d", e.Provider, e.Model, e.Dimensions)
}

// NoteReads records that an investigation got learnings.
func (a *Worker) NoteReads(ctx context.Context, project, investigation string, how learning.How, ids []int64) error {
	if len(ids) == 0 {
		return nil
	}
	var reads []learning.Read
	for _, id := range ids {
		reads = append(reads, learning.Read{Learning: id, Investigation: investigation, How: how, At: a.Now(ctx)})
	}
	return a.Learnings.NoteReads(ctx, project, reads)
}

// Learned returns the learnings in the agent's prompt. Only agents that investigate have any, and the one that learns.
func (j *Job) Learned() []plan.Learning {
	if p := j.Plan; j.Ref.Stage == plan.LearningStage && p.Memory != nil && !p.Conversation {
		return p.Memory.Known
	}
	return j.Plan.LearningsFor(j.Row.Pattern)
}
