package terminal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"
)

// Page writes a text, on a terminal that it does not fit on through the program that PAGER
// names (less, unless it is set; none if it is empty or "cat").
func Page(ctx context.Context, text string, opts Options, getenv func(string) string) error {
	file, isFile := opts.Out.(*os.File)
	command := cmp.Or(getenv("PAGER"), "less")
	if opts.Width == 0 || !isFile || command == "cat" || fits(text, file, opts.Width) {
		_, err := fmt.Fprint(opts.Out, text)
		return err
	}
	pager := exec.CommandContext(ctx, "/bin/sh", "-c", command)
	pager.Stdin, pager.Stdout, pager.Stderr = strings.NewReader(text), file, os.Stderr
	pager.Env = os.Environ()
	if getenv("LESS") == "" {
		pager.Env = append(pager.Env, "LESS=FRX") // as git has it: quit if it fits, colours, leave the text there
	}
	err := pager.Run()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok && failed.ExitCode() == 127 {
		_, err = fmt.Fprint(opts.Out, text) // there is no such program
	} else if ok || errors.Is(err, syscall.EPIPE) {
		err = nil // it was left before the end
	}
	return err
}

// fits: the lines, and the one of the prompt, are on the screen together.
func fits(text string, file *os.File, width int) bool {
	_, height, err := term.GetSize(int(file.Fd()))
	if err != nil {
		return true
	}
	rows := 1
	for line := range strings.Lines(text) {
		rows += max((ansi.StringWidth(line)+width-1)/width, 1)
	}
	return rows <= height
}
