package activities

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/inquest-dev/inquest/internal/agent"
)

// maxPlans bounds the plans that are kept in memory; a worker seldom runs more
// of them at a time.
const maxPlans = 64

// plans keeps plans that were read, by their hashes: every activity needs one,
// and those of an investigation need the same. What is kept is only read.
type plans struct {
	mu    sync.Mutex
	known map[string]agent.Plan
}

func (p *plans) get(hash string) (agent.Plan, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	plan, ok := p.known[hash]
	return plan, ok
}

func (p *plans) keep(hash string, plan agent.Plan) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known == nil || len(p.known) >= maxPlans {
		p.known = map[string]agent.Plan{} // what is in use comes back with its next activity
	}
	p.known[hash] = plan
}

// plan reads a plan by its hash.
func (a *Activities) plan(ctx context.Context, hash string) (agent.Plan, error) {
	if plan, ok := a.plans.get(hash); ok {
		return plan, nil
	}
	var plan agent.Plan
	body, err := a.Blobs.Blob(ctx, hash)
	if err != nil {
		return plan, storeFailure(fmt.Errorf("read plan %s: %w", hash, err))
	}
	if err := json.Unmarshal(body, &plan); err != nil {
		return plan, final(ErrorConfiguration, fmt.Errorf("read plan %s: %w", hash, err))
	}
	a.plans.keep(hash, plan)
	return plan, nil
}
