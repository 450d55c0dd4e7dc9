// Package cli is the command line of Inquest: the root command, and in the packages below its commands.
package cli

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/inquest-dev/inquest/internal/command"
	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/face/cli/configure"
	"github.com/inquest-dev/inquest/internal/face/cli/decide"
	"github.com/inquest-dev/inquest/internal/face/cli/look"
	"github.com/inquest-dev/inquest/internal/face/cli/start"
	"github.com/inquest-dev/inquest/internal/kit/spell"
	"github.com/inquest-dev/inquest/workflows"
)

const rootHelp = `Start, watch and steer investigations.

Like the Temporal CLI, starter connects to Temporal with TEMPORAL_ADDRESS,
TEMPORAL_NAMESPACE, TEMPORAL_API_KEY, TEMPORAL_TLS_*, or a profile of Temporal's
configuration file (TEMPORAL_CONFIG_FILE, TEMPORAL_PROFILE); the default address is
localhost:7233. It reads transcripts from the workers' store. Without access to the store,
it shows what Temporal knows: the status and the report.

With --server or INQUEST_SERVER, starter uses the HTTP API (worker --http) with the token in
INQUEST_TOKEN. It then needs access to neither Temporal nor the store.

An ID is a workflow ID, or an investigation ID (a workflow ID, ":" and 12 characters).

Exit codes:
  0    Success. run, watch: the investigation completed. guide, decide, answer
       and similar: the request was accepted, even if its result is still
       pending (--json then prints "waits") or no worker answered, so that a
       signal waits for one (--json then prints "signal": true).
  1    Failure. run, watch: the investigation failed, timed out, was cancelled
       or was terminated.
  2    Wrong flags, input or configuration.
  3    run, watch: the investigation completed, but a limit such as a budget
       ended its chain early, or its result is partial: an agent never had the
       tools of a server, or its text does not meet its contract.
  130  Ctrl-C, which never stops an investigation.`

func root(c *base.CLI) *cobra.Command {
	cmd := base.Group("starter", "Start, watch and steer investigations")
	cmd.Long, cmd.SilenceErrors, cmd.SilenceUsage = rootHelp, true, true
	cmd.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		if c.Full != nil {
			c.Full.WarnOfPassword(cmd)
		}
		return c.ByServer(cmd)
	}
	cmd.SetFlagErrorFunc(wrongFlag)
	c.Config = c.Getenv("INQUEST_CONFIG")
	set := cmd.PersistentFlags()
	set.StringVar(&c.Address, "address", "", "address of Temporal, as host:port (default: TEMPORAL_ADDRESS, or localhost:7233)")
	set.StringVar(&c.Namespace, "namespace", "", "Temporal namespace (default: TEMPORAL_NAMESPACE, or default)")
	set.StringVar(&c.Profile, "profile", "", "profile of the Temporal configuration file (default: TEMPORAL_PROFILE)")
	set.StringVar(&c.TaskQueue, "task-queue", cmp.Or(c.Getenv("INQUEST_TASK_QUEUE"), workflows.TaskQueue),
		"task queue of the workers [INQUEST_TASK_QUEUE]")
	set.StringVar(&c.Store, "store", c.Getenv("INQUEST_STORE"),
		"workers' store: path of the SQLite file, or a postgres:// URL (default: the store of dev) [INQUEST_STORE]")
	set.Lookup("store").DefValue = "" // the address may contain a password; the usage text mentions the default
	set.StringVar(&c.Server, "server", c.Getenv("INQUEST_SERVER"),
		"URL of the HTTP API, used instead of Temporal and the store, with the token in INQUEST_TOKEN [INQUEST_SERVER]")
	set.Lookup("server").DefValue = "" // the address may contain a password
	set.BoolVar(&c.Insecure, "insecure", false, "allow sending the token to another host over http://")
	full := base.Missing()
	if c.Full != nil {
		full = c.Full.Commands(c)
	}
	for _, part := range helpGroups(c, full) {
		cmd.AddGroup(&cobra.Group{ID: part.title, Title: part.title + ":"})
		for _, one := range part.commands {
			one.GroupID = part.title
			cmd.AddCommand(one)
		}
	}
	cmd.AddCommand(append(full.Hidden, manCommand())...)
	cmd.SetHelpCommandGroupID("System")
	cmd.SetCompletionCommandGroupID("System")
	cmd.InitDefaultCompletionCmd()
	for _, one := range cmd.Commands() {
		if one.Name() != "completion" {
			continue
		}
		one.Example = "  source <(starter completion bash)"
		for _, shell := range one.Commands() {
			shell.Example = fmt.Sprintf("  starter completion %s > starter.%[1]s", shell.Name())
		}
	}
	command.FitHelp(cmd)
	completeAll(c, cmd)
	return cmd
}

// helpGroup is a group of commands in the help text.
type helpGroup struct {
	title    string
	commands []*cobra.Command
}

func helpGroups(c *base.CLI, full base.FullCommands) []helpGroup {
	return []helpGroup{
		{"Start", []*cobra.Command{
			start.NewRun(c), start.NewRerun(c), start.NewFork(c), start.NewWhy(c), start.NewSchedule(c), start.NewChat(c),
		}},
		{"Inspect", []*cobra.Command{
			look.NewList(c), look.NewReport(c), look.NewStatus(c), look.NewWatch(c), look.NewShow(c), look.NewArtifacts(c),
			look.NewCompare(c), decide.NewScore(c), configure.NewRate(c), configure.NewReview(c), look.NewStats(c), configure.NewPostmortem(c),
			full.Export, look.NewVerify(c),
			full.Import, full.Eval, full.UI, look.NewThreads(c),
		}},
		{"Steer", append(decide.SteerCommands(c), decide.NewResumeAll(c), decide.NewCancel(c), decide.NewExtend(c))},
		{"Decide", []*cobra.Command{
			decide.NewInbox(c), decide.NewDecide(c), decide.NewAnswer(c), decide.NewApprovals(c), look.NewAudit(c), decide.NewRules(c),
		}},
		{"Configure", []*cobra.Command{
			configure.NewInit(c), configure.NewPacks(c), configure.NewValidate(c),
			base.Group("config", "Show a configuration with inherited values", configure.NewConfigShow(c)),
			base.Group("chain", "List and draw the chains of a configuration", configure.NewChainList(c), configure.NewChainGraph(c)),
			configure.NewTools(c), base.Group("tool", "Run a tool", configure.NewToolRun(c)), configure.NewAgentTypes(c), configure.NewMemory(c),
			configure.NewMemories(c), configure.NewRunbooks(c), configure.NewAgent(c, start.NewAgentRun(c)),
		}},
		{"System", []*cobra.Command{
			full.Doctor, base.Group("store", "Check the store", full.StoreCheck), full.Codec, full.MCP,
			versionCommand(c),
		}},
	}
}

// wrongFlag suggests the flag that was probably meant.
func wrongFlag(cmd *cobra.Command, err error) error {
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				names = append(names, "--"+f.Name)
			}
		})
		err = fmt.Errorf("%w%s", err, spell.DidYouMean("--"+unknown.GetSpecifiedName(), names))
	}
	return &command.UsageError{Err: err}
}
