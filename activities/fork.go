package activities

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/activities/internal/job"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/fork"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/internal/trust/audit"
)

// forkOf returns the plan of a fork. It has the prompts of the other investigation, unless the request replaces them, and its models,
// unless the request names a provider; permissions and limits are those of the current configuration. It completes r. If Temporal has
// reset the fork, the plan of its earlier run already says what is shared; earlier is the hash of that plan, or empty.
func (a resolver) forkOf(ctx context.Context, r *record.Investigation, req agent.Request, earlier string) (plan.Plan, error) {
	of, p, err := a.forked(ctx, req)
	if err != nil {
		return p, err
	}
	var texts map[int64]string
	if earlier != "" {
		before, err := a.ReadPlan(ctx, earlier)
		if err != nil {
			return p, err
		}
		p.Fork = before.Fork
	} else if p.Fork, texts, err = a.cut(ctx, p, of, req); err != nil {
		return p, err
	}
	fork.Apply(&p)
	if err := a.useCurrent(ctx, &p, of, req); err != nil {
		return p, err
	}
	if err := a.keepResults(ctx, p, texts); err != nil {
		return p, err
	}
	if req.Trial {
		if err := p.Try(); err != nil {
			return p, refusal(err)
		}
	}
	if r.Labels, err = a.forkLabels(ctx, p, of, req); err != nil {
		return p, err
	}
	r.Chain, r.AlertType, r.DataHash, r.Overrides = of.Chain, of.AlertType, of.DataHash, of.Overrides
	shared := &record.Fork{
		Of: of.ID, At: p.Fork.At, Rows: p.Fork.Rows, Changes: p.Fork.Changes(), Tools: p.Fork.Tools, Given: notLookedAt(p.Fork),
	}
	for _, c := range p.Fork.Left[:min(len(p.Fork.Left), maxLeft)] {
		shared.Left = append(shared.Left, job.Preview(c.String()))
	}
	r.Envelope = firstEnvelope(p, req)
	r.Envelope.Fork = shared
	return p.Versioned(), nil
}

// notLookedAt lists the agents that a fork leaves out, and the tools whose shared results it or an earlier fork leaves out or replaces.
func notLookedAt(f *plan.Fork) (all []record.NotChecked) {
	person := cmp.Or(f.By, "a person")
	for _, l := range f.LeftOut {
		by := person
		if l.Earlier {
			by = "an earlier fork"
		}
		if l.Agent != "" {
			all = append(all, record.NotChecked{Server: l.Agent, Why: by + " left this agent out"})
		}
	}
	for _, g := range f.Given {
		_, name, _ := strings.Cut(g.Execution, "/")
		why := fmt.Sprintf("%s gave the result of row %d", f.Author(g), g.Row)
		switch {
		case f.LeavesOut(g.Row):
			why = fmt.Sprintf("%s left out the result of row %d", person, g.Row)
		case g.By == plan.NoteBy:
			why = fmt.Sprintf("an earlier fork left out the result of row %d", g.Row)
		}
		all = append(all, record.NotChecked{Server: g.Tool, Agents: []string{name}, Why: why})
	}
	return all
}

// maxLeft limits the calls in the record of a fork that it has left out.
const maxLeft = 20

// forked returns the investigation that a request forks, and its plan.
func (a resolver) forked(ctx context.Context, req agent.Request) (of record.Investigation, p plan.Plan, err error) {
	of, err = a.Records.Investigation(ctx, req.Fork.Of)
	switch project := cmp.Or(req.Project, agent.DefaultProject); {
	case errors.Is(err, record.ErrNotFound):
		return of, p, refusal(fmt.Errorf("fork: no investigation with ID %q in the workers' store", req.Fork.Of))
	case err != nil:
		return of, p, err
	case cmp.Or(of.Project, agent.DefaultProject) != project: // its content must not get into another project
		return of, p, refusal(fmt.Errorf("fork: %s does not belong to project %s", of.ID, project))
	case of.PlanHash == "":
		return of, p, refusal(fmt.Errorf("fork: %s ended before it had a plan: run `starter rerun %s` instead", of.ID, of.ID))
	}
	p, err = a.ownPlan(ctx, of.PlanHash)
	return of, p, err
}

// ownPlan returns a copy of a plan. Plans that ReadPlan returns must not be changed.
func (a resolver) ownPlan(ctx context.Context, hash string) (p plan.Plan, err error) {
	kept, err := a.ReadPlan(ctx, hash)
	if err != nil {
		return p, err
	}
	text, err := json.Marshal(kept)
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	return p, err
}

