package start

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/inquest-dev/inquest/internal/command"
	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/face/terminal"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// recalled is how many earlier messages a returning user sees.
const recalled = 6

// talk runs turn after turn with a user who types.
func (s *chatSession) talk(ctx context.Context, in *os.File) error {
	entries, err := s.past(ctx)
	if err == nil {
		err = terminal.Recall(entries, recalled, s.Options(false))
	}
	if err != nil {
		return err
	}
	lines := newLineEditor(in, s.Err)
	for {
		text, err := lines.read()
		said := strings.TrimSpace(text)
		if errors.Is(err, io.EOF) || said == "/quit" {
			if s.known {
				s.notify("The conversation stays open. To continue it: starter chat --thread %s", command.ShellWord(s.flags.thread))
			}
			return nil
		}
		if err != nil {
			return fmt.Errorf("read from the terminal: %w", err)
		}
		switch {
		case said == "":
			continue
		case said == "/help":
			s.Say("%s", strings.ReplaceAll(chatKeys, "\n", " "))
			continue
		case strings.LastIndexByte(said, '/') == 0 && !strings.ContainsAny(said, " \n"): // an unknown command: one word, no path
			s.Say("unknown command %q; available: /help, /quit", said)
			continue
		}
		for len(s.interrupts) > 0 { // discard interrupts that came while no agent was answering
			<-s.interrupts
		}
		if _, err := s.turn(ctx, text); errors.Is(err, base.ErrLeft) {
			return err
		} else if err != nil {
			s.Say("starter: %v", err)
		}
	}
}

// past returns the earlier entries, so that no turn prints them again.
func (s *chatSession) past(ctx context.Context) ([]transcript.Entry, error) {
	if !s.known || s.source == nil {
		return nil, nil
	}
	entries, err := s.source.After(ctx, s.thread.ID(), 0, 0)
	if n := len(entries); n > 0 {
		s.shown = entries[n-1].Seq
	}
	return entries, err
}

// lineEditor reads input from a terminal, with editing and history.
type lineEditor struct {
	in    *os.File
	lines *term.Terminal
}

// prompt is the input prompt.
const prompt = "> "

func newLineEditor(in *os.File, out io.Writer) *lineEditor {
	both := struct {
		io.Reader
		io.Writer
	}{in, out}
	return &lineEditor{in: in, lines: term.NewTerminal(both, prompt)}
}

// read returns the next message: a line, or several lines that were pasted together. It returns io.EOF for Ctrl-D and Ctrl-C.
func (e *lineEditor) read() (text string, err error) {
	fd := int(e.in.Fd())
	before, err := term.MakeRaw(fd)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, term.Restore(fd, before)) }()
	if width, height, sizeErr := term.GetSize(fd); sizeErr == nil && width > 0 {
		_ = e.lines.SetSize(width, height)
	}
	e.lines.SetBracketedPasteMode(true)
	defer e.lines.SetBracketedPasteMode(false)
	var pasted []string
	for {
		line, err := e.lines.ReadLine()
		pasted = append(pasted, line)
		if !errors.Is(err, term.ErrPasteIndicator) {
			return strings.Join(pasted, "\n"), err
		}
	}
}
