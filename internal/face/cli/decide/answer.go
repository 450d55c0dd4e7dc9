package decide

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/workflows"
)

// NewAnswer returns the command answer.
func NewAnswer(c *base.CLI) *cobra.Command {
	var a workflows.Answer
	var data string
	var approve, deny bool
	cmd := &cobra.Command{
		Use:   "answer N|ID [QUESTION]",
		Short: "Answer a question from an investigation",
		Long: `Answer a question from an investigation. N is the question's number in the inbox. Instead
of N, you can give the ID of the investigation and the QUESTION that inbox prints; omit
QUESTION if only one is pending. The value of --text is text, @file, or - for standard input.
Denying a confirmation ends the investigation. Denying a result in a review sends it back
to its stage, with --text as feedback.`,
		Example: `  starter answer 1 --approve
  starter answer lab --text "the database of the shop"
  starter answer lab q2-k3f9 --approve`,
		Args:              numberOr("QUESTION"),
		ValidArgsFunction: completeWaiting(c, isQuestion),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := readAnswer(c, &a, data, approve, deny); err != nil {
				return err
			}
			id := args[0]
			if len(args) > 1 {
				a.ID = args[1]
			}
			found, numbered, err := asListed(cmd.Context(), c, args)
			switch {
			case err != nil:
				return err
			case numbered && found.Kind == kindApproval:
				return base.Usagef("number %d is a tool call: run `starter decide %[1]d` to decide on it", found.N)
			case numbered:
				id, a.ID = found.Investigation, found.Name
			}
			out, err := c.Client().Answer(cmd.Context(), id, a)
			return answered(cmd.Context(), c, err, "the answer", "starter inbox", out, answerLine(id, out))
		},
	}
	set := cmd.Flags()
	set.StringVar(&a.Text, "text", "", "the answer, or a comment on --approve, --deny or --decision")
	set.BoolVar(&approve, "approve", false, "approve the confirmation or the review")
	set.BoolVar(&deny, "deny", false, "deny the confirmation or the review")
	set.StringVar(&a.Decision, "decision", "", "your decision in an agent_review, in your own words; if a limit was reached: conclude or stop")
	set.StringVar(&data, "data", "", "JSON data to send with the answer: text, @file, or - for standard input")
	set.StringVar(&a.By, "by", base.UserName(), "name recorded with the answer")
	set.BoolVar(&c.JSON, "json", false, "print the answered question as JSON")
	return cmd
}

func answerLine(id string, out workflows.Interrupt) string {
	return fmt.Sprintf("%s: question %s of stage %s answered", id, out.ID, out.Stage)
}

func readAnswer(c *base.CLI, a *workflows.Answer, data string, approve, deny bool) (err error) {
	if approve && deny {
		return base.Usagef("set either --approve or --deny, not both")
	}
	if approve || deny {
		a.Approved = &approve
	}
	if a.Text, err = c.Text("--text", a.Text); err != nil {
		return err
	}
	if data, err = c.Text("--data", data); err != nil {
		return err
	}
	if data != "" {
		a.Data = json.RawMessage(data)
	}
	switch {
	case data != "" && !json.Valid(a.Data):
		return base.Usagef("--data is not valid JSON")
	case a.Text == "" && a.Approved == nil && a.Decision == "" && data == "":
		return base.Usagef("no answer given: set --text, --approve, --deny, --decision or --data")
	}
	return nil
}

// NewExtend returns the command extend.
func NewExtend(c *base.CLI) *cobra.Command {
	e := workflows.ExtendBudget{}
	var duration time.Duration
	cmd := &cobra.Command{
		Use:   "extend N|ID",
		Short: "Raise limits: model calls, tokens, cost, time",
		Long: `Raise the limits of an investigation. With "budgets.on_limit: ask", an investigation that
reaches a limit asks people and continues once the limit is raised; N is the number of
that question in the inbox. Otherwise, raise the limit before the investigation reaches
it, because reaching it ends the investigation.`,
		Example: `  starter extend lab --tokens 200000 --duration 30m
  starter extend 1 --llm-calls 20`,
		Args: base.Exactly("N|ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			e.Duration = plan.Duration(duration)
			if (e == workflows.ExtendBudget{By: e.By}) {
				return base.Usagef("nothing to raise: set --llm-calls, --tokens, --cost or --duration")
			}
			id := args[0]
			found, numbered, err := asListed(cmd.Context(), c, args)
			switch {
			case err != nil:
				return err
			case numbered:
				id = found.Investigation
			}
			budget, err := c.Client().Extend(cmd.Context(), id, e)
			return answered(cmd.Context(), c, err, "the extension", statusCommand(id), budget, id+": extended")
		},
	}
	set := cmd.Flags()
	set.IntVar(&e.LLMCalls, "llm-calls", 0, "number of additional model calls")
	set.IntVar(&e.Tokens, "tokens", 0, "number of additional tokens")
	set.Float64Var(&e.CostUSD, "cost", 0, "additional cost in US dollars")
	set.DurationVar(&duration, "duration", 0, "additional time")
	set.StringVar(&e.By, "by", base.UserName(), "name recorded with the extension")
	set.BoolVar(&c.JSON, "json", false, "print the limits as JSON")
	return cmd
}
