// Package programs knows side effects of common programs that their names do not reveal: starting other programs, or writing files.
// It checks a shell's allow-list, and the options of allowed programs.
package programs

import (
	"fmt"
	"slices"
	"strings"
)

// Kind classifies a program by the risk of allowing it.
type Kind string

// The kinds.
const (
	// Starts means that the program runs any command it is given, which its options do not reveal.
	Starts Kind = "starts programs"
	// Writes means that the program's purpose is to write.
	Writes Kind = "writes files"
	// Checked means that the dangerous options are known and refused.
	Checked Kind = "checked"
	// Reads means that the program only reads and prints, whatever its options.
	Reads Kind = "reads"
)

// Program describes one program, or several similar ones.
type Program struct {
	Names []string
	Kind  Kind
	// Does describes the program's abilities, for messages.
	Does string
	// check refuses dangerous arguments. All Checked programs have one. For programs of kind Writes, it refuses arguments that
	// start programs.
	check func(args []Arg) error
}

// Arg is one word after a command's name.
type Arg struct {
	// Text is the word without its quotes. If the word is not Known, it is the beginning that the shell leaves unchanged.
	Text string
	// Known means that the word contains no expansion, so the program gets Text.
	Known bool
	// Many means that the shell may expand it to several words (a{b,c}), each with the same beginning.
	Many bool
}

// option reports whether a program may take the word as an option.
func (a Arg) option() bool {
	return strings.HasPrefix(a.Text, "-") && (len(a.Text) > 1 || !a.Known) || a.Text == "" && !a.Known
}

// Find returns the description of a program. It ignores a version at the end of the name (python3.12).
func Find(name string) (Program, bool) {
	for _, known := range []string{name, strings.TrimRight(name, "0123456789.-")} {
		i := slices.IndexFunc(table, func(p Program) bool { return slices.Contains(p.Names, known) })
		if i >= 0 {
			return table[i], true
		}
	}
	return Program{}, false
}

// Check returns an error for a call that would start another program or write a file, as far as that is known. It accepts unknown
// programs.
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

// Warning returns a warning for an operator who allows a program, and whether the program makes the allow-list ineffective. An
// empty text means no warning. all means that the program's options are not checked.
func Warning(name string, all bool) (text string, open bool) {
	p, ok := Find(name)
	switch {
	case !ok, p.Kind == Reads:
		return "", false
	case all || p.Kind == Writes && p.check == nil:
		return fmt.Sprintf("%s %s", name, p.Does), true
	case p.Kind == Writes:
		return fmt.Sprintf("%s %s; options that start programs are refused unless allow_options is all", name, p.Does), true
	case p.Kind == Starts:
		return fmt.Sprintf("%s %s; it is refused unless allow_options is all", name, p.Does), true
	}
	return fmt.Sprintf("%s %s; such options are refused unless allow_options is all", name, p.Does), false
}
