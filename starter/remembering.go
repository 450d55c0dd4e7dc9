package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/mask"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/remember"
	"github.com/inquest-dev/inquest/internal/reveal"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/terminal"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/workflows"
)

// remembering returns the rule that approves calls like a pending one: with the same arguments, except for those with a pattern in the
// flags.
func (c *cli) remembering(
	ctx context.Context, id string, d workflows.Decide, f *ruleFlags,
) (st *store.Store, r remember.Rule, err error) {
	if st, err = rulesStore(ctx, c); err != nil {
		return st, r, err
	}
	waiting, err := c.client().Waiting(ctx, id)
	if err != nil {
		return st, r, err
	}
	for _, w := range waiting {
		for _, a := range w.Approvals {
			if a.Name() == d.CallID || a.CallID == d.CallID {
				if d.Digest != "" && !strings.HasPrefix(a.Digest, d.Digest) {
					return st, r, usagef("the call that waits is another one than you have seen: its digest is %s", a.Digest)
				}
				if f.rule.Where.Project == "" {
					f.rule.Where.Project, err = c.projectOf(ctx, w)
				}
				if err == nil {
					r, err = rememberingCall(ctx, st, w.Investigation, a, f)
				}
				return st, r, err
			}
		}
	}
	return st, r, usagef("no call %s of %s waits: `starter inbox` lists what does", d.CallID, id)
}

// projectOf returns the project of a waiting investigation or conversation. For a conversation, only Temporal knows it.
func (c *cli) projectOf(ctx context.Context, w record.Waiting) (string, error) {
	if w.Project != "" {
		return w.Project, nil
	}
	owned, err := c.local().ThreadOwner(ctx, w.WorkflowID)
	return owned.Project, err
}

func rememberingCall(
	ctx context.Context, st *store.Store, investigation string, a record.Approval, f *ruleFlags,
) (r remember.Rule, err error) {
	if a.Remember == "" {
		return r, usagef("calls of %s are not remembered: the configuration does not say so (tool_config.remember), it is critical, "+
			"a part of its arguments is masked, or the agent has read untrusted text (%s)", a.Tool, strings.Join(a.Notes, " "))
	}
	var iteration, n int
	if _, err := fmt.Sscanf(a.CallID, "c%d_%d", &iteration, &n); err != nil {
		return r, fmt.Errorf("the call %s has no number: %w", a.CallID, err)
	}
	reply, err := st.Reply(ctx, transcript.Scope{Investigation: investigation, Execution: a.Execution}, iteration)
	if err != nil {
		return r, err
	}
	if n >= len(reply.Calls) {
		return r, fmt.Errorf("the store has no call %s", a.Name())
	}
	args, err := remember.Parse(reply.Calls[n].Arguments)
	if err != nil {
		return r, fmt.Errorf("read the arguments of %s: %w", a.Name(), err)
	}
	f.rule.Tool, f.rule.Definition = a.Tool, a.Remember
	if args == nil {
		args = map[string]any{}
	}
	return f.made(args)
}

// define binds a rule to the latest description of the tool from its server. Rules for critical tools are refused.
func define(ctx context.Context, st *store.Store, r *remember.Rule) error {
	server, _ := tool.Split(r.Tool)
	offered, err := st.LastOffer(ctx, server)
	if err != nil {
		return err
	}
	n := slices.IndexFunc(offered.Tools, func(s tool.Spec) bool { return s.Name == r.Tool })
	if n < 0 {
		return nil
	}
	if offered.Tools[n].Risk == agent.RiskCritical {
		return usagef("%s is critical: a person approves each call, and no rule does", r.Tool)
	}
	r.Definition = offered.Tools[n].Definition()
	return nil
}

// agreeTo shows which past calls a rule would have allowed and asks the user for confirmation.
func (c *cli) agreeTo(ctx context.Context, st *store.Store, r remember.Rule, yes bool) error {
	p, err := previewed(ctx, st, r)
	if err != nil {
		return err
	}
	if err := c.printPreview(c.err, r, p); err != nil || yes {
		return err
	}
	if file, ok := c.in.(*os.File); !ok || !terminal.IsTerminal(file) {
		return usagef("the rule is not saved: add --yes")
	}
	if !c.saysYes("Save this rule?") {
		return fmt.Errorf("the rule was not saved")
	}
	return nil
}

// previewed returns the past calls that a rule would have allowed. They are masked, because the user may not be allowed to see their
// investigations.
func previewed(ctx context.Context, st *store.Store, r remember.Rule) (remember.Preview, error) {
	p, err := st.Preview(ctx, r)
	for n := range p.Examples {
		past := &p.Examples[n]
		past.Arguments, past.Decision = mask.Shown(ctx, past.Arguments), mask.Shown(ctx, past.Decision)
	}
	return p, err
}

// maxPreviewed is how many past calls are printed. --json prints more.
const maxPreviewed = 10

func (c *cli) printPreview(out io.Writer, r remember.Rule, p remember.Preview) error {
	head := []string{terminal.CleanLine(jsonText(r.String()))}
	for _, reading := range r.Readings() {
		head = append(head, "  "+terminal.CleanLine(reveal.Text(reading)))
	}
	err := c.printTo(out, append(head, fmt.Sprintf("It would have let through %d of the last %d calls: "+
		"%d that a person denied, %d that nobody decided, %d approved, %d made unasked.",
		p.Count(), p.Looked, p.Fits[remember.Denied], p.Fits[remember.Undecided], p.Fits[remember.Approved], p.Fits[remember.Made]))...)
	shown := p.Examples[:min(len(p.Examples), maxPreviewed)]
	if err != nil || len(shown) == 0 {
		return err
	}
	_, err = printFitted(out, c, "FATE\tINVESTIGATION\tCALL\tWHEN\tTEXT", shown, func(past remember.Past) []any {
		call := past.Execution + "/" + past.Call
		return []any{past.Fate, past.Investigation, call, past.At.UTC().Format("2006-01-02 15:04Z"), shorten(jsonText(past.Arguments))}
	})
	return err
}
