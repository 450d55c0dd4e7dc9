package main

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

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/internal/inbox"
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

func decideCommand(c *cli) *cobra.Command {
	var d decision
	cmd := &cobra.Command{
		Use:   "decide N…|ID CALL|--all --approve|--deny|…",
		Short: "Decide on tool calls that wait for a person",
		Long: `Decide on tool calls that wait for a person. N are their numbers in the inbox; only
what was seen there under them is decided, each with an outcome of its own, and with
--all each that it has shown. Else CALL is <execution>/<call>, as inbox prints it, or
its last part alone if only one call has it. A call is decided once; a denied one is
not made, and the agent is told the reason. With --digest only the call with that
digest is decided; its first 12 characters are enough.

--edit approves the call with other arguments, which the tool's schema and the agent's
policy have to allow; the agent is told. --ask puts a question to the agent in the
place of the call, which it may ask for again. --hand-to leaves the decision to a
group, a role, or a person as @name. Who decides is the user of the operating system,
with his groups: --by is no more than a name beside that.

With --always, calls like this one need nobody's word from then on: with the same
arguments, but for those that --where has a pattern for. Before that is saved you see
which past calls the rule would have let through (starter rules --help).`,
		Example: `  starter decide 1 --approve
  starter decide 1 2 5 --deny --reason "not on a Friday"
  starter decide 3 --edit '{"pod":"db-2"}'
  starter decide 1 --approve --always --for 8h --where "namespace=dev-*"
  starter decide 3 --ask "what restarts it afterwards?"
  starter decide lab dig/Alpha/c1_0 --digest 5f2c09ab77d1 --approve`,
		Args: d.args,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := d.read(c, len(args) > 1 && numbers(args) || d.all); err != nil {
				return err
			}
			switch {
			case d.all:
				return d.decideAll(cmd.Context(), c)
			case numbers(args):
				return d.decideNumbers(cmd.Context(), c, args)
			case len(args) == 1:
				return usagef("which call of %s? `starter inbox %[1]s` lists them", args[0])
			}
			d.CallID = args[1]
			return d.decide(cmd.Context(), c, args[0], d.Decide)
		},
		ValidArgsFunction: completeWaiting(c, isCall),
	}
	d.flags(c, cmd)
	return cmd
}

func (d *decision) flags(c *cli, cmd *cobra.Command) {
	set := cmd.Flags()
	set.BoolVar(&d.approve, "approve", false, "have the call made")
	set.BoolVar(&d.deny, "deny", false, "do not have it made")
	set.StringVar(&d.edit, "edit", "", "have it made with these arguments, a JSON object: a text, @file, or - for standard input")
	set.StringVar(&d.Ask, "ask", "", "a question that the agent answers first")
	set.StringVar(&d.HandTo, "hand-to", "", "who decides: a group, a role, or a person as @name")
	set.BoolVar(&d.always, "always", false, "have calls like it made from now on, without asking")
	d.rule.add(cmd)
	set.BoolVar(&d.rule.yes, "yes", false, "save the rule of --always without asking")
	set.BoolVar(&d.all, "all", false, "every call that the inbox has shown")
	set.StringVar(&d.Reason, "reason", "", "why; the agent is told")
	set.StringVar(&d.By, "by", userName(), "a name for who decides")
	set.StringVar(&d.Digest, "digest", "", "digest of the call that was seen, or its first 12 characters")
	set.BoolVar(&c.json, "json", false, "print the decision as JSON")
}

// args accepts inbox numbers, an ID and a call, or nothing with --all.
func (d *decision) args(_ *cobra.Command, args []string) error {
	if d.all == (len(args) == 0) && (d.all || numbers(args) || len(args) <= 2 && len(args) > 0) {
		return nil
	}
	return usagef("expected numbers from the inbox, or ID and CALL, or --all without arguments: starter inbox lists what is pending")
}

// numbers reports whether all arguments are inbox numbers.
func numbers(args []string) bool {
	return len(args) > 0 && !slices.ContainsFunc(args, func(arg string) bool {
		_, err := strconv.Atoi(strings.TrimPrefix(arg, "#"))
		return err != nil
	})
}

