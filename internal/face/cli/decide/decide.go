// Package decide has the commands with which people decide, answer and steer.
package decide

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/face/inbox"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/workflows"
)

// decision holds the flags of the decide command.
type decision struct {
	workflows.Decide
	approve, deny, all bool
	edit               string
	always             bool
	rule               ruleFlags
}

// NewDecide returns the command decide.
func NewDecide(c *base.CLI) *cobra.Command {
	var d decision
	cmd := &cobra.Command{
		Use:   "decide N…|ID CALL|--all --approve|--deny|…",
		Short: "Decide on tool calls that need approval",
		Long: `Decide on tool calls that need approval. N are numbers from the inbox; --all means every
call that the inbox has shown. A number identifies only the call that the inbox showed with it,
and each call is decided separately. Instead of N, you can give ID and CALL, where CALL is
<execution>/<call> as inbox prints it, or only the last part if it is unambiguous. A call
can be decided only once. A denied call is not made, and the agent gets the reason. With
--digest, only a call with that digest is decided; its first 12 characters are enough.

--edit approves the call with other arguments, which the tool's schema and the agent's
policy must allow; the agent is informed. --ask sends the agent a question and does not make
the call; the agent can request the call again. --hand-to passes the decision to a
group, a role, or a person as @name. The decision is recorded for your operating system
user and groups (with --server, for the owner of the token); --by only adds a name.

With --always, similar calls need no approval from then on: calls with the same
arguments, except where --where gives a pattern. Before the rule is saved, you see which
past calls it would have allowed (starter rules --help).`,
		Example: `  starter decide 1 --approve
  starter decide 1 2 5 --deny --reason "not on a Friday"
  starter decide 3 --edit '{"pod":"db-2"}'
  starter decide 1 --approve --always --for 8h --where "namespace=dev-*"
  starter decide 3 --ask "what restarts it afterwards?"
  starter decide lab dig/Alpha/c1_0 --digest 5f2c09ab77d1 --approve`,
		Args: d.args,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := d.read(c, len(args) > 1 && areNumbers(args) || d.all); err != nil {
				return err
			}
			switch {
			case d.all:
				return d.decideAll(cmd.Context(), c)
			case areNumbers(args):
				return d.decideNumbers(cmd.Context(), c, args)
			case len(args) == 1:
				return base.Usagef("no call given for %s: run `starter inbox %[1]s` to list its pending calls", args[0])
			}
			d.CallID = args[1]
			return d.decide(cmd.Context(), c, args[0], d.Decide)
		},
		ValidArgsFunction: completeWaiting(c, isCall),
	}
	d.flags(c, cmd)
	return cmd
}

func (d *decision) flags(c *base.CLI, cmd *cobra.Command) {
	set := cmd.Flags()
	set.BoolVar(&d.approve, "approve", false, "approve the call")
	set.BoolVar(&d.deny, "deny", false, "deny the call")
	set.StringVar(&d.edit, "edit", "", "approve the call with these arguments, a JSON object: text, @file, or - for standard input")
	set.StringVar(&d.Ask, "ask", "", "do not make the call, and ask the agent this question")
	set.StringVar(&d.HandTo, "hand-to", "", "pass the decision to a group, a role, or a person as @name")
	set.BoolVar(&d.always, "always", false, "with --approve: also save a rule that approves similar calls")
	d.rule.add(cmd)
	set.BoolVar(&d.rule.yes, "yes", false, "with --always: save the rule without confirmation")
	set.BoolVar(&d.all, "all", false, "decide on every call that the inbox has shown")
	set.StringVar(&d.Reason, "reason", "", "the reason, shown to the agent")
	set.StringVar(&d.By, "by", base.UserName(), "name recorded with the decision")
	set.StringVar(&d.Digest, "digest", "", "digest of the call that you saw, or its first 12 characters")
	set.BoolVar(&c.JSON, "json", false, "print the decision as JSON")
}

// args accepts inbox numbers, an ID and a call, or nothing with --all.
func (d *decision) args(_ *cobra.Command, args []string) error {
	if d.all == (len(args) == 0) && (d.all || areNumbers(args) || len(args) <= 2 && len(args) > 0) {
		return nil
	}
	return base.Usagef("expected numbers from the inbox, or ID and CALL, or --all without arguments: starter inbox lists what is pending")
}

// areNumbers reports whether all arguments are inbox numbers.
func areNumbers(args []string) bool {
	return len(args) > 0 && !slices.ContainsFunc(args, func(arg string) bool {
		_, err := strconv.Atoi(strings.TrimPrefix(arg, "#"))
		return err != nil
	})
}

