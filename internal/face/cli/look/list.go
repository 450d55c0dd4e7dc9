// Package look has the commands that show investigations.
package look

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/face/terminal"
	"github.com/inquest-dev/inquest/internal/kit/spell"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
)

// statuses returns all statuses of an investigation.
func statuses() []agent.Status { return append(agent.Open(), agent.Ends()...) }

// NewList returns the command list.
func NewList(c *base.CLI) *cobra.Command {
	var filter record.Filter
	var status, review, since string
	var meta []string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List investigations, newest first",
		Long: `List investigations, newest first, with their status and subject (the title or summary of
the alert, or else the first line of the data). A narrow terminal shows only the columns
that fit.

--search matches part of a workflow ID, chain or alert type. It also matches words in the
names, the alert, the error, the report or the summary, if all of them are there. For
words, case is ignored, and a word of three characters or more also matches as a prefix:
"checkout-7f" finds checkout-7f9c. Without a store, only names are searched.`,
		Example: `  starter list --needs-me
  starter list --search "checkout OOMKilled"
  starter list --since 2h --alert-type sample-incident`,
		Args: base.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			filter.Status, filter.Review = agent.Status(status), record.ReviewState(review)
			if filter.Metadata, err = base.Pairs("--meta", meta); err != nil {
				return err
			}
			if filter.Since, err = sinceTime(since, time.Now()); err != nil {
				return err
			}
			return list(cmd.Context(), c, filter)
		},
	}
	set := cmd.Flags()
	set.StringVar(&status, "status", "", fmt.Sprintf("only investigations with this status: %s", strings.Join(base.Texts(statuses()), ", ")))
	set.BoolVar(&filter.NeedsMe, "needs-me", false, "only investigations that wait for a person to decide, answer or resume")
	reviews := base.Texts(record.ReviewStates())
	set.StringVar(&review, "review", "", "only investigations whose review has this state: "+strings.Join(reviews, ", "))
	set.StringVar(&filter.Assignee, "assignee", "", "only investigations whose review this person has claimed")
	set.StringVar(&since, "since", "", "only investigations started since this time: 2h, 3d, 2026-03-17 or 2026-03-17T14:00:00Z")
	set.StringVar(&filter.Chain, "chain", "", "only investigations of this chain")
	set.StringVar(&filter.AlertType, "alert-type", "", "only investigations of this alert type")
	set.StringSliceVar(&filter.Projects, "project", nil, "only investigations of these projects")
	set.StringVar(&filter.Search, "search", "", "only investigations with this text in a name, or with all of these words in "+
		"the alert or report")
	set.StringVar(&filter.Tenant, "tenant", "", "only investigations of this tenant")
	set.StringVar(&filter.Session, "session", "", "only investigations of this session")
	set.StringArrayVar(&meta, "meta", nil, "only investigations with this metadata KEY=VALUE; may be repeated")
	set.IntVar(&filter.Limit, "limit", 20, "maximum number of investigations; 0 = all")
	set.BoolVar(&c.JSON, "json", false, "print records as JSON, without reports")
	_ = cmd.RegisterFlagCompletionFunc("review", cobra.FixedCompletions(reviews, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("status", cobra.FixedCompletions(base.Texts(statuses()), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// sinceTime parses a duration before now, or a time. An empty string means any time.
func sinceTime(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n >= 0 {
			return now.AddDate(0, 0, -n), nil
		}
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	for _, layout := range []string{time.DateOnly, "2006-01-02 15:04", time.DateTime, time.RFC3339} {
		if at, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return at, nil
		}
	}
	return time.Time{}, base.Usagef("--since %q: give a duration like 2h or 3d, or a date like 2026-03-17", text)
}

// listed is an investigation in a list.
type listed struct {
	system.Listed
	id string // as the table shows it
}

func list(ctx context.Context, c *base.CLI, filter record.Filter) error {
	if filter.Status != "" && !slices.Contains(statuses(), filter.Status) {
		return base.Usagef("--status %q%s: use one of %s", filter.Status, spell.DidYouMean(string(filter.Status), base.Texts(statuses())),
			strings.Join(base.Texts(statuses()), ", "))
	}
	if filter.Review != "" && !slices.Contains(record.ReviewStates(), filter.Review) {
		return base.Usagef("--review %q: use one of %s", filter.Review, strings.Join(base.Texts(record.ReviewStates()), ", "))
	}
	if filter.Limit < 0 {
		return base.Usagef("--limit %d: give 1 or more, or 0 for all", filter.Limit)
	}
	l, err := c.Client().List(ctx, filter)
	if l.Remote {
		c.SayNoStore()
		if filter.Tenant+filter.Session != "" || len(filter.Metadata) > 0 {
			c.Say("Temporal's list does not show tenants, sessions or metadata, so these filters find nothing")
		}
	}
	if err != nil {
		return base.NeedsStore(err)
	}
	sayStale(ctx, c, l.Stale)
	all, workflows := []listed{}, map[string]bool{} // not null in JSON
	for _, r := range l.All {
		all, workflows[r.WorkflowID] = append(all, listed{Listed: l.Listed(r)}), true
	}
	if c.JSON {
		return c.PrintJSON(all)
	}
	width := c.Options(false).Width // zero means no terminal: scripts get complete, permanent IDs
	ids := make([]string, len(all))
	for n, r := range all {
		if ids[n] = r.ID; len(workflows) == len(all) && width > 0 {
			ids[n] = r.WorkflowID
		}
	}
	if width > 0 && width < wideList {
		ids = beginnings(ids)
	}
	for n := range all {
		all[n].id = ids[n]
	}
	titles := []string{"ID", listTitles, "ABOUT"}
	if width > 0 { // people look for the description and copy the ID
		slices.Reverse(titles)
	}
	return base.PrintTable(c, strings.Join(titles, "\t"), all, func(r listed) []any {
		cells := []any{r.id, statusCell(r), cmp.Or(r.Chain, "-"), r.StartedAt.Local().Format(base.DateTime), took(r.StartedAt, r.EndedAt)}
		cells = append(append(cells, UsageCells(r.Usage)...), record.Age(time.Since(r.StartedAt)), aboutCell(r))
		if width > 0 {
			cells[0], cells[len(cells)-1] = cells[len(cells)-1], cells[0]
		}
		return cells
	})
}

// listTitles are the columns between the ID and the description.
const listTitles = "STATUS\tCHAIN\tSTARTED\tTOOK\t" + UsageTitles + "\tAGE"

// wideList is the least width of a terminal that shows complete IDs. leastID is the least number of characters shown otherwise.
const (
	wideList = 120
	leastID  = 12
)

// beginnings returns prefixes of IDs that are unambiguous among them. Commands accept such prefixes.
func beginnings(ids []string) (short []string) {
	for n, id := range ids {
		cut := min(leastID, len(id))
		for m, other := range ids {
			for m != n && cut < len(id) && strings.HasPrefix(other, id[:cut]) {
				cut++
			}
		}
		short = append(short, strings.ToValidUTF8(id[:cut], ""))
	}
	return short
}

// statusCell shows also that a limit cut an investigation short, or that it is partial.
func statusCell(r listed) string { return statusOf(r.Status, r.EndReason) }

func statusOf(status agent.Status, reason agent.EndReason) string {
	switch {
	case reason.Cut():
		return string(status) + ", cut short"
	case reason == agent.EndPartial && status == agent.StatusCompleted:
		return "partial"
	}
	return string(status)
}

// aboutCell describes an investigation: its score, its subject, and its outcome (the summary, or why it failed), as far as known.
func aboutCell(r listed) string {
	outcome, _, _ := strings.Cut(cmp.Or(r.Envelope.Summary, r.Error), "\n")
	line := strings.Join(base.Present([]string{r.Envelope.CaveatLine(), r.About, outcome}), " → ")
	if r.Score != nil {
		line = strings.TrimSpace(fmt.Sprintf("[%d] %s", *r.Score, line))
	}
	return cmp.Or(line, "-")
}

// sayStale warns that the shown statuses may be out of date.
func sayStale(ctx context.Context, c *base.CLI, err error) {
	if err != nil && ctx.Err() == nil {
		c.Say("Temporal is not responding: investigations that have been terminated may still be shown as running")
	}
}

// UsageTitles are the columns of a usage: tokens, model calls, tool calls and cost.
const UsageTitles = "TOKENS\tCALLS\tTOOLS\tCOST"

// UsageCells returns the cells for those columns. "-" means unknown.
func UsageCells(u agent.Usage) []any {
	if u == (agent.Usage{}) {
		return []any{"-", "-", "-", "-"}
	}
	return []any{u.Tokens(), u.ModelCalls, u.ToolCalls, terminal.Cost(u)}
}

func took(started time.Time, ended *time.Time) string {
	if ended == nil {
		return "-"
	}
	return ended.Sub(started).Round(time.Second / 10).String()
}
