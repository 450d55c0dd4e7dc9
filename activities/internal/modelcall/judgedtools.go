package modelcall

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/activities/internal/job"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/prompt"
)

const (
	maxJudgedTools = 200 // tools that a judge is told about
	maxJudgedText  = 120 // bytes of each tool's description
)

// addTools tells a judge which tools the agents had, including those that were never called.
func (g *briefing) addTools(ctx context.Context, data *prompt.Data) error {
	if g.Row.Name != job.ScoringType || len(g.in.Peers) == 0 {
		return nil
	}
	judged, err := g.Records.Investigation(ctx, g.Ref.Investigation)
	if err != nil {
		return fmt.Errorf("read the record of %s: %w", g.Ref.Investigation, err)
	}
	if judged.PlanHash == "" { // it ended before its chain was resolved
		return nil
	}
	p, err := g.Worker.ReadPlan(ctx, judged.PlanHash)
	if err != nil {
		return err
	}
	at := map[string]int{}
	for _, peer := range g.in.Peers {
		j := &job.Job{Worker: g.Worker, Plan: p, Ref: job.Ref{Investigation: g.Ref.Investigation, Execution: peer.Execution}}
		var known bool
		if j.Agent, known = agentOf(p, peer.Execution); !known {
			continue
		}
		if j.Row, known = agent.LookupType(j.Agent.Type); !known || !j.Row.Pattern.Tools() {
			continue
		}
		tools, _, err := j.OfferedNow(ctx)
		if err != nil {
			return fmt.Errorf("read the tools of %s: %w", peer.Execution, err)
		}
		for _, spec := range tools.Offered() {
			n, there := at[spec.Name]
			if !there {
				if n = len(data.Tools); n == maxJudgedTools {
					return nil
				}
				at[spec.Name] = n
				about, _, _ := strings.Cut(strings.TrimSpace(spec.Description), "\n")
				data.Tools = append(data.Tools, prompt.Tool{Name: spec.Name, About: clip.Text(about, maxJudgedText)})
			}
			if name := j.Agent.Name; !slices.Contains(data.Tools[n].Agents, name) {
				data.Tools[n].Agents = append(data.Tools[n].Agents, name)
			}
		}
	}
	return nil
}

// agentOf finds the agent of an execution in a plan. A dispatched agent has a number after its name.
func agentOf(p plan.Plan, execution string) (found plan.Agent, known bool) {
	names := strings.Split(execution, "/")
	stage, known := p.StageOf(names[0])
	if !known || len(names) == 1 {
		return found, false
	}
	n := slices.IndexFunc(stage.Agents, func(a plan.Agent) bool { return a.Name == names[1] })
	if n < 0 {
		return found, false
	}
	subs := names[2:]
	for i, name := range subs {
		subs[i] = name[:max(0, strings.LastIndexByte(name, '-'))]
	}
	return stage.Agents[n].Sub(strings.Join(subs, "/"))
}
