package main

import (
	"cmp"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/app"
	"github.com/inquest-dev/inquest/internal/command"
	"github.com/inquest-dev/inquest/workflows"
)

// flags are those that all commands have.
type flags struct {
	address, namespace, profile string
	taskQueue, store            string
}

const rootHelp = `Start, watch and steer investigations.

Temporal is found as by its own CLI: TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE,
TEMPORAL_API_KEY, TEMPORAL_TLS_*, or a profile of its configuration file
(TEMPORAL_CONFIG_FILE, TEMPORAL_PROFILE); by default localhost:7233. Conversations
are read from the store of the workers. Where that is not at hand, starter shows
what Temporal knows: how it goes, and the report.

An ID is a workflow id, or an investigation id (a workflow id, ":" and 12 characters).

Exit codes: 0 done (run, watch: the investigation completed; guide, decide, answer and
the like: taken, also where the result waits, which --json says as "waits"), 1 failed (or it
failed, timed out, was cancelled or terminated), 2 wrong flags, input or configuration,
130 after Ctrl-C, which never stops an investigation.`

func (c *cli) root() *cobra.Command {
	cmd := group("starter", "Start, watch and steer investigations")
	cmd.Long, cmd.SilenceErrors, cmd.SilenceUsage = rootHelp, true, true
	cmd.PersistentPreRun = func(cmd *cobra.Command, _ []string) { app.WarnOfPassword(cmd) }
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &command.UsageError{Err: err} })
	c.config = c.getenv("INQUEST_CONFIG")
	set := cmd.PersistentFlags()
	set.StringVar(&c.address, "address", "", "host:port of Temporal (default: TEMPORAL_ADDRESS, or localhost:7233)")
	set.StringVar(&c.namespace, "namespace", "", "Temporal namespace (default: TEMPORAL_NAMESPACE, or default)")
	set.StringVar(&c.profile, "profile", "", "profile of the Temporal configuration file (default: TEMPORAL_PROFILE)")
	set.StringVar(&c.taskQueue, "task-queue", cmp.Or(c.getenv("INQUEST_TASK_QUEUE"), workflows.TaskQueue),
		"task queue of the workers [INQUEST_TASK_QUEUE]")
	set.StringVar(&c.store, "store", c.getenv("INQUEST_STORE"),
		"the workers' store: path of its SQLite file, or a postgres:// address (default: that of dev) [INQUEST_STORE]")
	cmd.AddCommand(
		runCommand(c), watchCommand(c), listCommand(c), reportCommand(c), showCommand(c), statusCommand(c),
		guideCommand(c), concludeCommand(c), cancelCommand(c),
		plainSteer(c, "pause ID", "Make no further model call until resume; running calls finish", workflows.SignalPause),
		plainSteer(c, "resume ID", "Go on after a pause", workflows.SignalResume),
		chatCommand(c), approvalsCommand(c), decideCommand(c), inboxCommand(c), answerCommand(c), extendCommand(c),
		memoryCommand(c), agentTypesCommand(c), toolsCommand(c), app.SampleCommand(), app.KeeperCommand(),
		validateCommand(c), codecCommand(c), versionCommand(c), initCommand(c), doctorCommand(c), uiCommand(c), manCommand(),
		group("agent", "Take an agent with its memory somewhere else", agentExportCommand(c), agentImportCommand(c)),
		group("tool", "Run a tool", toolRunCommand(c)),
		group("config", "Show what comes of a configuration", configShowCommand(c)),
		group("chain", "List and draw the chains of a configuration", chainListCommand(c), chainGraphCommand(c)),
	)
	return cmd
}

// group is a command that has nothing but others.
func group(use, short string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Args: noSuchCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(commands...)
	return cmd
}

func noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("there is no command %q; see starter --help", args[0])
	}
	return nil
}

// exactly is cobra.ExactArgs with an error that says what is missing.
func exactly(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != len(names) {
			return usagef("%d arguments given, %d needed: %s", len(args), len(names), cmd.UseLine())
		}
		for i, name := range names {
			if args[i] == "" {
				return usagef("%s is empty", name)
			}
		}
		return nil
	}
}

// atMostOne is cobra.MaximumNArgs(1) with a usage error.
func atMostOne(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return usagef("%d arguments given, at most one expected: %s", len(args), cmd.UseLine())
	}
	return nil
}
