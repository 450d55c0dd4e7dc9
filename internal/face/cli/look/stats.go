package look

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/record"
)

// NewStats returns the command stats.
func NewStats(c *base.CLI) *cobra.Command {
	var f record.Filter
	var by, since string
	keys := base.Texts(record.StatsKeys())
	cmd := &cobra.Command{
		Use:   "stats",
		Short: "Summarise ratings, scores, cost and time of investigations",
		Long: `Summarise ended investigations. ACCURATE, PARTLY and INACCURATE count the latest rating of each
one (see "starter rate --help"). INCONCLUSIVE counts completed investigations that are partial,
were cut short by a limit, or had no successful tool call. TO REVIEW counts those whose review is
not complete. SCORE is the mean of the latest scores, and COST is the total. MEDIAN and P90 are
times from start to end: half and 90 % of the completed investigations took at most that long.

Use --by model to group by the models of the agents, or --by plan to group by configuration, for
example to compare before and after a change.`,
		Example: `  starter stats
  starter stats --by model --since 90d --chain checkout`,
		Args: base.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if !slices.Contains(keys, by) {
				return base.Usagef("--by %q: use one of %s", by, strings.Join(keys, ", "))
			}
			if f.Since, err = sinceTime(since, time.Now()); err != nil {
				return err
			}
			out, err := c.Client().Stats(cmd.Context(), record.StatsKey(by), f)
			switch {
			case err != nil:
				return base.NeedsStore(err)
			case c.JSON:
				return c.PrintJSON(out)
			}
			rows := out.Items
			if len(rows) != 1 {
				rows = append(rows, out.Total)
			}
			return base.PrintTable(c, strings.ToUpper(by)+statsTitles, rows, statsCells)
		},
	}
	set := cmd.Flags()
	set.StringVar(&by, "by", string(record.ByChain), "how investigations are grouped: "+strings.Join(keys, ", "))
	set.StringVar(&since, "since", "", "only investigations started since this time: 12h, 90d or 2026-03-17 (default: the last 30 days)")
	set.StringVar(&f.Chain, "chain", "", "only investigations of this chain")
	set.StringSliceVar(&f.Projects, "project", nil, "only investigations of these projects")
	set.BoolVar(&c.JSON, "json", false, "print as JSON")
	_ = cmd.RegisterFlagCompletionFunc("by", cobra.FixedCompletions(keys, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

const statsTitles = "\tENDED\tACCURATE\tPARTLY\tINACCURATE\tINCONCLUSIVE\tTO REVIEW\tSCORE\tCOST\tMEDIAN\tP90"

func statsCells(s record.Stats) []any {
	score := "-"
	if s.Scored > 0 {
		score = fmt.Sprintf("%.0f", s.MeanScore)
	}
	seconds := func(n float64) string {
		if s.Completed == 0 {
			return "-"
		}
		return time.Duration(n * float64(time.Second)).Round(time.Second).String()
	}
	return []any{
		s.Name, s.Ended, s.Accurate, s.Partly, s.Inaccurate, s.Inconclusive, s.NeedReview, score, fmt.Sprintf("$%.2f", s.CostUSD),
		seconds(s.MedianSeconds), seconds(s.P90Seconds),
	}
}
