package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// questions asks the user one question at a time and repeats each until the answer is acceptable.
type questions struct {
	ctx   context.Context
	c     *cli
	lines chan string
	// err is why no more questions are asked: the context has ended or standard input has.
	err error
}

func (c *cli) questions(ctx context.Context) *questions {
	q := &questions{ctx: ctx, c: c, lines: make(chan string)}
	go func() { // Ctrl-C does not interrupt reading from a terminal
		defer close(q.lines)
		for typed := bufio.NewScanner(c.in); typed.Scan(); {
			select {
			case q.lines <- typed.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	return q
}

// text asks for a text. An empty line means *answer. check accepts or refuses the answer, including the default.
func (q *questions) text(question string, answer *string, check func(string) error) {
	for q.err == nil {
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
			q.c.say("  %v", err)
			continue
		}
		*answer = line
		return
	}
}

// line prints a prompt and reads a line. It trims spaces.
func (q *questions) line(prompt string) (line string, ok bool) {
	fmt.Fprint(q.c.err, prompt)
	select {
	case <-q.ctx.Done():
		q.c.say("\nNothing was changed.")
		q.err = q.ctx.Err()
	case line, ok = <-q.lines:
		if !ok {
			q.err = usagef("standard input ended before the last answer: nothing was changed")
		}
	}
	return strings.TrimSpace(line), q.err == nil
}

// yes asks for yes or no. An empty line means no.
func (q *questions) yes(question string) (yes bool) {
	answer := ""
	q.text(question+" [y/N]", &answer, func(line string) error {
		switch strings.ToLower(line) {
		case "y", "yes":
			yes = true
		case "", "n", "no":
		default:
			return errors.New("please answer y or n")
		}
		return nil
	})
	return yes
}

// choose prints a numbered menu and returns the index of the chosen row, or -1 and the text if the user typed something other than a
// number. An empty line means the first row. check accepts or refuses a typed text.
func (q *questions) choose(question string, rows []string, check func(string) error) (n int, typed string) {
	q.c.say("%s", question)
	for i, row := range rows {
		q.c.say("  %d  %s", i+1, row)
	}
	answer := "1"
	q.text("Number or name", &answer, func(line string) error {
		n, typed = -1, ""
		if number, err := strconv.Atoi(line); err == nil {
			if number < 1 || number > len(rows) {
				return fmt.Errorf("please type a number from 1 to %d", len(rows))
			}
			n = number - 1
			return nil
		}
		typed = line
		return check(line)
	})
	return n, typed
}

// webAddress accepts only http and https URLs with a host and without a user or a password.
func webAddress(text string) error {
	if text == "" {
		return nil
	}
	address, err := url.Parse(text)
	switch {
	case err != nil || address.Scheme != "http" && address.Scheme != "https" || address.Host == "":
		return errors.New("a URL begins with http:// or https://, such as http://localhost:9090")
	case address.User != nil:
		return errors.New(`a user or a password must not stand in the file: give the URL without it, and edit the file then: ` +
			`"{{.NAME}}" stands for the variable NAME of the worker's environment`)
	}
	return nil
}
