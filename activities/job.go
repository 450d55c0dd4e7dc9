package activities

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"go.temporal.io/sdk/activity"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// job is an agent's activity: which agent it works for, and which attempt writes.
type job struct {
	*Activities
	ref    Ref
	plan   plan.Plan
	agent  plan.Agent
	row    agent.Type
	writer transcript.Writer
	// listed holds the catalogues of the agent's servers, as read by offered.
	listed []tool.Catalogue
	tools  *tool.Set // the result of offered; nil if that was not called
}

func (a *Activities) job(ctx context.Context, ref Ref) (*job, error) {
	j := &job{Activities: a, ref: ref, writer: writerOf(ctx)}
	p, err := a.requirePlan(ctx, ref.Investigation, ref.Plan, ref.Seen)
	if err != nil {
		return nil, err
	}
	var ok bool
	if j.agent, ok = p.Agent(ref.Stage, ref.Agent); ok {
		j.agent, ok = j.agent.Sub(ref.Sub)
	}
	if !ok {
		return nil, final(ErrorNotFound, fmt.Errorf("plan %s has no agent %d %s in stage %d", ref.Plan, ref.Agent, ref.Sub, ref.Stage))
	}
	if j.row, ok = agent.LookupType(j.agent.Type); !ok {
		return nil, cannot(ctx, fmt.Errorf("agent %s has the type %q, which this worker does not know", j.agent.Name, j.agent.Type))
	}
	j.plan = p
	return j, nil
}

// writerOf names the attempt that an activity runs as. A local attempt needs a random name: a worker that takes over the
// workflow task could otherwise give its own attempt the same one.
func writerOf(ctx context.Context) transcript.Writer {
	info := activity.GetInfo(ctx)
	if info.IsLocalActivity {
		return transcript.Writer{RunID: info.WorkflowExecution.RunID, ActivityID: localWriter + rand.Text()}
	}
	return transcript.Writer{RunID: info.WorkflowExecution.RunID, ActivityID: fmt.Sprintf("%s/%d", info.ActivityID, info.Attempt)}
}

// offered returns the agent's tools with their policy, both for offering and for running them. hashes name the
// catalogues of the execution's servers. missing maps the servers that have no tools to offer to the reason.
func (j *job) offered(ctx context.Context, hashes []string) (tools *tool.Set, missing map[string]string, err error) {
	missing, j.listed = map[string]string{}, nil
	for _, hash := range hashes {
		c, err := j.offers.get(ctx, j.Blobs, "tool catalogue", hash)
		if err != nil {
			return nil, nil, err
		}
		missing[c.Server] = c.Error
		j.listed = append(j.listed, c)
	}
	for _, server := range j.agent.Servers {
		if _, known := missing[server.Name]; !known {
			missing[server.Name] = notListed
			j.listed = append(j.listed, tool.Catalogue{Server: server.Name, Error: missing[server.Name]})
		}
	}
	j.tools = j.Policy.Tools(j.row, j.agent, j.listed, j.Builtins.Specs(j.agent))
	return j.tools, missing, nil
}

// offeredNow is offered for callers that do not know the hashes.
func (j *job) offeredNow(ctx context.Context) (tools *tool.Set, missing map[string]string, err error) {
	hashes, err := j.Transcripts.Catalogues(ctx, j.ref.scope())
	if err != nil {
		return nil, nil, err
	}
	return j.offered(ctx, hashes)
}

// queue returns the task queue of a tool's server; "" is the main one.
func (j *job) queue(name string) string {
	server, _ := tool.Split(name)
	for _, s := range j.agent.Servers {
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

// get reads a document. Errors call it what.
func (k *kept[T]) get(ctx context.Context, blobs Blobs, what, hash string) (document T, err error) {
	k.mu.Lock()
	document, ok := k.known[hash]
	k.mu.Unlock()
	if ok {
		return document, nil
	}
	body, err := blobs.Blob(ctx, hash)
	if err != nil {
		return document, storeFailure(fmt.Errorf("read %s %s: %w", what, hash, err))
	}
	err = json.Unmarshal(body, &document)
	switch {
	case errors.Is(err, plan.ErrNewer):
		return document, cannot(ctx, fmt.Errorf("read %s %s: %w", what, hash, err))
	case err != nil:
		return document, final(ErrorConfiguration, fmt.Errorf("read %s %s: %w", what, hash, err))
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.known == nil || len(k.known) >= maxKept {
		k.known = map[string]T{} // documents in use come back with their next activity
	}
	k.known[hash] = document
	return document, nil
}

// plan reads a plan by its hash.
func (a *Activities) plan(ctx context.Context, hash string) (plan.Plan, error) {
	return a.plans.get(ctx, a.Blobs, "plan", hash)
}
