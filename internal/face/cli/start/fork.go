package start

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/face/cli/look"
	"github.com/inquest-dev/inquest/internal/face/terminal"
	"github.com/inquest-dev/inquest/internal/fork"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
)

// NewFork returns the command fork.
func NewFork(c *base.CLI) *cobra.Command {
	s := system.Start{Request: agent.Request{Fork: &agent.Fork{}}}
	var l look.Look
	var meta []string
	var detach bool
	cmd := &cobra.Command{
		Use:   "fork ID",
		Short: "Continue a copy of an investigation from any place in it",
		Long: `Start a new investigation that shares the past of another one up to a place, and
continues from there. The shared part costs nothing: no model and no tool is called for it, and
no one is asked to approve its calls. The other investigation stays as it is; it may be running.
The fork has its prompts, models, data and labels.

--at is the first step that the fork runs itself. Without it, the fork continues at the end:
agents that failed or were cut off go on from their last complete reply.

  12         the first reply at or after row 12, of each agent
  analyse    a stage in its last run; analyse#1 is the first one
  Logs/3     the third model call of an agent, and what follows from it: agents
             beside it in the stage share everything that they did

An agent goes on after its last reply whose calls all have results. Calls after that place are
not shared. Those that changed something are listed, and an agent that asks for one of them
again is treated as if it had repeated it (see repeats in the configuration). Questions and
reviews between stages are asked again. Permissions and limits are those of the current
configuration.`,
		Example: `  starter fork lab-0a1b2c3d --at analyse --provider openai:gpt-4o
  starter fork lab-0a1b2c3d --at Logs/3 --guide "Look at the proxy's logs, too."
  starter fork lab-0a1b2c3d --detach`,
		Args: base.Exactly("ID"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if err = prepareFork(cmd.Context(), c, args[0], &s); err != nil {
				return err
			}
			if len(meta) > 0 {
				if s.Request.Metadata, err = base.Pairs("--meta", meta); err != nil {
					return err
				}
			}
			return launch(cmd.Context(), c, s, detach, l)
		},
	}
	set, req := cmd.Flags(), &s.Request
	set.StringVar(&req.Fork.At, "at", "", "the first step that the fork runs: a row, a stage, or AGENT/ITERATION (default: after the end)")
	set.StringVar(&req.Fork.Guide, "guide", "",
		"guidance for the agents of the stage in which the fork begins: text, @file, or - for standard input")
	set.StringVar(&req.Provider, "provider", "", `model for every agent: an llm_providers entry or "provider:model"`)
	set.StringVar(&req.By, "by", base.UserName(), "name of the requester")
	set.StringVar(&req.Session, "session", "", "session of the fork (default: that of the other investigation)")
	set.IntVar(&req.Priority, "priority", 0, "priority from 1 (first) to 5 (default: that of the other investigation)")
	set.StringArrayVar(&meta, "meta", nil, "additional metadata KEY=VALUE; may be repeated")
	set.StringVar(&s.Workflow, "workflow-id", "", "workflow ID (default: the chain and 8 random characters)")
	set.BoolVar(&detach, "detach", false, "print the workflow ID and do not wait")
	l.Flags(c, cmd)
	return cmd
}

// prepareFork completes the request of a fork, and says what is shared and which calls are not.
func prepareFork(ctx context.Context, c *base.CLI, id string, s *system.Start) (err error) {
	asked := s.Request.Fork
	if asked.Guide, err = c.Text("--guide", asked.Guide); err != nil {
		return err
	}
	if err := complement(c, s); err != nil {
		return err
	}
	of, err := c.Client().Whole(ctx, id)
	if errors.Is(err, record.ErrNotFound) {
		err = c.Client().Meant(ctx, id, err)
	}
	if err != nil {
		return err
	}
	asked.Of = of.Investigation.ID
	p, err := c.Client().Plan(ctx, of)
	if errors.Is(err, record.ErrNotFound) {
		return base.Usagef("%s has no plan: run `starter rerun %s` instead", asked.Of, asked.Of)
	}
	if err != nil {
		return err
	}
	f, err := fork.Cut(p, of.Entries, *asked)
	if err != nil {
		return base.Usagef("fork %s: %v", asked.Of, err)
	}
	c.Say("%d of %d rows are shared with %s", f.Rows, len(of.Entries), asked.Of)
	for _, call := range f.Left {
		c.Say("not shared, do not repeat: %s", terminal.CleanLine(call.String()))
	}
	return nil
}
