// Package job has the shared parts of an agent's activities: who acts, the worker's store and tools, masking, errors and messages.
package job

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// NthCall returns the n-th call of a reply.
func (j *Job) NthCall(reply transcript.Entry, iteration, n int) (transcript.Call, error) {
	if reply.Seq == 0 && len(j.Ref.Seen) == 0 { // otherwise RequireSeen has checked
		return transcript.Call{}, storeBehind(j.Ref.Investigation, fmt.Sprintf("reply %d of %s", iteration, j.Ref.Execution))
	}
	if n < 0 || n >= len(reply.Calls) {
		return transcript.Call{}, Final(ErrorNotFound, fmt.Errorf("%s: iteration %d has no call %d", j.Ref.Execution, iteration, n))
	}
	return reply.Calls[n], nil
}

// Step returns the step that appends rows. The store writes it only if it has all entries that the workflow has seen.
func (j *Job) Step(rows ...transcript.Row) transcript.Step {
	return transcript.Step{Scope: j.Ref.Scope(), Writer: j.Writer, Requires: j.Ref.Seen, Rows: rows}
}

// Saw makes the activity's later writes also require these entries, which were read or written together.
func (j *Job) Saw(entries ...transcript.Entry) {
	if len(entries) == 0 {
		return
	}
	newest := slices.MaxFunc(entries, func(a, b transcript.Entry) int { return cmp.Compare(a.Seq, b.Seq) })
	j.Ref.Seen = append(slices.Clip(j.Ref.Seen), newest.Mark())
}

// About returns the investigation's record, which holds the request's metadata. A conversation has no
// record.
func (j *Job) About(ctx context.Context) (record.Investigation, error) {
	r, err := j.Records.Investigation(ctx, j.Ref.Investigation)
	if errors.Is(err, record.ErrNotFound) {
		err = nil
	}
	return r, err
}

// Stage returns the plan of the stage that the activity works for.
func (j *Job) Stage() plan.Stage {
	stage, _ := j.Plan.StageAt(j.Ref.Stage) // the job's agent is part of it
	return stage
}

var noProvider plan.Provider

// Provider returns the agent's n-th provider, which must not be changed; a zero one if the agent uses no model.
func (j *Job) Provider(n int) *plan.Provider {
	if len(j.Agent.Providers) == 0 {
		return &noProvider
	}
	return &j.Agent.Providers[min(max(n, 0), len(j.Agent.Providers)-1)]
}

// ShownNotes masks what people wrote in the notes, for models and code.
func (j *Job) ShownNotes(ctx context.Context, notes []Note) ([]Note, error) {
	shown := slices.Clone(notes)
	for n := range shown {
		var err error
		if shown[n].Answer, err = j.MaskData(ctx, j.Plan, RequestData, shown[n].Answer); err != nil {
			return nil, err
		}
	}
	return shown, nil
}

// Request returns the data to investigate; a conversation has none.
func (j *Job) Request(ctx context.Context) (string, error) {
	if j.Ref.Data == "" {
		return "", nil
	}
	data, err := j.Blobs.Blob(ctx, j.Ref.Data)
	if err != nil {
		return "", fmt.Errorf("read the data of %s: %w", j.Ref.Investigation, err)
	}
	return string(data), nil
}

// ResultText returns the final text of an execution, or its reasoning if it wrote nothing else.
func (a *Worker) ResultText(ctx context.Context, investigation, execution string) (string, error) {
	entries, err := a.Transcripts.Entries(ctx, transcript.Scope{Investigation: investigation, Execution: execution})
	if err != nil {
		return "", fmt.Errorf("read transcript of %s: %w", execution, err)
	}
	return transcript.Final(entries, true), nil
}

// NewCall returns the n-th call of an iteration's reply, with the catalogue's data about the tool and the sources of
// untrusted text that may have caused the call. The arguments are not checked yet: see judged.
func (j *Job) NewCall(tools *tool.Set, iteration, n int, name, arguments string, read []string) transcript.Call {
	call := transcript.Call{ID: fmt.Sprintf("c%d_%d", iteration, n), Name: name, Arguments: arguments}
	if spec, known := tools.Spec(name); known {
		call.Name, call.Risk, call.Class = spec.Name, spec.Risk, string(spec.Class())
		call.Queue, call.Own = j.queue(spec.Name), spec.Own
		if spec.Risk != agent.RiskReadOnly || spec.Name == agent.ToolDispatchAgent {
			call.Untrusted = read
		}
	}
	return call
}

// Started returns when the execution started; for one of a conversation, or of an earlier version, the time of its first activity.
func (j *Job) Started(ctx context.Context) time.Time {
	if j.Ref.Started.IsZero() {
		return j.Now(ctx)
	}
	return j.Ref.Started
}

// Begin records that the execution is running, and the provider that it asks first.
func (j *Job) Begin(ctx context.Context, provider *plan.Provider) error {
	starts := j.Execution(provider)
	starts.StartedAt = j.Started(ctx)
	if err := j.Records.StartExecution(ctx, starts, j.Writer.RunID); err != nil {
		return fmt.Errorf("record execution %s: %w", j.Ref.Execution, err)
	}
	return nil
}

// Execution is the record of an execution that begins.
func (j *Job) Execution(provider *plan.Provider) record.Execution {
	return record.Execution{
		Investigation: j.Ref.Investigation, Name: j.Ref.Execution, Stage: j.Ref.StageRun(),
		Agent: j.Agent.Definition, Type: j.Row.Name, LLMBackend: j.Agent.LLMBackend, Provider: provider.Name,
		Model: provider.Model, Status: agent.StatusRunning,
	}
}