// read evaluates the flags for one call or several.
func (d *decision) read(c *base.CLI, several bool) error {
	said := 0
	for _, is := range []bool{d.approve || d.edit != "", d.deny, d.Ask != "", d.HandTo != ""} {
		if is {
			said++
		}
	}
	switch {
	case said != 1:
		return base.Usagef("set exactly one of --approve, --deny, --edit, --ask and --hand-to")
	case d.always && (several || !d.approve || d.edit != ""):
		return base.Usagef("--always needs a single call that is approved unchanged")
	case several && (d.edit != "" || d.Digest != ""):
		return base.Usagef("--edit and --digest need a single call")
	case d.approve || d.deny || d.edit != "":
		d.Approved = new(!d.deny)
	}
	d.Identity = base.Identity()
	if d.edit == "" {
		return nil
	}
	text, err := c.Text("--edit", d.edit)
	if err == nil && !json.Valid([]byte(text)) {
		err = base.Usagef("--edit is not valid JSON")
	}
	d.Arguments = json.RawMessage(text)
	return err
}

// decideNumbers decides the calls with these inbox numbers. A failure does not affect the others.
func (d *decision) decideNumbers(ctx context.Context, c *base.CLI, args []string) (failed error) {
	for _, arg := range args {
		found, numbered, err := asListed(ctx, c, []string{arg})
		switch {
		case err == nil && !numbered:
			err = base.Usagef("no call given for %s: run `starter inbox %[1]s` to list its pending calls", arg)
		case err == nil && found.Kind != kindApproval:
			err = base.Usagef("number %d is a question (%s): run `starter answer %[1]d` to answer it", found.N, found.Kind)
		case err == nil:
			err = d.listed(ctx, c, found)
		}
		failed = errors.Join(failed, err)
	}
	return failed
}

func (d *decision) listed(ctx context.Context, c *base.CLI, found inbox.Item) error {
	one := d.Decide
	one.CallID, one.Digest = found.Name, cmp.Or(d.Digest, found.Digest)
	return d.decide(ctx, c, found.Investigation, one)
}

// decideAll decides every call that the inbox has listed and that is still pending unchanged.
func (d *decision) decideAll(ctx context.Context, c *base.CLI) error {
	waiting, failed := c.Client().Waiting(ctx, "")
	var items []*inbox.Item
	for _, one := range slices.DeleteFunc(urgent(waiting), func(one thing) bool { return !isCall(one) }) {
		key := one.key()
		items = append(items, &key)
	}
	known, err := numbers(c)
	if err == nil {
		err = known.Find(items)
	}
	if err != nil {
		return err
	}
	unseen := 0
	for _, item := range items {
		if item.N == 0 {
			unseen++
			continue
		}
		failed = errors.Join(failed, d.listed(ctx, c, *item))
	}
	if unseen > 0 {
		c.Say("new calls that the inbox has not shown: %d; run `starter inbox` to see them", unseen)
	}
	return failed
}

func decide(ctx context.Context, c *base.CLI, id string, d workflows.Decide) error {
	out, err := c.Client().Decide(ctx, id, d)
	return answered(ctx, c, err, "the decision about "+cmp.Or(out.Call, d.CallID), "starter inbox", out, decisionLine(out))
}

// decide decides one call. With --always, it saves the rule after the decision.
func (d *decision) decide(ctx context.Context, c *base.CLI, id string, one workflows.Decide) error {
	if !d.always {
		return decide(ctx, c, id, one)
	}
	d.rule.rule.By = one.By
	st, r, err := remembering(ctx, c, id, one, &d.rule)
	if err != nil {
		return err
	}
	if err := agreeTo(ctx, c, st, r, d.rule.yes); err != nil {
		return err
	}
	if err := decide(ctx, c, id, one); err != nil {
		return err
	}
	if err := st.AddRule(ctx, r); err != nil {
		return fmt.Errorf("the call was approved, but the rule was not saved: %w", err)
	}
	c.Say("rule %s saved", r.ID)
	return nil
}

func decisionLine(out system.Decided) string {
	return fmt.Sprintf("%s: %s (%s) %s", out.ID, out.Call, out.Tool, out.Decision)
}

// numberOr accepts an inbox number, or an ID and the name of a pending item.
func numberOr(name string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) < 1 || len(args) > 2 {
			return base.Usagef("expected a number from the inbox, or ID and %s: starter inbox lists what is pending", name)
		}
		return nil
	}
}
