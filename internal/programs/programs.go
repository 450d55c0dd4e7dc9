// Package programs knows what common programs can be made to do that their name
// does not say: start other programs, or write files. A shell's allow-list is
// checked against it, and so are the options of what it allows.
package programs

import (
	"fmt"
	"slices"
	"strings"
)

// Kind says what an allow-list is worth that names a program.
type Kind string

// The kinds.
const (
	// Starts: the program runs whatever it is told to, and there is no telling from its options.
	Starts Kind = "starts programs"
	// Writes: that is what it is for.
	Writes Kind = "writes files"
	// Checked: what is dangerous about its options is known, and refused.
	Checked Kind = "checked"
	// Reads: it only reads and prints, whatever its options.
	Reads Kind = "reads"
)

// Program is what is known of one program, or of several that are alike.
type Program struct {
	Names []string
	Kind  Kind
	// Does says what it can be made to do.
	Does string
	// check refuses what is dangerous in its arguments. All that are Checked have one; of those
	// that are known for writing it refuses what starts programs.
	check func(args []Arg) error
}

// Arg is one word after a command's name.
type Arg struct {
	// Text is the word without its quotes. Of a word that is not Known it is the
	// beginning that the shell leaves as it is.
	Text string
	// Known: the word holds no expansion, so the program gets Text.
	Known bool
	// Many: the shell may make several words of it (a{b,c}), each with the same beginning.
	Many bool
}

// option reports whether a program may take the word for an option.
func (a Arg) option() bool {
	return strings.HasPrefix(a.Text, "-") && (len(a.Text) > 1 || !a.Known) || a.Text == "" && !a.Known
}

// Find returns what is known of a program. A version at the end of its name
// (python3.12) changes nothing.
func Find(name string) (Program, bool) {
	for _, known := range []string{name, strings.TrimRight(name, "0123456789.-")} {
		i := slices.IndexFunc(table, func(p Program) bool { return slices.Contains(p.Names, known) })
		if i >= 0 {
			return table[i], true
		}
	}
	return Program{}, false
}

// Check refuses a call that would start another program or write a file, as far
// as that is known; of what it does not know it says nothing.
func Check(name string, args []Arg) error {
	p, ok := Find(name)
	switch {
	case ok && p.Kind == Starts:
		return fmt.Errorf("%s is refused: it %s. An operator can allow that (allow_options: all)", name, p.Does)
	case ok && p.check != nil:
		if err := p.check(args); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// Warning says what an operator should know who puts a program on an allow-list,
// and whether it opens the door; "" = nothing. all: its options are not checked.
func Warning(name string, all bool) (text string, open bool) {
	p, ok := Find(name)
	switch {
	case !ok, p.Kind == Reads:
		return "", false
	case all || p.Kind == Writes:
		return fmt.Sprintf("%s %s", name, p.Does), true
	case p.Kind == Starts:
		return fmt.Sprintf("%s %s; it is refused unless allow_options is all", name, p.Does), true
	}
	return fmt.Sprintf("%s %s; such options are refused unless allow_options is all", name, p.Does), false
}
