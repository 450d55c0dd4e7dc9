package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"

	"github.com/spf13/cobra"
	"go.temporal.io/sdk/client"

	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/terminal"
)

// chatFlags are those of the command chat.
type chatFlags struct {
	agent, thread, provider, message, by string
	json, close, list, verbose           bool
	limit                                int
}

const chatHelp = `Talk with an agent. A conversation lives on until it is closed: leave it, and go on
later, from anywhere, with --thread.

On a terminal, chat reads line after line; several lines that are pasted are one
message. Ctrl-C while the agent answers asks it to conclude, a second one leaves, and
the agent goes on; Ctrl-D ends the session, and the conversation stays. With
--message, or where standard input is no terminal, one message is sent.`

func (c *cli) chatCommand() *cobra.Command {
	var f chatFlags
	cmd := &cobra.Command{
		Use: "chat", Short: "Talk with an agent, in a conversation that stays", Long: chatHelp,
		Example: `  starter chat --agent Memo
  starter chat --agent Memo --thread oncall --message "what do you know about node 7?"
  starter chat --thread oncall --close`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.chat(cmd.Context(), f) },
	}
	set := cmd.Flags()
	set.StringVar(&f.agent, "agent", "", "name of the agent's definition; needed to begin a conversation")
	set.StringVar(&f.thread, "thread", "", "thread id, the conversation's workflow id (default: chat-, the agent's name and 8 random characters)")
	set.StringVar(&f.provider, "provider", "", `model of a new conversation: an llm_providers entry or "provider:model"`)
	set.StringVar(&f.message, "message", "", "say this and leave: a text, @file, or - for standard input")
	set.StringVar(&f.by, "by", userName(), "who speaks; the agent is told")
	set.BoolVar(&f.json, "json", false, "print nothing but the reply, as JSON")
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

func (c *cli) chat(ctx context.Context, f chatFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	text, typing, err := c.firstWords(f)
	if err != nil {
		return err
	}
	conn, err := c.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	switch {
	case f.list:
		return c.listChats(ctx, conn, f)
	case f.close:
		return closeChat(ctx, conn, f.thread)
	}
	return c.withStore(ctx, func(st *store.Store) error {
		s, err := c.openChat(ctx, conn, st, f)
		if err != nil {
			return err
		}
		defer signal.Stop(s.interrupts)
		if typing != nil {
			return s.talk(context.WithoutCancel(ctx), typing)
		}
		return s.once(context.WithoutCancel(ctx), text)
	})
}

// firstWords is the one message to send, or the terminal on which a person types.
func (c *cli) firstWords(f chatFlags) (text string, typing *os.File, err error) {
	in, ok := c.in.(*os.File)
	switch {
	case f.list || f.close:
		return "", nil, nil
	case f.message != "":
		text, err = c.text("--message", f.message)
	case ok && terminal.IsTerminal(in) && !f.json:
		return "", in, nil
	default:
		text, err = c.text("standard input", "-")
	}
	if err == nil && strings.TrimSpace(text) == "" {
		err = usagef("there is no message")
	}
	return text, nil, err
}

// openChat finds the conversation, if there is one already, and takes over Ctrl-C:
// what is asked of Temporal is not to end with the first one.
func (c *cli) openChat(ctx context.Context, conn client.Client, st *store.Store, f chatFlags) (*chatSession, error) {
	s := &chatSession{cli: c, conn: conn, store: st, flags: f, interrupts: make(chan os.Signal, 2)}
	if s.flags.thread == "" {
		s.flags.thread = randomID("chat-" + f.agent)
	}
	if err := s.join(ctx); err != nil {
		return nil, err
	}
	signal.Notify(s.interrupts, os.Interrupt)
	return s, nil
}

// errLeft is how a person leaves who does not wait for the reply.
var errLeft = fmt.Errorf("left: %w", context.Canceled)
