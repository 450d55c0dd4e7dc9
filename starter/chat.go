package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/terminal"
)

// chatFlags are the flags of the chat command.
type chatFlags struct {
	agent, thread, provider, message, by string
	close, list, verbose                 bool
	limit                                int
}

const chatHelp = `Talk with an agent. A conversation lives on until it is closed: leave it, and go on
later, from anywhere, with --thread.

On a terminal, chat reads line after line. ` + chatKeys + ` With
--message, or where standard input is no terminal, one message is sent.`

// chatKeys is the text of /help.
const chatKeys = `Several lines that are pasted are one message.
Ctrl-C while the agent answers asks it to conclude, a second one leaves, and the agent
goes on. Ctrl-D or /quit ends the session, and the conversation stays.`

func chatCommand(c *cli) *cobra.Command {
	var f chatFlags
	cmd := &cobra.Command{
		Use: "chat", Short: "Talk with an agent, in a conversation that stays", Long: chatHelp,
		Example: `  starter chat --agent Memo
  starter chat --agent Memo --thread oncall --message "what happened to node 7?"
  starter chat --thread oncall --close`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return chat(cmd.Context(), c, f) },
	}
	set := cmd.Flags()
	set.StringVar(&f.agent, "agent", "", "name of the agent's definition; needed to begin a conversation")
	set.StringVar(&f.thread, "thread", "",
		"thread id, the conversation's workflow id (default: chat-, the agent's name and 8 random characters)")
	set.StringVar(&f.provider, "provider", "", `model of a new conversation: an llm_providers entry or "provider:model"`)
	set.StringVar(&f.message, "message", "", "say this and leave: a text, @file, or - for standard input")
	set.StringVar(&f.by, "by", userName(), "who speaks; the agent is told")
	set.BoolVar(&c.json, "json", false, "print nothing but the reply, as JSON")
	set.BoolVar(&f.verbose, "verbose", false, "show prompts, tool calls and results whole")
	set.BoolVar(&f.close, "close", false, "end the conversation --thread")
	set.BoolVar(&f.list, "list", false, "list the conversations that are open")
	set.IntVar(&f.limit, "limit", 20, "with --list: at most so many; 0 = all")
	return cmd
}

func (f chatFlags) check() error {
	switch {
	case f.list && f.close:
		return usagef("--list and --close exclude each other")
	case f.list && f.limit < 0:
		return usagef("--limit %d: give 1 or more, or 0 for all", f.limit)
	case f.list:
		return nil
	case f.thread == "" && f.close:
		return usagef("--close needs --thread")
	case f.thread == "" && f.agent == "":
		return usagef("--agent or --thread is needed")
	}
	return nil
}

func chat(ctx context.Context, c *cli, f chatFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	text, typing, err := firstWords(c, f)
	if err != nil {
		return err
	}
	c.quiet = c.json
	switch {
	case f.list:
		return listChats(ctx, c, f)
	case f.close:
		err := c.client().CloseThread(ctx, f.thread)
		if errors.Is(err, record.ErrNotFound) {
			return fmt.Errorf("no conversation %s is open", f.thread)
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
func firstWords(c *cli, f chatFlags) (text string, typing *os.File, err error) {
	in, ok := c.in.(*os.File)
	switch {
	case f.list || f.close:
		return "", nil, nil
	case f.message != "":
		text, err = c.text("--message", f.message)
	case ok && terminal.IsTerminal(in) && !c.json:
		return "", in, nil
	default:
		text, err = c.text("standard input", "-")
	}
	if err == nil && strings.TrimSpace(text) == "" {
		err = usagef("there is no message")
	}
	return text, nil, err
}

// openChat finds an existing conversation and takes over Ctrl-C, so that the first Ctrl-C does not cancel requests to Temporal.
func openChat(ctx context.Context, c *cli, f chatFlags) (*chatSession, error) {
	src, err := c.turns(ctx)
	if err != nil {
		return nil, err
	}
	if !c.remote() { // the API names new conversations itself
		f.thread = cmp.Or(f.thread, client.RandomID("chat-"+f.agent))
	}
	s := &chatSession{cli: c, source: src, flags: f, interrupts: make(chan os.Signal, 2)}
	if err := s.join(ctx); err != nil {
		return nil, err
	}
	signal.Notify(s.interrupts, os.Interrupt)
	return s, nil
}

// turns returns the source of turns for the terminal, or nil if the workers' store is not available.
func (c *cli) turns(ctx context.Context) (terminal.Source, error) {
	if r, ok := c.api(); ok {
		return r.Conversations(), nil
	}
	if st, err := c.client().Store(ctx); st != nil || err != nil {
		return st, err
	}
	return nil, nil
}

// errLeft means that the user left without waiting for the reply.
var errLeft = fmt.Errorf("left: %w", context.Canceled)

// join checks whether the conversation is open, and with which agent.
func (s *chatSession) join(ctx context.Context) error {
	if s.flags.thread == "" {
		return nil
	}
	h, name, err := s.client().FindThread(ctx, s.flags.thread)
	gone := errors.Is(err, record.ErrNotFound)
	switch {
	case err != nil && !gone:
		return err
	case (gone || !h.Running()) && s.flags.agent == "":
		return usagef("no conversation %s is open: --agent says with whom to begin one", s.flags.thread)
	case (gone || !h.Running()) && s.remote():
		return usagef("no conversation %s is open: leave out --thread, and the API names a new one", s.flags.thread)
	case gone || !h.Running():
		return nil
	case s.flags.agent != "" && name != "" && name != s.flags.agent:
		return usagef("the conversation %s is with %s, not with %s: give another --thread", s.flags.thread, name, s.flags.agent)
	}
	if s.flags.provider != "" {
		s.tell("the conversation is open already: it goes on with the model that it was begun with")
	}
	s.thread, s.name, s.known = h, name, true
	return nil
}

// listChats lists the open conversations, newest first.
func listChats(ctx context.Context, c *cli, f chatFlags) error {
	open, err := c.client().Threads(ctx, f.agent, f.limit)
	if err != nil {
		return err
	}
	if c.json {
		return c.printJSON(append([]client.Thread{}, open...)) // not null in JSON
	}
	return printTable(c, "THREAD\tAGENT\tSINCE\t"+usageTitles, open, func(t client.Thread) []any {
		return append([]any{t.Thread, t.Agent, t.Since.Local().Format(dateTime)}, usageCells(t.Usage)...)
	})
}