// read evaluates the flags for one call or several.
func (d *decision) read(c *cli, several bool) error {
	said := 0
	for _, is := range []bool{d.approve || d.edit != "", d.deny, d.Ask != "", d.HandTo != ""} {
		if is {
			said++
		}
	}
	switch {
	case said != 1:
		return usagef("set exactly one of --approve, --deny, --edit, --ask and --hand-to")
	case d.always && (several || !d.approve || d.edit != ""):
		return usagef("--always is for one call that is approved as it is")
	case several && (d.edit != "" || d.Digest != ""):
		return usagef("--edit and --digest are for one call")
	case d.approve || d.deny || d.edit != "":
		d.Approved = new(!d.deny)
	}
	d.Identity = identity()
	if d.edit == "" {
		return nil
	}
	text, err := c.text("--edit", d.edit)
	if err == nil && !json.Valid([]byte(text)) {
		err = usagef("--edit: it is not JSON")
	}
	d.Arguments = json.RawMessage(text)
	return err
}

// identity returns the user of the terminal, or nil if the operating system does not know.
func identity() *agent.Identity {
	who, err := client.LocalIdentity()
	if err != nil {
		return nil
	}
	return &who
}

// decideNumbers decides the calls with these inbox numbers. A failure does not affect the others.
func (d *decision) decideNumbers(ctx context.Context, c *cli, args []string) (failed error) {
	for _, arg := range args {
		found, numbered, err := c.asListed(ctx, []string{arg})
		switch {
		case err == nil && !numbered:
			err = usagef("which call of %s? `starter inbox %[1]s` lists them", arg)
		case err == nil && found.Kind != kindApproval:
			err = usagef("number %s is a question (%s): use starter answer %[1]s", arg, found.Kind)
		case err == nil:
			err = d.listed(ctx, c, found)
		}
		failed = errors.Join(failed, err)
	}
	return failed
}

func (d *decision) listed(ctx context.Context, c *cli, found inbox.Item) error {
	one := d.Decide
	one.CallID, one.Digest = found.Name, cmp.Or(d.Digest, found.Digest)
	return d.decide(ctx, c, found.Investigation, one)
}

// decideAll decides every call that the inbox has listed and that is still pending unchanged.
func (d *decision) decideAll(ctx context.Context, c *cli) error {
	waiting, failed := c.client().Waiting(ctx, "")
	var items []*inbox.Item
	for _, one := range slices.DeleteFunc(urgent(waiting), func(one thing) bool { return !isCall(one) }) {
		key := one.key()
		items = append(items, &key)
	}
	known, err := c.numbers()
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
		c.say("%d more have come that the inbox has not shown: `starter inbox` lists them", unseen)
	}
	return failed
}

func decide(ctx context.Context, c *cli, id string, d workflows.Decide) error {
	out, err := c.client().Decide(ctx, id, d)
	return answered(ctx, c, err, "the decision about "+cmp.Or(out.Call, d.CallID), "starter inbox", out, decisionLine(out))
}

// decide decides one call. The rule of --always is saved once its call has been decided.
func (d *decision) decide(ctx context.Context, c *cli, id string, one workflows.Decide) error {
	if !d.always {
		return decide(ctx, c, id, one)
	}
	d.rule.rule.By = one.By
	st, r, err := c.remembering(ctx, id, one, &d.rule)
	if err != nil {
		return err
	}
	if err := c.agreeTo(ctx, st, r, d.rule.yes); err != nil {
		return err
	}
	if err := decide(ctx, c, id, one); err != nil {
		return err
	}
	if err := st.AddRule(ctx, r); err != nil {
		return fmt.Errorf("the call is approved, and the rule is not saved: %w", err)
	}
	c.say("rule %s is saved", r.ID)
	return nil
}

func decisionLine(out client.Decided) string {
	return fmt.Sprintf("%s: %s of %s %s", out.ID, out.Call, out.Tool, out.Decision)
}

// numberOr accepts an inbox number, or an ID and the name of a pending item.
func numberOr(name string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) < 1 || len(args) > 2 {
			return usagef("expected a number from the inbox, or ID and %s: starter inbox lists what is pending", name)
		}
		return nil
	}
}