// Job is an agent's activity: which agent it works for, and which attempt writes.
type Job struct {
	*Worker
	Ref    Ref
	Plan   plan.Plan
	Agent  plan.Agent
	Row    agent.Type
	Writer transcript.Writer
	// Listed holds the catalogues of the agent's servers, as read by Offered.
	Listed []tool.Catalogue
	Tools  *tool.Set // the result of Offered; nil if that was not called
}

// Job reads the plan and the agent of an activity.
func (a *Worker) Job(ctx context.Context, ref Ref) (*Job, error) {
	j := &Job{Worker: a, Ref: ref, Writer: WriterOf(ctx)}
	p, err := a.RequirePlan(ctx, ref.Investigation, ref.Plan, ref.Seen)
	if err != nil {
		return nil, err
	}
	var ok bool
	if j.Agent, ok = p.Agent(ref.Stage, ref.Agent); ok {
		j.Agent, ok = j.Agent.Sub(ref.Sub)
	}
	if !ok {
		return nil, Final(ErrorNotFound, fmt.Errorf("plan %s has no agent %d %s in stage %d", ref.Plan, ref.Agent, ref.Sub, ref.Stage))
	}
	if j.Row, ok = agent.LookupType(j.Agent.Type); !ok {
		return nil, Cannot(ctx, fmt.Errorf("agent %s has the type %q, which this worker does not know", j.Agent.Name, j.Agent.Type))
	}
	j.Plan = p
	return j, nil
}

// WriterOf names the attempt that an activity runs as. A local attempt needs a random name: a worker that takes over the
// workflow task could otherwise give its own attempt the same one.
func WriterOf(ctx context.Context) transcript.Writer {
	info := activity.GetInfo(ctx)
	if info.IsLocalActivity {
		return transcript.Writer{RunID: info.WorkflowExecution.RunID, ActivityID: localWriter + rand.Text()}
	}
	return transcript.Writer{RunID: info.WorkflowExecution.RunID, ActivityID: fmt.Sprintf("%s/%d", info.ActivityID, info.Attempt)}
}

// Offered returns the agent's tools with their policy, both for offering and for running them. hashes name the
// catalogues of the execution's servers. missing maps the servers that have no tools to offer to the reason.
func (j *Job) Offered(ctx context.Context, hashes []string) (tools *tool.Set, missing map[string]string, err error) {
	missing, j.Listed = map[string]string{}, nil
	for _, hash := range hashes {
		c, err := j.Offers.Get(ctx, j.Blobs, "tool catalogue", hash)
		if err != nil {
			return nil, nil, err
		}
		missing[c.Server] = c.Error
		j.Listed = append(j.Listed, c)
	}
	for _, server := range j.Agent.Servers {
		if _, known := missing[server.Name]; !known {
			missing[server.Name] = notListed
			j.Listed = append(j.Listed, tool.Catalogue{Server: server.Name, Error: missing[server.Name]})
		}
	}
	j.Tools = j.Policy.Tools(j.Row, j.Agent, j.Listed, j.Builtins.Specs(j.Agent))
	return j.Tools, missing, nil
}

// OfferedNow is Offered for callers that do not know the hashes.
func (j *Job) OfferedNow(ctx context.Context) (tools *tool.Set, missing map[string]string, err error) {
	hashes, err := j.Transcripts.Catalogues(ctx, j.Ref.Scope())
	if err != nil {
		return nil, nil, err
	}
	return j.Offered(ctx, hashes)
}

// queue returns the task queue of a tool's server; "" is the main one.
func (j *Job) queue(name string) string {
	server, _ := tool.Split(name)
	for _, s := range j.Agent.Servers {
		if s.Name == server {
			return s.TaskQueue
		}
	}
	return ""
}

// maxKept limits each cache. A worker seldom runs more investigations at a time.
const maxKept = 64

// kept caches JSON documents of the store by hash. Every activity needs a plan and catalogues, and all activities of an
// investigation need the same ones. Cached documents are never modified.
type kept[T any] struct {
	mu    sync.Mutex
	known map[string]T
}

// Get reads a document. Errors call it what.
func (k *kept[T]) Get(ctx context.Context, blobs Blobs, what, hash string) (document T, err error) {
	k.mu.Lock()
	document, ok := k.known[hash]
	k.mu.Unlock()
	if ok {
		return document, nil
	}
	body, err := blobs.Blob(ctx, hash)
	if err != nil {
		return document, StoreFailure(fmt.Errorf("read %s %s: %w", what, hash, err))
	}
	err = json.Unmarshal(body, &document)
	switch {
	case errors.Is(err, plan.ErrNewer):
		return document, Cannot(ctx, fmt.Errorf("read %s %s: %w", what, hash, err))
	case err != nil:
		return document, Final(ErrorConfiguration, fmt.Errorf("read %s %s: %w", what, hash, err))
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.known == nil || len(k.known) >= maxKept {
		k.known = map[string]T{} // documents in use come back with their next activity
	}
	k.known[hash] = document
	return document, nil
}

// ReadPlan reads a plan by its hash.
func (a *Worker) ReadPlan(ctx context.Context, hash string) (plan.Plan, error) {
	return a.plans.Get(ctx, a.Blobs, "plan", hash)
}

// Server returns one of the agent's tool servers.
func (j *Job) Server(name string) (plan.Server, bool) {
	for _, s := range j.Agent.Servers {
		if s.Name == name {
			return s, true
		}
	}
	return plan.Server{}, false
}
