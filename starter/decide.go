package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/terminal"
	"github.com/inquest-dev/inquest/workflows"
)

// decideFlags are those of the command decide.
type decideFlags struct {
	approve, deny, json bool
	reason, by, digest  string
}

func (c *cli) decideCommand() *cobra.Command {
	var f decideFlags
	cmd := &cobra.Command{
		Use:   "decide ID CALL --approve|--deny",
		Short: "Approve or deny a tool call that waits for a person",
		Long: `Approve or deny a tool call that waits for a person. CALL is as approvals prints
it, <execution>/<call>, or its last part alone if only one call has it. A call is
decided once; a denied one is not made, and the agent is told the reason. With
--digest, as approvals prints it, only the call is decided that was seen there: where
another one has taken its place, the decision is refused. Its first 12 characters
are enough.`,
		Example: `  starter decide lab dig/Alpha/c1_0 --digest 5f2c09ab77d1 --approve
  starter decide lab c1_1 --deny --reason "not on a Friday"`,
		Args: exactly("ID", "CALL"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.decide(cmd.Context(), args[0], args[1], f) },

		ValidArgsFunction: c.completeWaiting(callChoices),
	}
	set := cmd.Flags()
	set.BoolVar(&f.approve, "approve", false, "have the call made")
	set.BoolVar(&f.deny, "deny", false, "do not have it made")
	set.StringVar(&f.reason, "reason", "", "why; the agent is told")
	set.StringVar(&f.by, "by", userName(), "who decides")
	set.StringVar(&f.digest, "digest", "", "digest of the call that was seen, or its first 12 characters")
	set.BoolVar(&f.json, "json", false, "print the decision as JSON")
	return cmd
}

// decided is the answer of decide as JSON.
type decided struct {
	ID   string `json:"id"`
	Call string `json:"call"`
	Tool string `json:"tool"`
	activities.Decision
}

func (c *cli) decide(ctx context.Context, id, call string, f decideFlags) error {
	if f.approve == f.deny {
		return usagef("exactly one of --approve and --deny is needed")
	}
	conn, err := c.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	t, err := findRunning(ctx, conn, id)
	if err != nil {
		return err
	}
	var status workflows.Status
	if err := t.ask(ctx, &status); err != nil {
		return err
	}
	waiting, err := pick(status, call)
	if err != nil {
		return err
	}
	f.digest = wholeDigest(f.digest, waiting.Digest)
	var decision activities.Decision
	done, err := c.send(ctx, t, f.request(waiting), &decision)
	if !done {
		return err
	}
	return c.printDecided(decided{ID: t.workflow, Call: callName(waiting), Tool: waiting.Tool, Decision: decision}, f.json)
}

// wholeDigest is the digest that is meant: of what waits now if the beginning of it is
// given, or nothing.
func wholeDigest(given, waiting string) string {
	if given == "" || len(given) >= shortDigest && strings.HasPrefix(waiting, given) {
		return waiting
	}
	return given
}

// pick finds the call among those that wait, by its whole name or by its id.
func pick(status workflows.Status, call string) (workflows.Approval, error) {
	var found []workflows.Approval
	for _, a := range status.Waiting {
		if callName(a) == call {
			return a, nil
		}
		if a.CallID == call {
			found = append(found, a)
		}
	}
	switch len(found) {
	case 0:
		return workflows.Approval{}, fmt.Errorf("no call %q of %s waits for a decision; %s", call, status.ID, choices(status.Waiting))
	case 1:
		return found[0], nil
	}
	return workflows.Approval{}, usagef("%d calls are called %s; %s", len(found), call, choices(found))
}

// choices lists calls as decide takes them.
func choices(waiting []workflows.Approval) string {
	if len(waiting) == 0 {
		return "none does"
	}
	var names []string
	for _, a := range waiting {
		names = append(names, fmt.Sprintf("%s (%s)", callName(a), a.Tool))
	}
	return "there are: " + strings.Join(names, ", ")
}

// request asks an agent to take the decision. The agent has the last word: somebody
// else may have decided meanwhile.
func (f decideFlags) request(a workflows.Approval) request {
	return request{
		workflow: a.WorkflowID, name: workflows.UpdateDecide,
		what: "the decision about " + callName(a), look: "starter approvals", asJSON: f.json,
		in: workflows.Decide{CallID: a.CallID, Approved: &f.approve, By: f.by, Reason: f.reason, Digest: f.digest},
	}
}

func (c *cli) printDecided(d decided, asJSON bool) error {
	if asJSON {
		return c.printJSON(d)
	}
	line := fmt.Sprintf("%s: %s of %s %s", d.ID, d.Call, d.Tool, d.Decision)
	_, err := fmt.Fprintln(c.out, terminal.CleanLine(line))
	return err
}
