package decide

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/face/terminal"
	"github.com/inquest-dev/inquest/internal/kit/reveal"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/internal/trust/mask"
	"github.com/inquest-dev/inquest/internal/trust/remember"
	"github.com/inquest-dev/inquest/workflows"
)

// remembering returns a rule that approves calls with the same arguments as a pending call, except for arguments that have a pattern
// in the flags.
func remembering(
	ctx context.Context, c *base.CLI, id string, d workflows.Decide, f *ruleFlags,
) (st base.Store, r remember.Rule, err error) {
	if st, err = rulesStore(ctx, c); err != nil {
		return st, r, err
	}
	waiting, err := c.Client().Waiting(ctx, id)
	if err != nil {
		return st, r, err
	}
	for _, w := range waiting {
		for _, a := range w.Approvals {
			if a.Name() == d.CallID || a.CallID == d.CallID {
				if d.Digest != "" && !strings.HasPrefix(a.Digest, d.Digest) {
					return st, r, base.Usagef("the pending call is not the one that you saw: its digest is %s", a.Digest)
				}
				if f.rule.Where.Project == "" {
					f.rule.Where.Project, err = projectOf(ctx, c, w)
				}
				if err == nil {
					r, err = rememberingCall(ctx, st, w.Investigation, a, f)
				}
				return st, r, err
			}
		}
	}
	return st, r, base.Usagef("no pending call %s of %s: run `starter inbox` to see what is pending", d.CallID, id)
}

// projectOf returns the project of a waiting investigation or conversation. For a conversation, only Temporal knows it.
func projectOf(ctx context.Context, c *base.CLI, w record.Waiting) (string, error) {
	if w.Project != "" {
		return w.Project, nil
	}
	return c.Local().Project(ctx, w.WorkflowID)
}

func rememberingCall(
	ctx context.Context, st base.Store, investigation string, a record.Approval, f *ruleFlags,
) (r remember.Rule, err error) {
	if a.Remember == "" {
		why := ""
		if len(a.Notes) > 0 {
			why = " (" + strings.Join(a.Notes, " ") + ")"
		}
		return r, base.Usagef("no rule can be made from this call to %s: either the configuration does not allow it "+
			"(tool_config.remember), only certain people may approve it, the tool is critical, a person edited the arguments, some of "+
			"them are masked, the agent has read untrusted text, or the agent repeats the call%s", a.Tool, why)
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
func define(ctx context.Context, st base.Store, r *remember.Rule) error {
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
		return base.Usagef("%s is critical: rules cannot approve its calls, only a person can", r.Tool)
	}
	r.Definition = offered.Tools[n].Definition()
	return nil
}

// agreeTo shows which past calls a rule would have allowed and asks the user for confirmation.
func agreeTo(ctx context.Context, c *base.CLI, st base.Store, r remember.Rule, yes bool) error {
	p, err := previewed(ctx, st, r)
	if err != nil {
		return err
	}
	if err := printPreview(c, c.Err, r, p); err != nil || yes {
		return err
	}
	if file, ok := c.In.(*os.File); !ok || !terminal.IsTerminal(file) {
		return base.Usagef("the rule was not saved: add --yes to save it without confirmation")
	}
	if !c.SaysYes("Save this rule?") {
		return fmt.Errorf("the rule was not saved")
	}
	return nil
}

// previewed returns the past calls that a rule would have allowed. They are masked, because the user may not be allowed to see their
// investigations.
func previewed(ctx context.Context, st base.Store, r remember.Rule) (remember.Preview, error) {
	p, err := st.Preview(ctx, r)
	for n := range p.Examples {
		past := &p.Examples[n]
		past.Arguments, past.Decision = mask.Shown(ctx, past.Arguments), mask.Shown(ctx, past.Decision)
	}
	return p, err
}

// maxPreviewed is how many past calls are printed. --json prints more.
const maxPreviewed = 10

func printPreview(c *base.CLI, out io.Writer, r remember.Rule, p remember.Preview) error {
	head := []string{terminal.CleanLine(jsonText(r.String()))}
	for _, reading := range r.Readings() {
		head = append(head, "  "+terminal.CleanLine(reveal.Text(reading)))
	}
	err := c.PrintTo(out, append(head, fmt.Sprintf("It would have allowed %d of the last %s: "+
		"%d denied by a person, %d undecided, %d approved, %d made without asking.",
		p.Count(), terminal.Count(p.Looked, "call"), p.Fits[remember.Denied], p.Fits[remember.Undecided], p.Fits[remember.Approved],
		p.Fits[remember.Made]))...)
	shown := p.Examples[:min(len(p.Examples), maxPreviewed)]
	if err != nil || len(shown) == 0 {
		return err
	}
	_, err = base.PrintFitted(out, c, "OUTCOME\tINVESTIGATION\tCALL\tWHEN\tTEXT", shown, func(past remember.Past) []any {
		call := past.Execution + "/" + past.Call
		return []any{past.Fate, past.Investigation, call, past.At.UTC().Format("2006-01-02 15:04Z"), base.Shorten(jsonText(past.Arguments))}
	})
	return err
}
