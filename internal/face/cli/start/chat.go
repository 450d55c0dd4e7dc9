package start

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/face/cli/look"
	"github.com/inquest-dev/inquest/internal/face/terminal"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
)

// chatFlags are the flags of the chat command.
type chatFlags struct {
	agent, thread, provider, message, by string
	close, list, verbose                 bool
	limit                                int
}

const chatHelp = `Talk with an agent. A conversation stays open until you close it: you can leave it and
continue later, from anywhere, with --thread.

On a terminal, chat reads one line at a time. ` + chatKeys + ` With
--message, or if standard input is not a terminal, it sends one message.`

// chatKeys is the text of /help.
const chatKeys = `Lines pasted together are one message.
While the agent answers, Ctrl-C asks it to conclude; a second Ctrl-C leaves, and the
agent continues. Ctrl-D or /quit leaves, and the conversation stays open.`

// NewChat returns the command chat.
func NewChat(c *base.CLI) *cobra.Command {
	var f chatFlags
	cmd := &cobra.Command{
		Use: "chat", Short: "Talk with an agent in a durable conversation", Long: chatHelp,
		Example: `  starter chat --agent Memo
  starter chat --agent Memo --thread oncall --message "what happened to node 7?"
  starter chat --thread oncall --close`,
		Args: base.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return chat(cmd.Context(), c, f) },
	}
	set := cmd.Flags()
	set.StringVar(&f.agent, "agent", "", "name of the agent's definition; required to start a conversation")
	set.StringVar(&f.thread, "thread", "",
		"thread ID, the conversation's workflow ID (default: chat-, the agent's name and 8 random characters)")
	set.StringVar(&f.provider, "provider", "", `model of a new conversation: an llm_providers entry or "provider:model"`)
	set.StringVar(&f.message, "message", "", "send this message and exit: text, @file, or - for standard input")
	set.StringVar(&f.by, "by", base.UserName(), "your name, shown to the agent")
	set.BoolVar(&c.JSON, "json", false, "print only the reply, as JSON")
	set.BoolVar(&f.verbose, "verbose", false, "show prompts, tool calls and results in full")
	set.BoolVar(&f.close, "close", false, "close the conversation given by --thread")
	set.BoolVar(&f.list, "list", false, "list open conversations")
	set.IntVar(&f.limit, "limit", 20, "with --list: maximum number of conversations; 0 = all")
	return cmd
}

func (f chatFlags) check() error {
	switch {
	case f.list && f.close:
		return base.Usagef("use either --list or --close, not both")
	case f.list && f.limit < 0:
		return base.Usagef("--limit %d: give 1 or more, or 0 for all", f.limit)
	case f.list:
		return nil
	case f.thread == "" && f.close:
		return base.Usagef("--close needs --thread")
	case f.thread == "" && f.agent == "":
		return base.Usagef("set --agent or --thread")
	}
	return nil
}

func chat(ctx context.Context, c *base.CLI, f chatFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	text, typing, err := firstWords(c, f)
	if err != nil {
		return err
	}
	c.Quiet = c.JSON
	switch {
	case f.list:
		return listChats(ctx, c, f)
	case f.close:
		err := c.Client().CloseThread(ctx, f.thread)
		if errors.Is(err, record.ErrNotFound) {
			return fmt.Errorf("no open conversation %s", f.thread)
		}
		return err
	}
	s, err := openChat(ctx, c, f)
	if err != nil {
		return err
	}
	defer signal.Stop(s.interrupts)
	if typing != nil {
		return s.talk(context.WithoutCancel(ctx), typing)
	}
	return s.once(context.WithoutCancel(ctx), text)
}

// firstWords returns the single message to send, or the terminal on which the user types.
func firstWords(c *base.CLI, f chatFlags) (text string, typing *os.File, err error) {
	in, ok := c.In.(*os.File)
	switch {
	case f.list || f.close:
		return "", nil, nil
	case f.message != "":
		text, err = c.Text("--message", f.message)
	case ok && terminal.IsTerminal(in) && !c.JSON:
		return "", in, nil
	default:
		text, err = c.Text("standard input", "-")
	}
	if err == nil && strings.TrimSpace(text) == "" {
		err = base.Usagef("the message is empty")
	}
	return text, nil, err
}

// openChat finds an existing conversation and takes over Ctrl-C, so that the first Ctrl-C does not cancel requests to Temporal.
func openChat(ctx context.Context, c *base.CLI, f chatFlags) (*chatSession, error) {
	src, err := turns(ctx, c)
	if err != nil {
		return nil, err
	}
	if !c.Remote() { // the API names new conversations itself
		f.thread = cmp.Or(f.thread, system.RandomID("chat-"+f.agent))
	}
	s := &chatSession{CLI: c, source: src, flags: f, interrupts: make(chan os.Signal, 2)}
	if err := s.join(ctx); err != nil {
		return nil, err
	}
	signal.Notify(s.interrupts, os.Interrupt)
	return s, nil
}

// turns returns the source of turns for the terminal, or nil if the workers' store is not available.
func turns(ctx context.Context, c *base.CLI) (terminal.Source, error) {
	if r, ok := c.API(); ok {
		return r.Conversations(), nil
	}
	if st, err := c.OpenStore(ctx); st != nil || err != nil {
		return st, err
	}
	return nil, nil
}

// join checks whether the conversation is open, and with which agent.
func (s *chatSession) join(ctx context.Context) error {
	if s.flags.thread == "" {
		return nil
	}
	h, name, err := s.Client().FindThread(ctx, s.flags.thread)
	gone := errors.Is(err, record.ErrNotFound)
	switch {
	case err != nil && !gone:
		return err
	case (gone || !h.Open) && s.flags.agent == "":
		return base.Usagef("no open conversation %s: set --agent to start one", s.flags.thread)
	case (gone || !h.Open) && s.Remote():
		return base.Usagef("no open conversation %s: omit --thread to start one; the API assigns its ID", s.flags.thread)
	case gone || !h.Open:
		return nil
	case s.flags.agent != "" && name != "" && name != s.flags.agent:
		return base.Usagef("the conversation %s is with %s, not with %s: use another --thread", s.flags.thread, name, s.flags.agent)
	}
	if s.flags.provider != "" {
		s.notify("The conversation is already open and keeps its model; --provider has no effect.")
	}
	s.thread, s.name, s.known = h, name, true
	return nil
}

// listChats lists the open conversations, newest first.
func listChats(ctx context.Context, c *base.CLI, f chatFlags) error {
	open, err := c.Client().Threads(ctx, f.agent, f.limit)
	if err != nil {
		return err
	}
	if c.JSON {
		return c.PrintJSON(append([]system.Thread{}, open...)) // not null in JSON
	}
	return base.PrintTable(c, "THREAD\tAGENT\tSINCE\t"+look.UsageTitles, open, func(t system.Thread) []any {
		return append([]any{t.Thread, t.Agent, t.Since.Local().Format(base.DateTime)}, look.UsageCells(t.Usage)...)
	})
}
