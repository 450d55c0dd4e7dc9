package main

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/workflows"
)

func answerCommand(c *cli) *cobra.Command {
	var a workflows.Answer
	var data string
	var approve, deny bool
	cmd := &cobra.Command{
		Use:   "answer N|ID [QUESTION]",
		Short: "Answer a question that an investigation has put to people",
		Long: `Answer a question that an investigation has put to people. N is its number in the
inbox. Else QUESTION is as inbox prints it; it may be left out if only one waits. TEXT is
a text, @file, or - for standard input. A confirmation that is denied ends the
investigation; a result that is denied in a review goes back to its stage, with TEXT.`,
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
			found, numbered, err := c.asListed(cmd.Context(), args)
			switch {
			case err != nil:
				return err
			case numbered && found.Kind == kindApproval:
				return usagef("number %s is a tool call: use starter decide %[1]s", args[0])
			case numbered:
				id, a.ID = found.Investigation, found.Name
			}
			out, err := c.client().Answer(cmd.Context(), id, a)
			return answered(cmd.Context(), c, err, "the answer", "starter inbox", out, answerLine(id, out))
		},
	}
	set := cmd.Flags()
	set.StringVar(&a.Text, "text", "", "the answer in words; also a remark to one of the others")
	set.BoolVar(&approve, "approve", false, "agree")
	set.BoolVar(&deny, "deny", false, "do not agree")
	set.StringVar(&a.Decision, "decision", "", "what is to be done, if that is asked (agent_review); of a bound: conclude or stop")
	set.StringVar(&data, "data", "", "JSON that goes with the answer, @file, or -")
	set.StringVar(&a.By, "by", userName(), "who answers")
	set.BoolVar(&c.json, "json", false, "print the answered question as JSON")
	return cmd
}

func answerLine(id string, out workflows.Interrupt) string {
	return fmt.Sprintf("%s: %s of stage %s is answered", id, out.ID, out.Stage)
}

func readAnswer(c *cli, a *workflows.Answer, data string, approve, deny bool) (err error) {
	if approve && deny {
		return usagef("only one of --approve and --deny may be there")
	}
	if approve || deny {
		a.Approved = &approve
	}
	if a.Text, err = c.text("--text", a.Text); err != nil {
		return err
	}
	if data, err = c.text("--data", data); err != nil {
		return err
	}
	if data != "" {
		a.Data = json.RawMessage(data)
	}
	switch {
	case data != "" && !json.Valid(a.Data):
		return usagef("--data is not JSON")
	case a.Text == "" && a.Approved == nil && a.Decision == "" && data == "":
		return usagef("there is no answer: give --text, --approve, --deny, --decision or --data")
	}
	return nil
}

func extendCommand(c *cli) *cobra.Command {
	e := workflows.ExtendBudget{}
	var duration time.Duration
	cmd := &cobra.Command{
		Use:   "extend N|ID",
		Short: "Raise its bounds: model calls, tokens, money, time",
		Long: `Raise the bounds of an investigation. With budgets.on_limit: ask it waits at a bound that
is reached, for people, and goes on when there is more; N is the number of that question
in the inbox. Else give it in time: a bound that is reached ends it.`,
		Example: `  starter extend lab --tokens 200000 --duration 30m
  starter extend 1 --llm-calls 20`,
		Args: exactly("N|ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			e.Duration = plan.Duration(duration)
			if (e == workflows.ExtendBudget{By: e.By}) {
				return usagef("nothing to raise: give --llm-calls, --tokens, --cost or --duration")
			}
			id := args[0]
			found, numbered, err := c.asListed(cmd.Context(), args)
			switch {
			case err != nil:
				return err
			case numbered:
				id = found.Investigation
			}
			budget, err := c.client().Extend(cmd.Context(), id, e)
			return answered(cmd.Context(), c, err, "the extension", "starter status", budget, id+": extended")
		},
	}
	set := cmd.Flags()
	set.IntVar(&e.LLMCalls, "llm-calls", 0, "so many model calls more")
	set.IntVar(&e.Tokens, "tokens", 0, "so many tokens more")
	set.Float64Var(&e.CostUSD, "cost", 0, "so many US dollars more")
	set.DurationVar(&duration, "duration", 0, "so much time more")
	set.StringVar(&e.By, "by", userName(), "who extends")
	set.BoolVar(&c.json, "json", false, "print the bounds as JSON")
	return cmd
}
