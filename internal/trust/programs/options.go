package programs

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// options are the allowed options of a program, as for getopt_long. Anything else that begins with a hyphen is refused, including
// abbreviations.
type options struct {
	short string // letters; one with a colon takes a value
	long  string // names; one with an equals sign takes a value
}

// given is an option with its value, if any.
type given struct {
	name  string // without hyphens
	value Arg
}

// has reports whether one of the names was given.
func has(opts []given, names ...string) bool {
	return slices.ContainsFunc(opts, func(g given) bool { return slices.Contains(names, g.name) })
}

var errOpen = errors.New("an argument that begins with an expansion must follow --: it could be an option")

// check returns an error for options that are not allowed.
func (o options) check(args []Arg) error {
	_, _, err := o.parse(args)
	return err
}

// parse separates options and operands, which may be mixed until "--".
func (o options) parse(args []Arg) (opts []given, operands []Arg, err error) {
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		switch {
		case !arg.option():
			operands = append(operands, arg)
			continue
		case !arg.Known:
			return nil, nil, errOpen
		case arg.Text == "--":
			return opts, append(operands, args...), nil
		}
		parse := o.cluster
		if strings.HasPrefix(arg.Text, "--") {
			parse = o.longOption
		}
		var more []given
		if more, args, err = parse(arg.Text, args); err != nil {
			return nil, nil, err
		}
		opts = append(opts, more...)
	}
	return opts, operands, nil
}

// parseFirst also refuses options after operands. BSD and macOS programs would take them as operands: a script (sed), a file to
// write to (uniq).
func (o options) parseFirst(args []Arg) ([]given, []Arg, error) {
	for i, arg := range args {
		_, before, err := o.parse(args[:i])
		if err == nil && len(before) > 0 && arg.option() && !slices.ContainsFunc(args[:i+1], Arg.ends) {
			return nil, nil, errors.New("its options must come before its operands")
		}
	}
	return o.parse(args)
}

func (a Arg) ends() bool { return a.Known && a.Text == "--" }

func (o options) longOption(text string, rest []Arg) ([]given, []Arg, error) {
	name, value, attached := strings.Cut(text[2:], "=")
	known := strings.Fields(o.long)
	switch {
	case slices.Contains(known, name) || attached && slices.Contains(known, name+"="):
		return []given{{name, Arg{Text: value, Known: true}}}, rest, nil
	case slices.Contains(known, name+"="):
		return o.withValue(name, rest)
	}
	return nil, nil, refused("--" + name)
}

// cluster parses letters after one hyphen. The first one with a value takes the rest.
func (o options) cluster(text string, rest []Arg) (opts []given, _ []Arg, err error) {
	for i := 1; i < len(text); i++ {
		letter := text[i : i+1]
		at := strings.Index(o.short, letter)
		if letter == ":" || at < 0 {
			return nil, nil, refused("-" + letter)
		}
		if !strings.HasPrefix(o.short[at+1:], ":") {
			opts = append(opts, given{name: letter})
			continue
		}
		if i+1 < len(text) {
			return append(opts, given{letter, Arg{Text: text[i+1:], Known: true}}), rest, nil
		}
		last, rest, err := o.withValue(letter, rest)
		return append(opts, last...), rest, err
	}
	return opts, rest, nil
}

// withValue takes the next word as a value. The shell must not turn it into several words, or none.
func (o options) withValue(name string, rest []Arg) ([]given, []Arg, error) {
	if len(rest) == 0 || !rest[0].Known && (rest[0].Text == "" || rest[0].Many) {
		return nil, nil, fmt.Errorf("the value of %s must be literal text", hyphened(name))
	}
	return []given{{name, rest[0]}}, rest[1:], nil
}

// hyphened returns an option as it is typed.
func hyphened(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

func refused(option string) error { return fmt.Errorf("the option %s is not allowed", option) }

// deny refuses a few options of a program with many. It also refuses their abbreviations, and the letters in any cluster. It even
// checks words after "--", which may be the value of an option.
type deny struct {
	short string // letters
	long  string // names
}

func (d deny) check(args []Arg) error {
	for _, arg := range args {
		switch {
		case !arg.option():
			continue
		case !arg.Known:
			return errors.New("an argument must not begin with an expansion: write ./ or / before it, because it could be an option")
		case arg.Text == "--":
			continue
		case strings.HasPrefix(arg.Text, "--"):
			name, _, _ := strings.Cut(arg.Text[2:], "=")
			name = strings.ReplaceAll(name, "_", "-") // kubectl accepts both
			for full := range strings.FieldsSeq(d.long) {
				if strings.HasPrefix(full, name) {
					return refused("--" + full)
				}
			}
		case d.short != "" && strings.ContainsAny(arg.Text, d.short):
			return refused(arg.Text)
		}
	}
	return nil
}
