package terminal

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"
)

// Page writes a text. If it does not fit on the terminal, Page uses the program in PAGER: less by default, none if PAGER is empty or
// "cat".
func Page(text string, opts Options, lookup func(string) (string, bool)) error {
	file, isFile := opts.Out.(*os.File)
	command, set := lookup("PAGER")
	if !set {
		command = "less"
	}
	if opts.Width == 0 || !isFile || command == "" || command == "cat" || fits(text, file, opts.Width) {
		_, err := fmt.Fprint(opts.Out, text)
		return err
	}
	pager := exec.Command("/bin/sh", "-c", command)
	pager.Stdin, pager.Stdout, pager.Stderr = strings.NewReader(text), file, os.Stderr
	pager.Env = os.Environ()
	switch less, _ := lookup("LESS"); {
	case less == "":
		pager.Env = append(pager.Env, "LESS=FRX") // as in git: quit if the text fits, keep colours, leave the text on the screen
	case opts.Color:
		pager.Env = append(pager.Env, "LESS=-R "+less)
	}
	// Leave Ctrl-C to the pager: killing it would leave the terminal without echo.
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
	err := pager.Run()
	failed, ok := errors.AsType[*exec.ExitError](err)
	switch {
	case ok && (failed.ExitCode() == 126 || failed.ExitCode() == 127): // the program does not exist or cannot run
		_, err = fmt.Fprint(opts.Out, text)
	case ok || errors.Is(err, syscall.EPIPE): // the user left before the end
		err = nil
	}
	return err
}

// fits reports whether the text fits on the screen together with the shell prompt.
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
