package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/remember"
	"github.com/inquest-dev/inquest/internal/reveal"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/terminal"
)

func rulesCommand(c *cli) *cobra.Command {
	cmd := group("rules", "Show and change which calls need nobody's approval any more",
		rulesListCommand(c), rulesShowCommand(c), rulesAddCommand(c), rulesPreviewCommand(c), rulesRevokeCommand(c))
	cmd.Long = `Show and change the rules by which calls need nobody's approval any more, in the
workers' store. A rule names every argument that a call has, with its value or a
pattern; a call with others does not fit. It lets through only what the configuration
has remembered (tool_config.remember), nothing critical, and nothing that untrusted
text may have asked for (tool_config.tainted_writes).`
	return cmd
}

// rulesStore returns the store with the rules.
func rulesStore(ctx context.Context, c *cli) (*store.Store, error) {
	st, err := c.client().Store(ctx)
	if err == nil && st == nil {
		err = usagef("rules are in the workers' store, and there is none here: --store says where it is")
	}
	return st, err
}

func rulesListCommand(c *cli) *cobra.Command {
	var toolName string
	var all bool
	cmd := &cobra.Command{
		Use: "list", Short: "List the rules that are in force", Args: exactly(),
		Example: "  starter rules list --tool k8s.scale --all",
		RunE: func(cmd *cobra.Command, _ []string) error {
			st, err := rulesStore(cmd.Context(), c)
			if err != nil {
				return err
			}
			rules, err := st.Rules(cmd.Context(), toolName, all)
			if err != nil || c.json {
				return errors.Join(err, c.printJSON(append([]remember.Rule{}, rules...)))
			}
			return printTable(c, "ID\tBY\tUSED\tENDS IN\tTEXT", rules, func(r remember.Rule) []any {
				return []any{r.ID, r.By, r.Uses, endsIn(r), shorten(reveal.Text(r.String()))}
			})
		},
	}
	cmd.Flags().StringVar(&toolName, "tool", "", "only those of this tool")
	cmd.Flags().BoolVar(&all, "all", false, "those that have ended or were revoked, too")
	cmd.Flags().BoolVar(&c.json, "json", false, "print the rules as JSON")
	return cmd
}

// endsIn returns how long a rule remains valid.
func endsIn(r remember.Rule) string {
	switch {
	case r.Revoked != nil:
		return "revoked"
	case r.Expires == nil:
		return "-"
	case !r.Expires.After(time.Now()):
		return "ended"
	}
	return time.Until(*r.Expires).Round(time.Second).String()
}

func rulesShowCommand(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use: "show RULE", Short: "Show a rule: who has made it, why, and how often it was used", Args: exactly("RULE"),
		Example: "  starter rules show r-5f2c09ab77",
		RunE: func(cmd *cobra.Command, args []string) error {
			st, err := rulesStore(cmd.Context(), c)
			if err != nil {
				return err
			}
			r, err := st.Rule(cmd.Context(), args[0])
			return c.printRule(r, noRule(args[0], err))
		},
	}
	cmd.Flags().BoolVar(&c.json, "json", false, "print the rule as JSON")
	return cmd
}

func noRule(id string, err error) error {
	if errors.Is(err, record.ErrNotFound) {
		return usagef("there is no rule %s: `starter rules list --all` has them", id)
	}
	return err
}

func (c *cli) printRule(r remember.Rule, err error) error {
	if err != nil || c.json {
		return cmp.Or(err, c.printJSON(r))
	}
	lines := []string{r.ID + " · " + r.String(), "made by " + r.By + " on " + r.Created.Format(time.RFC3339)}
	if r.Because != "" {
		lines = append(lines, "because "+r.Because)
	}
	if r.Expires != nil {
		lines = append(lines, "holds until "+r.Expires.Format(time.RFC3339))
	}
	lines = append(lines, "used "+terminal.Count(r.Uses, "time"))
	if r.LastUsed != nil {
		lines = append(lines, "last used on "+r.LastUsed.Format(time.RFC3339))
	}
	if r.Revoked != nil {
		lines = append(lines, strings.TrimSpace("revoked by "+r.Revoked.By+" on "+r.Revoked.At.Format(time.RFC3339)+" "+r.Revoked.Why))
	}
	lines = append(lines, r.Readings()...)
	for n, line := range lines {
		lines[n] = terminal.CleanLine(reveal.Text(line))
	}
	return c.print(strings.Join(lines, "\n  "))
}