// cut decides what is shared. It also returns the texts that replace results, by their numbers, masked like the request.
func (a resolver) cut(
	ctx context.Context, p plan.Plan, of record.Investigation, req agent.Request,
) (*plan.Fork, map[int64]string, error) {
	entries, err := a.Transcripts.After(ctx, of.ID, 0, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("read the transcript of %s: %w", of.ID, err)
	}
	asked, err := req.Fork.Masked(func(text string) (string, error) { return a.MaskData(ctx, p, job.RequestData, text) })
	if err != nil {
		return nil, nil, err
	}
	f, texts, err := fork.Cut(p, entries, asked)
	if err != nil {
		return nil, nil, refusal(fmt.Errorf("fork %s: %w", of.ID, err))
	}
	f.Of, f.By, f.Guide, f.Tools = of.ID, req.By, asked.Guide, asked.Tools
	if f.Tools != "" {
		f.Tape, err = a.keepTape(ctx, entries, f)
	}
	return &f, texts, err
}

// keepTape stores what answers the tool calls of a fork.
func (a resolver) keepTape(ctx context.Context, entries []transcript.Entry, f plan.Fork) (hash string, err error) {
	tape := fork.Tape{Results: fork.Record(entries, f), Servers: map[string]string{}}
	executions, err := a.Records.Executions(ctx, f.Of)
	if err != nil {
		return "", fmt.Errorf("read the agents of %s: %w", f.Of, err)
	}
	for _, e := range executions {
		hashes, err := a.Transcripts.Catalogues(ctx, transcript.Scope{Investigation: f.Of, Execution: e.Name})
		if err != nil {
			return "", fmt.Errorf("read the tools of %s: %w", e.Name, err)
		}
		for _, hash := range hashes {
			kept, err := a.Offers.Get(ctx, a.Blobs, "tool catalogue", hash)
			if err != nil {
				return "", err
			}
			if _, known := tape.Servers[kept.Server]; kept.Error == "" && (kept.Partial == "" || !known) {
				tape.Servers[kept.Server] = hash
			}
		}
	}
	text, err := json.Marshal(tape)
	if err == nil {
		hash, err = a.Blobs.PutBlob(ctx, text)
	}
	if err != nil {
		return "", fmt.Errorf("keep the recorded results of %s: %w", f.Of, err)
	}
	return hash, nil
}

// keepResults stores the texts that replace results, masked like results of their tools in the current configuration.
func (a resolver) keepResults(ctx context.Context, p plan.Plan, texts map[int64]string) error {
	err := fork.MaskResults(p, *p.Fork, texts, func(masking *plan.Masking, text string) (string, error) {
		return a.MaskData(ctx, plan.Plan{AlertMasking: masking}, "a result", text)
	})
	if err != nil || len(texts) == 0 {
		return err
	}
	p.Fork.Results = map[int64]string{}
	for _, row := range slices.Sorted(maps.Keys(texts)) {
		if p.Fork.Results[row], err = a.Blobs.PutBlob(ctx, []byte(texts[row])); err != nil {
			return fmt.Errorf("keep the result of row %d: %w", row, err)
		}
	}
	return nil
}

// useCurrent gives a plan the permissions, tools and limits of the current configuration, which may be stricter than the plan, and the
// models if the request names a provider. Agents are the same if their stage and name are.
func (a resolver) useCurrent(ctx context.Context, p *plan.Plan, of record.Investigation, req agent.Request) error {
	asked := agent.Request{
		Chain: of.Chain, AlertType: of.AlertType, Provider: req.Provider, AllowEmpty: true, Attach: true, Overrides: of.Overrides,
		Labels: agent.Labels{Project: req.Project},
	}
	now, err := a.Planner.Plan(ctx, asked, "")
	if later := notYet(ctx, err); later != nil {
		return later
	}
	if err != nil {
		return refusal(fmt.Errorf("fork %s: the current configuration does not allow it: %w", of.ID, err))
	}
	current := maps.Collect(now.AgentsByPlace())
	var missing []string
	for place, one := range p.AgentsByPlace() {
		with := current[place]
		if with == nil && strings.HasPrefix(place, ":") { // the summary or the judge, which people may have turned off
			continue
		}
		if with == nil || req.Provider != "" && len(one.Providers) > 0 && len(with.Providers) == 0 {
			missing = append(missing, place)
			continue
		}
		one.Tools, one.Servers, one.ToolIDs, one.Shell = with.Tools, slices.Clone(with.Servers), with.ToolIDs, with.Shell
		if req.Fork.Tools == agent.ForkTape {
			for n := range one.Servers { // no worker beside the servers is needed
				one.Servers[n].TaskQueue = ""
			}
		}
		if req.Provider != "" {
			one.Providers, one.SkippedFallbacks, one.LLMBackend = with.Providers, with.SkippedFallbacks, with.LLMBackend
			one.Compression, one.Temperature, one.MaxTokens = with.Compression, with.Temperature, with.MaxTokens
		}
	}
	if slices.Sort(missing); len(missing) > 0 {
		return refusal(fmt.Errorf("fork %s: the current configuration has no such agents: %s", of.ID, strings.Join(missing, ", ")))
	}
	p.Bounds, p.Timeout = now.Bounds, now.Timeout
	if of.Envelope.Trial { // its plan lacks these
		shown := p.Memory
		if p.Scoring, p.Learning, p.Memory = now.Scoring, now.Learning, now.Memory; p.Memory != nil && shown != nil {
			p.Memory.Shown = shown.Shown
		}
	}
	return nil
}

