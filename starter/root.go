package main

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/inquest-dev/inquest/internal/app"
	"github.com/inquest-dev/inquest/internal/command"
	"github.com/inquest-dev/inquest/internal/spell"
	"github.com/inquest-dev/inquest/workflows"
)

// flags are the flags of all commands.
type flags struct {
	address, namespace, profile string
	taskQueue, store            string
	server                      string // address of the HTTP API; empty means direct use of Temporal and the store
	insecure                    bool
}

const rootHelp = `Start, watch and steer investigations.

Temporal is found as by its own CLI: TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE,
TEMPORAL_API_KEY, TEMPORAL_TLS_*, or a profile of its configuration file
(TEMPORAL_CONFIG_FILE, TEMPORAL_PROFILE); by default localhost:7233. Conversations
are read from the store of the workers. Where that is not at hand, starter shows
what Temporal knows: how it goes, and the report.

With --server or INQUEST_SERVER all that goes through the HTTP API (worker --http), with
the token in INQUEST_TOKEN: neither Temporal nor the store has to be at hand.

An ID is a workflow id, or an investigation id (a workflow id, ":" and 12 characters).

Exit codes: 0 done (run, watch: the investigation completed; guide, decide, answer and
the like: taken, also where the result waits, which --json says as "waits"), 1 failed (or it
failed, timed out, was cancelled or terminated), 2 wrong flags, input or configuration,
3 (run, watch: the investigation completed, but a limit such as a budget cut its chain
short), 130 after Ctrl-C, which never stops an investigation.`

func (c *cli) root() *cobra.Command {
	cmd := group("starter", "Start, watch and steer investigations")
	cmd.Long, cmd.SilenceErrors, cmd.SilenceUsage = rootHelp, true, true
	cmd.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		app.WarnOfPassword(cmd)
		return c.byServer(cmd)
	}
	cmd.SetFlagErrorFunc(wrongFlag)
	c.config = c.getenv("INQUEST_CONFIG")
	set := cmd.PersistentFlags()
	set.StringVar(&c.address, "address", "", "host:port of Temporal (default: TEMPORAL_ADDRESS, or localhost:7233)")
	set.StringVar(&c.namespace, "namespace", "", "Temporal namespace (default: TEMPORAL_NAMESPACE, or default)")
	set.StringVar(&c.profile, "profile", "", "profile of the Temporal configuration file (default: TEMPORAL_PROFILE)")
	set.StringVar(&c.taskQueue, "task-queue", cmp.Or(c.getenv("INQUEST_TASK_QUEUE"), workflows.TaskQueue),
		"task queue of the workers [INQUEST_TASK_QUEUE]")
	set.StringVar(&c.store, "store", c.getenv("INQUEST_STORE"),
		"the workers' store: path of its SQLite file, or a postgres:// address (default: that of dev) [INQUEST_STORE]")
	set.Lookup("store").DefValue = "" // the address may contain a password; the usage text mentions the default
	set.StringVar(&c.server, "server", c.getenv("INQUEST_SERVER"),
		"address of the HTTP API, in the place of Temporal and the store; its token is in INQUEST_TOKEN [INQUEST_SERVER]")
	set.Lookup("server").DefValue = "" // the address may contain a password
	set.BoolVar(&c.insecure, "insecure", false, "send the token to an http:// address of another host, too")
	for _, part := range helpGroups(c) {
		cmd.AddGroup(&cobra.Group{ID: part.title, Title: part.title + ":"})
		for _, one := range part.commands {
			one.GroupID = part.title
			cmd.AddCommand(one)
		}
	}
	cmd.AddCommand(app.SampleCommand(), app.KeeperCommand(), manCommand())
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
	c.completeAll(cmd)
	return cmd
}

// helpGroup is a group of commands in the help text.
type helpGroup struct {
	title    string
	commands []*cobra.Command
}

func helpGroups(c *cli) []helpGroup {
	return []helpGroup{
		{"Start", []*cobra.Command{runCommand(c), rerunCommand(c), chatCommand(c)}},
		{"Look", []*cobra.Command{
			listCommand(c), reportCommand(c), statusCommand(c), watchCommand(c), showCommand(c), artifactsCommand(c),
			compareCommand(c), scoreCommand(c), uiCommand(c),
		}},
		{"Steer", []*cobra.Command{
			guideCommand(c), plainSteer(c, "pause", "Make no further model call until resume; running calls finish", workflows.SignalPause),
			plainSteer(c, "resume", "Go on after a pause", workflows.SignalResume), concludeCommand(c), cancelCommand(c), extendCommand(c),
		}},
		{"Needs you", []*cobra.Command{
			inboxCommand(c), decideCommand(c), answerCommand(c), approvalsCommand(c), auditCommand(c), rulesCommand(c),
		}},
		{"Configure", []*cobra.Command{
			initCommand(c), validateCommand(c), group("config", "Show what comes of a configuration", configShowCommand(c)),
			group("chain", "List and draw the chains of a configuration", chainListCommand(c), chainGraphCommand(c)),
			toolsCommand(c), group("tool", "Run a tool", toolRunCommand(c)), agentTypesCommand(c), memoryCommand(c),
			agentCommand(c),
		}},
		{"System", []*cobra.Command{
			doctorCommand(c), group("store", "Check the store", storeCheckCommand(c)), codecCommand(c), mcpCommand(c), versionCommand(c),
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

// group returns a command that only contains other commands.
func group(use, short string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Args: noSuchCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	var examples []string
	for _, one := range commands {
		examples = append(examples, one.Example)
	}
	cmd.Example = strings.Join(examples, "\n")
	cmd.AddCommand(commands...)
	return cmd
}

func noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, one := range cmd.Commands() {
		if one.IsAvailableCommand() {
			names = append(names, one.Name())
		}
	}
	meant := cmp.Or(spell.DidYouMean(args[0], names), "; see "+cmd.CommandPath()+" --help")
	return usagef("there is no command %q%s", args[0], meant)
}

// exactly is cobra.ExactArgs with an error that shows the expected arguments.
func exactly(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != len(names) {
			return usagef("expected %d arguments, got %d: %s", len(names), len(args), cmd.UseLine())
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
		return usagef("expected at most one argument, got %d: %s", len(args), cmd.UseLine())
	}
	return nil
}
