package start

import (
	"context"
	"errors"
	"slices"
	"strings"

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
	var flags forkFlags
	cmd := &cobra.Command{
		Use:   "fork ID",
		Short: "Continue a copy of an investigation from any place in it",
		Long: `Start a new investigation that shares the past of another one up to a place, and
continues from there. The shared part costs nothing: no model and no tool is called for it, and
no one is asked to approve its calls. The other investigation stays as it is; it may be running.
The fork has its data and labels and, unless you replace them, its prompts and models.

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
configuration.

--result replaces what a tool returned, to see what the agents conclude from it. "starter show ID"
prints the row of each result. Without --at, the fork begins before the first reply that had read
it. The tool itself is not replaced: an agent that calls it again gets its real result, or none
with "--tools tape". Files and images of the result are dropped. A text that you give proves nothing: the report says so.

--tools answers tool calls from the results of the other investigation, also from those after the
place. Such a call has no effect and needs no approval. With "tape", no other call is made: the
model gets an error, and the report lists the tool under "Not checked". With "live", other calls
go to the real tools. Hooks, service agents, the memory of agents, and tools that a model's
provider runs work as always.

--leave-out keeps one of these from all agents: the result of a tool with those of all equal calls
(12, a row), an agent that works beside others (STAGE/AGENT), or a learning in their prompts (L17).
The fork begins before the first reply that had read it. "starter why ID" does this for each
result or, with its --leave-out, for each agent or learning.

--prompt replaces the system_prompt of an agent or, if it has none, its custom_instructions. The
agent must make its first model call in the fork.`,
		Example: `  starter fork lab-0a1b2c3d --at analyse --provider openai:gpt-4o
  starter fork lab-0a1b2c3d --at Logs/3 --guide "Look at the proxy's logs, too."
  starter fork lab-0a1b2c3d --at Logs/3 --tools tape
  starter fork lab-0a1b2c3d --result 12=@other-logs.txt
  starter fork lab-0a1b2c3d --at analyse --prompt Analyst=@prompt.md`,
		Args: base.Exactly("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			err := flags.read(c, &s.Request)
			if err == nil {
				err = prepareFork(cmd.Context(), c, args[0], &s)
			}
			if err != nil {
				return err
			}
			return launch(cmd.Context(), c, s, flags.detach, l)
		},
	}
	flags.add(cmd, &s)
	l.Flags(c, cmd)
	return cmd
}

// forkFlags are the flags of the command fork that are not fields of the request.
type forkFlags struct {
	meta, results, prompts []string
	detach                 bool
}

func (f *forkFlags) add(cmd *cobra.Command, s *system.Start) {
	set, req := cmd.Flags(), &s.Request
	set.StringVar(&req.Fork.At, "at", "",
		"the first step that the fork runs: a row, a stage, or AGENT/ITERATION (default: the end, or where a --result is read)")
	set.StringVar(&req.Fork.Guide, "guide", "",
		"guidance for the agents of the stage in which the fork begins: text, @file, or - for standard input")
	set.StringArrayVar(&f.results, "result", nil, "replace a tool's result: ROW=TEXT, ROW=@file or ROW=- (or the call's ID); may be repeated")
	set.StringArrayVar(&f.prompts, "prompt", nil,
		"replace an agent's prompt: AGENT=@file or STAGE/AGENT=@file, or @file for the only agent that goes on; may be repeated")
	set.StringArrayVar(&req.Fork.LeaveOut, "leave-out", nil,
		"give no agent this: ROW (or the call's ID) with those of equal calls, STAGE/AGENT or L17; implies --tools tape; may be repeated")
	set.StringVar(&req.Fork.Tools, "tools", "",
		"answer tool calls from the other investigation: tape (only from it) or live (else from the tool; default: call all tools)")
	set.StringVar(&req.Provider, "provider", "", `model for every agent: an llm_providers entry or "provider:model"`)
	set.StringVar(&req.By, "by", base.UserName(), "name of the requester")
	set.StringVar(&req.Session, "session", "", "session of the fork (default: that of the other investigation)")
	set.IntVar(&req.Priority, "priority", 0, "priority from 1 (first) to 5 (default: that of the other investigation)")
	set.StringArrayVar(&f.meta, "meta", nil, "additional metadata KEY=VALUE; may be repeated")
	set.StringVar(&s.Workflow, "workflow-id", "", "workflow ID (default: the chain and 8 random characters)")
	set.BoolVar(&f.detach, "detach", false, "print the workflow ID and do not wait")
}

func (f *forkFlags) read(c *base.CLI, req *agent.Request) (err error) {
	if t := req.Fork.Tools; t != "" && t != agent.ForkTape && t != agent.ForkLive {
		return base.Usagef("--tools %q: use tape or live", t)
	}
	if len(req.Fork.LeaveOut) > 0 {
		if req.Fork.At != "" || len(f.results) > 0 || req.Fork.Tools == agent.ForkLive {
			return base.Usagef("--leave-out cannot be used with --at, --result or --tools live: the fork begins where what is left out was read")
		}
		req.Fork.Tools = agent.ForkTape
	}
	all := append(slices.Concat(f.results, f.prompts), req.Fork.Guide)
	fromElsewhere := func(value string) bool { return value != "-" && !strings.HasSuffix(value, "=-") }
	if stdin := slices.DeleteFunc(all, fromElsewhere); len(stdin) > 1 {
		return base.Usagef("only one of --result, --prompt and --guide can be read from standard input")
	}
	if req.Fork.Results, err = texts(c, "--result", f.results); err != nil {
		return err
	}
	for n, one := range f.prompts {
		if one == "-" || strings.HasPrefix(one, "@") { // for the only agent
			f.prompts[n] = "=" + one
		}
	}
	if req.Fork.Prompts, err = texts(c, "--prompt", f.prompts); err != nil {
		return err
	}
	if len(f.meta) > 0 {
		req.Metadata, err = base.Pairs("--meta", f.meta)
	}
	return err
}

// texts reads values of the form NAME=TEXT, in which TEXT may be @file, or - for standard input.
func texts(c *base.CLI, flag string, given []string) (map[string]string, error) {
	out := map[string]string{}
	for _, one := range given {
		name, text, named := strings.Cut(one, "=")
		if !named {
			return nil, base.Usagef("%s %q: expected NAME=TEXT or NAME=@file", flag, one)
		}
		if _, twice := out[name]; twice {
			return nil, base.Usagef("%s: two texts for %q", flag, name)
		}
		var err error
		if out[name], err = c.Text(strings.TrimSpace(flag+" "+name), text); err != nil {
			return nil, err
		}
	}
	return out, nil
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
	f, _, err := fork.Cut(p, of.Entries, *asked)
	if err != nil {
		return base.Usagef("fork %s: %v", asked.Of, err)
	}
	c.Say("%d of %d rows are shared with %s", f.Rows, len(of.Entries), asked.Of)
	for _, change := range f.Changes() {
		c.Say("changed: %s", terminal.CleanLine(change))
	}
	if asked.Tools != "" {
		c.Say("%d results of %s answer tool calls", len(fork.Record(of.Entries, f)), asked.Of)
	}
	for _, call := range f.Left {
		c.Say("not shared, do not repeat: %s", terminal.CleanLine(call.String()))
	}
	return nil
}