// forkLabels returns the labels of a fork: those of the other investigation, with the ones in the request.
func (a resolver) forkLabels(ctx context.Context, p plan.Plan, of record.Investigation, req agent.Request) (agent.Labels, error) {
	added, err := req.Labels.Masked(func(text string) (string, error) { return a.MaskData(ctx, p, job.RequestData, text) })
	if err != nil {
		return agent.Labels{}, err
	}
	if req.Tenant != "" && req.Tenant != of.Tenant {
		return agent.Labels{}, refusal(fmt.Errorf("fork: %s has tenant %q: a fork must, too", of.ID, of.Tenant))
	}
	labels := of.Labels
	if labels.Fingerprint = ""; of.Envelope.Schedule != nil { // its session is for what the schedule itself starts
		labels.Session = ""
	}
	labels.Session, labels.Priority = cmp.Or(added.Session, labels.Session), cmp.Or(added.Priority, labels.Priority)
	labels.Metadata = maps.Clone(of.Metadata)
	if labels.Metadata == nil {
		labels.Metadata = map[string]string{}
	}
	delete(labels.Metadata, agent.TraceParent) // the trace of the other investigation
	maps.Copy(labels.Metadata, added.Metadata)
	labels.Metadata[agent.ForkedFrom] = of.ID
	if err := (agent.Request{Labels: labels}).Validate(); err != nil {
		return labels, refusal(fmt.Errorf("fork %s: with its own labels, %w", of.ID, err))
	}
	return labels, nil
}

// shareEntries copies what a fork shares with the investigation that it was forked from, and records the fork in the audit trail of that
// one.
func (a resolver) shareEntries(ctx context.Context, r record.Investigation, f *plan.Fork) error {
	if f == nil {
		return nil
	}
	sharing := fork.Sharing(*f)
	sharing.Fork, sharing.Given = r.ID, map[int64]transcript.Given{}
	for _, g := range f.Given {
		hash := f.Results[g.Row]
		if hash == "" {
			continue
		}
		text, err := a.Blobs.Blob(ctx, hash)
		if err != nil {
			return fmt.Errorf("read the result of row %d: %w", g.Row, err)
		}
		given := transcript.Given{Text: job.Beginning(string(text), job.MaxInlineResult), Size: len(text), By: f.Author(g)}
		if len(text) > job.MaxInlineResult {
			given.Blob = hash
		}
		sharing.Given[g.Row] = given
	}
	err := a.Transcripts.Share(ctx, sharing)
	if errors.Is(err, record.ErrChanged) {
		return refusal(fmt.Errorf("fork: Temporal has reset %s meanwhile: fork it again", f.Of))
	}
	if err != nil {
		return err
	}
	return a.Records.Audit(ctx, audit.Act{
		Investigation: f.Of, At: a.Now(ctx), What: audit.Forked, Who: f.By, Key: "forked " + r.ID,
		Detail: audit.Detail("fork", r.ID, "at", f.At, "changes", job.Preview(strings.Join(f.Changes(), "; "))),
	})
}

// addCoverage counts how the calls of a fork were answered, and lists the tools that have no recorded result for some.
func (a recorder) addCoverage(ctx context.Context, investigation string, e *record.Envelope) error {
	if e.Fork == nil || e.Fork.Tools == "" {
		return nil
	}
	entries, err := a.Transcripts.After(ctx, investigation, 0, 0)
	if err != nil {
		return fmt.Errorf("read the tool results of %s: %w", investigation, err)
	}
	counted := *e.Fork
	e.Fork, counted.Coverage = &counted, &agent.Coverage{}
	missed := map[string]int{}
	for _, entry := range entries {
		if entry.Superseded || entry.Shared > 0 || entry.Kind != transcript.KindResult || entry.Call == nil || entry.Call.Inward() {
			continue
		}
		switch {
		case entry.Recorded != "":
			counted.Coverage.Hits++
		case entry.ErrorType == tool.ErrorNotRecorded:
			counted.Coverage.Misses++
			missed[entry.Call.Name+" "+entry.Execution]++
		case counted.Tools == agent.ForkLive && !entry.Refused && (fork.Returned(entry.ErrorType) || entry.ErrorType == tool.ErrorUnavailable):
			counted.Coverage.Live++
		}
	}
	for _, key := range slices.Sorted(maps.Keys(missed)) {
		name, execution, _ := strings.Cut(key, " ")
		_, by, _ := strings.Cut(execution, "/")
		why := fmt.Sprintf("%s has no result of this call", e.Fork.Of)
		if n := missed[key]; n > 1 {
			why = fmt.Sprintf("%s has no results of %d of the calls", e.Fork.Of, n)
		}
		e.NotChecked = append(e.NotChecked, record.NotChecked{Server: name, Agents: []string{by}, Why: why})
	}
	return nil
}
