package faults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	"go.temporal.io/sdk/temporal"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/workflows"
)

// check examines the outcome of a run.
func (r *run) check(ctx context.Context) []string {
	r.checkEnd(ctx)
	all, err := r.store.After(ctx, r.investigation(), 0, 0)
	if err != nil {
		r.problem("read the log: %v", err)
	}
	for i, e := range all {
		if e.Seq != int64(i+1) || e.Superseded {
			r.problem("entry %d has number %d, superseded %t", i+1, e.Seq, e.Superseded)
		}
	}
	for _, name := range r.executions() {
		entries, err := r.store.Entries(ctx, r.scope(name))
		if err != nil {
			r.problem("read %s: %v", name, err)
		}
		c := checker{run: r, worker: r.agents[name], execution: name, entries: entries}
		c.checkReplies()
		c.checkUnasked()
		if r.fork == nil { // the agents of the other investigation share the memory
			c.checkMemory(ctx)
		}
		c.checkIsolation()
	}
	return r.problems
}

// checkEnd checks that the run ended by itself, that the workflow and the record agree, and that an error is of
// a known kind.
func (r *run) checkEnd(ctx context.Context) {
	if !r.env.IsWorkflowCompleted() {
		r.problem("it does not end: %v", r.env.GetWorkflowError())
		return
	}
	err := r.env.GetWorkflowError()
	if r.talking {
		if err != nil || r.replies != turns {
			r.problem("%d of %d turns were answered: %v", r.replies, turns, err)
		}
		return
	}
	var result workflows.InvestigationResult
	if failed, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		err = failed.Details(&result)
	} else if err == nil {
		err = r.env.GetWorkflowResult(&result)
	}
	for _, name := range r.executions() {
		failed, ok := errors.AsType[*temporal.ApplicationError](r.env.GetWorkflowErrorByID(r.investigation() + "/" + name))
		if ok && !slices.Contains(knownErrors, failed.Type()) {
			r.problem("%s failed with an error of type %q: %v", name, failed.Type(), failed)
		}
	}
	inv, readErr := r.store.Investigation(ctx, r.investigation())
	if err := errors.Join(err, readErr); err != nil {
		r.problem("the end: %v", err)
	}
	if inv.Status != result.Status || !inv.Status.Closed() || inv.EndedAt == nil || inv.Report != result.Report {
		r.problem("the record says %s (%q), the workflow %s (%q)", inv.Status, inv.Report, result.Status, result.Report)
	}
}

// knownErrors are the types of errors that may end a run: those of the model, and of a store that fails
// permanently.
var knownErrors = []string{
	"RateLimited", "ModelUnavailable", "StreamStalled", "ReplyTruncated", "CredentialsRefused", activities.ErrorEmptyReply,
	activities.ErrorStore, activities.ErrorTimeout, activities.ErrorFailedBefore,
}

// checker checks one execution.
type checker struct {
	*run
	worker
	execution string
	entries   []transcript.Entry
}

// checkReplies checks that every call of a reply that is not the last has one result, that no forbidden call
// was made, that no non-repeatable call was made twice, and that no model was paid twice for a stored reply.
func (c checker) checkReplies() {
	results := map[transcript.Key]transcript.Entry{}
	var replies []transcript.Entry
	for _, e := range c.entries {
		switch e.Kind {
		case transcript.KindReply:
			replies = append(replies, e)
		case transcript.KindResult:
			results[e.Key] = e
		}
	}
	for i, reply := range replies {
		if reply.Shared > 0 {
			c.checkShared(reply, results)
			continue
		}
		for n, call := range reply.Calls {
			result, ok := results[transcript.ResultKey(reply.Iteration, n)]
			if !ok && i+1 < len(replies) {
				c.problem("%s: call %d of iteration %d has no result", c.execution, n, reply.Iteration)
			}
			if ok {
				c.checkCall(reply.Iteration, n, call, result)
			}
		}
		lost, want := c.lostReplies(reply.Iteration), 0
		if c.row.Pattern.Model() {
			want = 1 + lost
		}
		late := c.stragglers(reply.Iteration)
		if paid := c.paid[[2]any{c.execution, reply.Iteration}]; paid < want || paid > want+late {
			c.problem("%s: iteration %d was answered %d times, %d of them could not be written, %d attempts stood still",
				c.execution, reply.Iteration, paid, lost, late)
		}
	}
}

// lostReplies returns how often the reply of an iteration could not be written.
func (c checker) lostReplies(iteration int) (n int) {
	c.faults.mu.Lock()
	defer c.faults.mu.Unlock()
	for _, what := range c.hit[c.execution] {
		if strings.HasPrefix(what, fmt.Sprintf("write append %d/0 in %d/0 ", iteration, iteration)) {
			n++
		}
	}
	return n
}