func rulesRevokeCommand(c *cli) *cobra.Command {
	by := remember.Revoked{}
	cmd := &cobra.Command{
		Use: "revoke RULE", Short: "End a rule: calls wait for a person again", Args: exactly("RULE"),
		Example: `  starter rules revoke r-5f2c09ab77 --because "too wide"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			st, err := rulesStore(cmd.Context(), c)
			if err != nil {
				return err
			}
			by.By, by.At = identity().Named(by.By), time.Now().UTC().Truncate(time.Microsecond)
			r, err := st.RevokeRule(cmd.Context(), args[0], by)
			return c.printRule(r, noRule(args[0], err))
		},
	}
	cmd.Flags().StringVar(&by.By, "by", userName(), "who revokes it")
	cmd.Flags().StringVar(&by.Why, "because", "", "why")
	cmd.Flags().BoolVar(&c.json, "json", false, "print the rule as JSON")
	return cmd
}

// ruleFlags define a rule.
type ruleFlags struct {
	rule      remember.Rule
	where, is []string
	lasts     time.Duration
	yes       bool
}

// add adds the flags of every rule. The rule's arguments come from a call, if there is one.
func (f *ruleFlags) add(cmd *cobra.Command) {
	set := cmd.Flags()
	set.StringArrayVar(&f.where, "where", nil, "NAME=PATTERN: an argument and what it has to be like, with * for a part of it")
	set.DurationVar(&f.lasts, "for", 0, "how long the rule holds, 8h for instance; until it is revoked without it")
	set.StringVar(&f.rule.Because, "because", "", "why; whoever sees the rule's calls is told")
	set.StringVar(&f.rule.Where.Project, "in-project", "",
		"only in this project, * = in all (default: the call's own, or "+agent.DefaultProject+")")
	set.StringVar(&f.rule.Where.Chain, "in-chain", "", "only in this chain")
	set.StringVar(&f.rule.Where.Stage, "in-stage", "", "only in this stage")
	set.StringVar(&f.rule.Where.Environment, "in-environment", "", "only where system.environment is this")
}

// allProjects makes a rule valid in every project.
const allProjects = "*"

func (f *ruleFlags) addAll(cmd *cobra.Command) {
	f.add(cmd)
	set := cmd.Flags()
	set.StringVar(&f.rule.Tool, "tool", "", "the tool, server.tool or a built-in one")
	set.StringArrayVar(&f.is, "is", nil, "NAME=VALUE: an argument and its value, as JSON, or else as a text")
	set.StringVar(&f.rule.By, "by", userName(), "who makes the rule")
}

// made returns the rule that the flags define. It matches the call's arguments exactly, unless a flag says otherwise.
func (f *ruleFlags) made(call map[string]any) (r remember.Rule, err error) {
	r = f.rule
	r.By = identity().Named(r.By)
	r.Where.Project = strings.TrimPrefix(cmp.Or(r.Where.Project, agent.DefaultProject), allProjects)
	r.ID, r.Created = remember.NewID(), time.Now().UTC().Truncate(time.Microsecond)
	if f.lasts != 0 {
		r.Expires = new(r.Created.Add(f.lasts))
	}
	r.Arguments = map[string]remember.Pattern{}
	for name, value := range call {
		if r.Arguments[name], err = remember.Exactly(value); err != nil {
			return r, err
		}
	}
	for _, flag := range f.is {
		name, text, ok := strings.Cut(flag, "=")
		if !ok || name == "" {
			return r, usagef("--is %q: give NAME=VALUE", flag)
		}
		var value any = text
		if args, err := remember.Parse(`{"v":` + text + `}`); err == nil && len(args) == 1 {
			value = args["v"]
		}
		if r.Arguments[name], err = remember.Exactly(value); err != nil {
			return r, err
		}
	}
	for _, flag := range f.where {
		name, pattern, ok := strings.Cut(flag, "=")
		if _, has := call[name]; !ok || name == "" || call != nil && !has {
			names := strings.Join(slices.Sorted(maps.Keys(call)), ", ")
			return r, usagef("--where %q: give NAME=PATTERN, with the name of an argument: %s", flag, names)
		}
		r.Arguments[name] = remember.Pattern{Glob: pattern}
	}
	if err := r.Validate(r.Created); err != nil {
		return r, usagef("%w", err)
	}
	return r, nil
}

func rulesPreviewCommand(c *cli) *cobra.Command {
	var f ruleFlags
	cmd := &cobra.Command{
		Use: "preview --tool TOOL", Short: "Show which past calls a rule would have let through", Args: exactly(),
		Example: `  starter rules preview --tool k8s.scale --where "ns=dev-*" --is replicas=3`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			st, err := rulesStore(cmd.Context(), c)
			if err != nil {
				return err
			}
			r, err := f.made(nil)
			if err != nil {
				return err
			}
			p, err := previewed(cmd.Context(), st, r)
			if err != nil || c.json {
				return cmp.Or(err, c.printJSON(p))
			}
			return c.printPreview(c.out, r, p)
		},
	}
	f.addAll(cmd)
	cmd.Flags().BoolVar(&c.json, "json", false, "print the preview as JSON")
	return cmd
}

func rulesAddCommand(c *cli) *cobra.Command {
	var f ruleFlags
	cmd := &cobra.Command{
		Use: "add --tool TOOL", Short: "Make a rule, once you have seen what it would have let through", Args: exactly(),
		Example: `  starter rules add --tool k8s.scale --where "ns=dev-*" --is replicas=3 --for 8h`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			st, err := rulesStore(cmd.Context(), c)
			if err != nil {
				return err
			}
			r, err := f.made(nil)
			if err != nil {
				return err
			}
			if err := define(cmd.Context(), st, &r); err != nil {
				return err
			}
			if err := c.agreeTo(cmd.Context(), st, r, f.yes); err != nil {
				return err
			}
			return c.printRule(r, st.AddRule(cmd.Context(), r))
		},
	}
	f.addAll(cmd)
	cmd.Flags().BoolVar(&f.yes, "yes", false, "save it without asking")
	cmd.Flags().BoolVar(&c.json, "json", false, "print the rule as JSON")
	return cmd
}

// jsonText formats JSON on one line.
func jsonText(text string) string {
	if json.Valid([]byte(text)) {
		return reveal.JSON(text)
	}
	return reveal.Text(text)
}
