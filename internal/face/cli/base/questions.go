package base

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Questions asks the user one question at a time and repeats each until the answer is acceptable.
type Questions struct {
	ctx   context.Context
	C     *CLI
	lines chan string
	// Err is why no more questions are asked: the context has ended or standard input has.
	Err error
}

// Questions reads answers from standard input until ctx ends.
func (c *CLI) Questions(ctx context.Context) *Questions {
	q := &Questions{ctx: ctx, C: c, lines: make(chan string)}
	go func() { // Ctrl-C does not interrupt reading from a terminal
		defer close(q.lines)
		for typed := bufio.NewScanner(c.In); typed.Scan(); {
			select {
			case q.lines <- typed.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	return q
}

// Text asks for a text. An empty line means *answer. check accepts or refuses the answer, including the default.
func (q *Questions) Text(question string, answer *string, check func(string) error) {
	for q.Err == nil {
		given := ""
		if *answer != "" {
			given = " [" + *answer + "]"
		}
		line, ok := q.line(question + given + ": ")
		if !ok {
			return
		}
		if line == "" {
			line = *answer
		}
		if err := check(line); err != nil {
			q.C.Say("  %v", err)
			continue
		}
		*answer = line
		return
	}
}

// line prints a prompt and reads a line. It trims spaces.
func (q *Questions) line(prompt string) (line string, ok bool) {
	fmt.Fprint(q.C.Err, prompt)
	select {
	case <-q.ctx.Done():
		q.C.Say("\nNothing was changed.")
		q.Err = q.ctx.Err()
	case line, ok = <-q.lines:
		if !ok {
			q.Err = Usagef("standard input ended before the last answer: nothing was changed")
		}
	}
	return strings.TrimSpace(line), q.Err == nil
}

// Yes asks for yes or no. An empty line means no.
func (q *Questions) Yes(question string) (yes bool) {
	answer := ""
	q.Text(question+" [y/N]", &answer, func(line string) error {
		switch strings.ToLower(line) {
		case "y", "yes":
			yes = true
		case "", "n", "no":
		default:
			return errors.New("answer y or n")
		}
		return nil
	})
	return yes
}

// Choose prints a numbered menu and returns the index of the chosen row, or -1 and the text if the user typed something other than a
// number. An empty line means the first row. check accepts or refuses a typed text.
func (q *Questions) Choose(question string, rows []string, check func(string) error) (n int, typed string) {
	q.C.Say("%s", question)
	for i, row := range rows {
		q.C.Say("  %d  %s", i+1, row)
	}
	answer := "1"
	q.Text("Number or name", &answer, func(line string) error {
		n, typed = -1, ""
		if number, err := strconv.Atoi(line); err == nil {
			if number < 1 || number > len(rows) {
				return fmt.Errorf("enter a number from 1 to %d", len(rows))
			}
			n = number - 1
			return nil
		}
		typed = line
		return check(line)
	})
	return n, typed
}

// ChooseSome prints a numbered menu and returns the indexes of the chosen rows. The answer has their numbers or names, separated by
// commas or spaces. An empty line means none.
func (q *Questions) ChooseSome(question string, rows, names []string) (chosen []int) {
	q.C.Say("%s", question)
	for i, row := range rows {
		q.C.Say("  %d  %s", i+1, row)
	}
	answer := ""
	q.Text("Numbers or names, separated by commas (empty: none)", &answer, func(line string) error {
		chosen = nil
		for _, word := range strings.FieldsFunc(line, func(r rune) bool { return r == ',' || r == ' ' }) {
			n := slices.Index(names, strings.ToLower(word))
			if number, err := strconv.Atoi(word); err == nil {
				n = number - 1
			}
			if n < 0 || n >= len(rows) {
				return fmt.Errorf("%q: enter numbers from 1 to %d, or names: %s", word, len(rows), strings.Join(names, ", "))
			}
			chosen = append(chosen, n)
		}
		return nil
	})
	return chosen
}

// WebAddress accepts only http and https URLs with a host and without a user or a password.
func WebAddress(text string) error {
	if text == "" {
		return nil
	}
	address, err := url.Parse(text)
	switch {
	case err != nil || address.Scheme != "http" && address.Scheme != "https" || address.Host == "":
		return errors.New("expected a URL that begins with http:// or https://, such as http://HOST:PORT")
	case address.User != nil:
		return errors.New(`enter the URL without a user and password, which must not be in the configuration; add them to the file as ` +
			`variables later: "{{.NAME}}" is replaced by the variable NAME of the worker's environment`)
	}
	return nil
}

// SaysYes asks a question and reports whether the answer is yes. The answer must be a complete line.
func (c *CLI) SaysYes(question string) bool {
	fmt.Fprint(c.Err, question+" [y/N] ")
	line, err := bufio.NewReader(c.In).ReadString('\n')
	answer := strings.ToLower(strings.TrimSpace(line))
	return err == nil && (answer == "y" || answer == "yes")
}