// stragglers returns how many attempts at an iteration's model call stalled.
func (c checker) stragglers(iteration int) (n int) {
	for _, s := range c.stood {
		if s.activity == "Generate" && s.execution == c.execution && s.iteration == iteration {
			n++
		}
	}
	return n
}

func (c checker) checkCall(iteration, n int, call transcript.Call, result transcript.Entry) {
	where := fmt.Sprintf("%s: call %d of iteration %d, %s", c.execution, n, iteration, call.Name)
	done := c.lab.done[fmt.Sprintf("%s/%s/%d/%d", c.investigation(), c.execution, iteration, n)]
	allowed := slices.Contains(c.effective(), call.Name) ||
		slices.Contains(wireNames(c.effective()), call.Name) // its server had no list when the model replied
	success := result.Status == string(tool.StatusSuccess)
	switch {
	case result.Call.ID != call.ID:
		c.problem("%s has the result of %s", where, result.Call.ID)
	case !allowed && (success || done > 0 || result.ErrorType != tool.ErrorPermissionDenied && result.ErrorType != tool.ErrorUnknownTool):
		c.problem("%s is not the agent's: %s %s, done %d times", where, result.Status, result.ErrorType, done)
	case result.Recorded != "":
		c.checkRecorded(where, call, result, done)
	case c.fork != nil && c.fork.Tools == agent.ForkTape && strings.HasPrefix(call.Name, "lab.") && (success || done > 0):
		c.problem("%s was done %d times, though a tape answers calls: %s", where, done, result.Status)
	case call.Name == "lab.once" && (done > 1 || success && done != 1):
		c.problem("%s was done %d times, and the result is %s", where, done, result.Status)
	case call.Name == "lab.once" && done > 0 && !success && result.ErrorType != tool.ErrorOutcomeUnknown:
		c.problem("%s was done, and the model was told %s: %s", where, result.ErrorType, result.Text)
	case strings.HasPrefix(call.Name, "lab.") && success && done == 0:
		c.problem("%s was never done", where)
	case !success && result.ErrorType == "":
		c.problem("%s failed without a type: %s", where, result.Text)
	}
}

// memories is the content of an agent's memory.
type memories struct {
	blocks   map[string]string
	archival []string
}

// remembered replays the successful memory calls in their original order.
func remembered(w worker, entries []transcript.Entry) memories {
	out := memories{blocks: map[string]string{}}
	for _, b := range w.plan.MemoryBlocks {
		out.blocks[b.Label] = b.Value
	}
	for _, e := range slices.SortedFunc(slices.Values(entries), bySeq) {
		if e.Kind != transcript.KindResult || e.Status != string(tool.StatusSuccess) {
			continue
		}
		var args struct {
			Label, Content string
			Old            string `json:"old_content"`
			New            string `json:"new_content"`
		}
		_ = json.Unmarshal([]byte(e.Call.Arguments), &args)
		switch old := out.blocks[args.Label]; e.Call.Name {
		case agent.ToolCoreMemoryAppend:
			out.blocks[args.Label] = strings.TrimPrefix(old+"\n"+args.Content, "\n")
		case agent.ToolCoreMemoryReplace:
			out.blocks[args.Label] = strings.ReplaceAll(old, args.Old, args.New)
		case agent.ToolArchivalMemoryInsert:
			out.archival = append(out.archival, args.Content)
		}
	}
	return out
}

// checkMemory checks that exactly the successful changes are stored, once each.
func (c checker) checkMemory(ctx context.Context) {
	if !c.row.Remembers() {
		return
	}
	got := memories{blocks: map[string]string{}}
	saved, err := c.store.ExportMemory(ctx, c.worker.plan.Definition)
	if err != nil && !(errors.Is(err, store.ErrNotFound) && len(c.entries) == 0) {
		c.problem("read the memory of %s: %v", c.execution, err)
	}
	for _, b := range saved.Blocks {
		got.blocks[b.Label] = b.Value
	}
	for _, e := range saved.Archival {
		got.archival = append(got.archival, e.Content)
	}
	want := remembered(c.worker, c.entries)
	if len(c.entries) == 0 && err != nil {
		return
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(memories{})); diff != "" {
		c.problem("%s: memory (-what the results say +stored):\n%s", c.execution, diff)
	}
}

// checkIsolation checks that no result and no memory contains another agent's words.
func (c checker) checkIsolation() {
	for _, e := range c.entries {
		if e.Kind != transcript.KindResult {
			continue
		}
		for _, other := range c.executions() {
			if other != c.execution && strings.Contains(e.Text, "<"+other+"/") {
				c.problem("%s: call %s returns what %s said: %s", c.execution, e.Call.ID, other, e.Text)
			}
		}
	}
}
