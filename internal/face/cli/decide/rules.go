package decide

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
	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/face/terminal"
	"github.com/inquest-dev/inquest/internal/kit/reveal"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/trust/remember"
)

// NewRules returns the command rules.
func NewRules(c *base.CLI) *cobra.Command {
	cmd := base.Group("rules", "Show and change the rules that approve calls automatically",
		rulesListCommand(c), rulesShowCommand(c), rulesAddCommand(c), rulesPreviewCommand(c), rulesRevokeCommand(c))
	cmd.Long = `Show and change the rules that approve calls without asking a person. Rules are in the
workers' store. A rule has a value or a pattern for every argument; a call with other
arguments does not match. A rule approves only calls for which the configuration allows
rules (tool_config.remember), never critical calls, and never calls that untrusted text may
have caused (tool_config.tainted_writes).`
	return cmd
}

// rulesStore returns the store with the rules.
func rulesStore(ctx context.Context, c *base.CLI) (base.Store, error) {
	st, err := c.OpenStore(ctx)
	if err == nil && st == nil {
		err = base.Usagef("rules are in the workers' store, and no store was found here: set --store")
	}
	return st, err
}

func rulesListCommand(c *base.CLI) *cobra.Command {
	var toolName string
	var all bool
	cmd := &cobra.Command{
		Use: "list", Short: "List active rules", Args: base.Exactly(),
		Example: "  starter rules list --tool k8s.scale --all",
		RunE: func(cmd *cobra.Command, _ []string) error {
			st, err := rulesStore(cmd.Context(), c)
			if err != nil {
				return err
			}
			rules, err := st.Rules(cmd.Context(), toolName, all)
			if err != nil || c.JSON {
				return errors.Join(err, c.PrintJSON(append([]remember.Rule{}, rules...)))
			}
			return base.PrintTable(c, "ID\tBY\tUSED\tENDS IN\tTEXT", rules, func(r remember.Rule) []any {
				return []any{r.ID, r.By, r.Uses, endsIn(r), base.Shorten(reveal.Text(r.String()))}
			})
		},
	}
	cmd.Flags().StringVar(&toolName, "tool", "", "only rules for this tool")
	cmd.Flags().BoolVar(&all, "all", false, "also expired and revoked rules")
	cmd.Flags().BoolVar(&c.JSON, "json", false, "print the rules as JSON")
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

func rulesShowCommand(c *base.CLI) *cobra.Command {
	cmd := &cobra.Command{
		Use: "show RULE", Short: "Show a rule: who made it, why, and how often it was used", Args: base.Exactly("RULE"),
		Example: "  starter rules show r-5f2c09ab77",
		RunE: func(cmd *cobra.Command, args []string) error {
			st, err := rulesStore(cmd.Context(), c)
			if err != nil {
				return err
			}
			r, err := st.Rule(cmd.Context(), args[0])
			return printRule(c, r, noRule(args[0], err))
		},
	}
	cmd.Flags().BoolVar(&c.JSON, "json", false, "print the rule as JSON")
	return cmd
}

func noRule(id string, err error) error {
	if errors.Is(err, record.ErrNotFound) {
		return base.Usagef("no rule with ID %s: run `starter rules list --all` to see all rules", id)
	}
	return err
}

func printRule(c *base.CLI, r remember.Rule, err error) error {
	if err != nil || c.JSON {
		return cmp.Or(err, c.PrintJSON(r))
	}
	lines := []string{r.ID + " · " + r.String(), "made by " + r.By + " on " + r.Created.Format(time.RFC3339)}
	if r.Because != "" {
		lines = append(lines, "reason: "+r.Because)
	}
	if r.Expires != nil {
		lines = append(lines, "expires on "+r.Expires.Format(time.RFC3339))
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
	return c.Print(strings.Join(lines, "\n  "))
}

func rulesRevokeCommand(c *base.CLI) *cobra.Command {
	by := remember.Revoked{}
	cmd := &cobra.Command{
		Use: "revoke RULE", Short: "Revoke a rule, so that calls need approval again", Args: base.Exactly("RULE"),
		Example: `  starter rules revoke r-5f2c09ab77 --because "too wide"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			st, err := rulesStore(cmd.Context(), c)
			if err != nil {
				return err
			}
			by.By, by.At = base.Identity().Named(by.By), time.Now().UTC().Truncate(time.Microsecond)
			r, err := st.RevokeRule(cmd.Context(), args[0], by)
			return printRule(c, r, noRule(args[0], err))
		},
	}
	cmd.Flags().StringVar(&by.By, "by", base.UserName(), "name recorded with the revocation")
	cmd.Flags().StringVar(&by.Why, "because", "", "the reason")
	cmd.Flags().BoolVar(&c.JSON, "json", false, "print the rule as JSON")
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
	set.StringArrayVar(&f.where, "where", nil, "NAME=PATTERN: an argument and its pattern; * matches part of a word; * alone "+
		"matches any value")
	set.DurationVar(&f.lasts, "for", 0, "how long the rule is valid, such as 8h (default: until it is revoked)")
	set.StringVar(&f.rule.Because, "because", "", "the reason, shown with calls that the rule approves")
	set.StringVar(&f.rule.Where.Project, "in-project", "",
		"the rule applies in this project; * = all projects (default: the call's project, or "+agent.DefaultProject+")")
	set.StringVar(&f.rule.Where.Chain, "in-chain", "", "the rule applies only in this chain")
	set.StringVar(&f.rule.Where.Stage, "in-stage", "", "the rule applies only in this stage")
	set.StringVar(&f.rule.Where.Environment, "in-environment", "", "the rule applies only if system.environment has this value")
}

// allProjects makes a rule valid in every project.
const allProjects = "*"

func (f *ruleFlags) addAll(cmd *cobra.Command) {
	f.add(cmd)
	set := cmd.Flags()
	set.StringVar(&f.rule.Tool, "tool", "", "the tool, server.tool or a built-in one")
	set.StringArrayVar(&f.is, "is", nil, "NAME=VALUE: an argument and its value, as JSON or else as text")
	set.StringVar(&f.rule.By, "by", base.UserName(), "name recorded with the rule")
}

// made returns the rule that the flags define. It matches the call's arguments exactly, unless a flag says otherwise.
func (f *ruleFlags) made(call map[string]any) (r remember.Rule, err error) {
	r = f.rule
	r.By = base.Identity().Named(r.By)
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
			return r, base.Usagef("--is %q: expected NAME=VALUE", flag)
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
			names := ""
			if call != nil {
				names = "; the call's arguments: " + strings.Join(slices.Sorted(maps.Keys(call)), ", ")
			}
			return r, base.Usagef("--where %q: expected NAME=PATTERN with the name of an argument%s", flag, names)
		}
		r.Arguments[name] = remember.Pattern{Glob: pattern}
	}
	if err := r.Validate(r.Created); err != nil {
		return r, base.Usagef("%w", err)
	}
	return r, nil
}

func rulesPreviewCommand(c *base.CLI) *cobra.Command {
	var f ruleFlags
	cmd := &cobra.Command{
		Use: "preview --tool TOOL", Short: "Show which past calls a rule would have allowed", Args: base.Exactly(),
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
			if err != nil || c.JSON {
				return cmp.Or(err, c.PrintJSON(p))
			}
			return printPreview(c, c.Out, r, p)
		},
	}
	f.addAll(cmd)
	cmd.Flags().BoolVar(&c.JSON, "json", false, "print the preview as JSON")
	return cmd
}

func rulesAddCommand(c *base.CLI) *cobra.Command {
	var f ruleFlags
	cmd := &cobra.Command{
		Use: "add --tool TOOL", Short: "Add a rule, after showing which past calls it would have allowed", Args: base.Exactly(),
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
			if err := agreeTo(cmd.Context(), c, st, r, f.yes); err != nil {
				return err
			}
			return printRule(c, r, st.AddRule(cmd.Context(), r))
		},
	}
	f.addAll(cmd)
	cmd.Flags().BoolVar(&f.yes, "yes", false, "save the rule without confirmation")
	cmd.Flags().BoolVar(&c.JSON, "json", false, "print the rule as JSON")
	return cmd
}

// jsonText formats JSON on one line.
func jsonText(text string) string {
	if json.Valid([]byte(text)) {
		return reveal.JSON(text)
	}
	return reveal.Text(text)
}
