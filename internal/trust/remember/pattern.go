package remember

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/reveal"
	"github.com/inquest-dev/inquest/internal/trust/cmdline"
)

// Pattern selects the allowed values of an argument: one value, or those that match a glob.
type Pattern struct {
	Equals json.RawMessage `json:"equals,omitempty"`
	// Glob is a text with *. On its own, * matches any value, except in arguments that are executed. Within a text or a command
	// line, it matches a part of a name: one or more letters, digits, "_", "-" and ".". A match never leads to the folder itself or
	// to a folder above it: see package cmdline.
	Glob string `json:"glob,omitempty"`
}

const anything = "*"

// Exactly returns the pattern that matches only one value.
func Exactly(value any) (Pattern, error) {
	text, err := json.Marshal(value)
	return Pattern{Equals: text}, err
}

// commandWords are the words with which servers name an argument that they run as a command line. programWords name a part of one,
// or something that another program runs.
var (
	commandWords = []string{
		"command", "commands", "commandline", "cmd", "cmds", "cmdline", "shell", "script", "scripts", "exec", "bash", "kubectl",
	}
	programWords = []string{"args", "argv", "code", "query"}
)

// isCommand reports whether an argument is a command line, where * alone would match any command.
func isCommand(tool, name string) bool {
	return tool == agent.ToolShell || strings.HasSuffix(strings.ToLower(name), "command") || hasWord(name, commandWords)
}

// isRun reports whether an argument is executed, so that * alone would allow anything.
func isRun(tool, name string) bool { return isCommand(tool, name) || hasWord(name, programWords) }

// hasWord reports whether a name contains one of the words as a part, as in cmd_line, script-text and shellCommand.
func hasWord(name string, words []string) bool {
	name = strings.ToLower(camel.ReplaceAllString(name, "${1}_${2}"))
	parts := strings.FieldsFunc(name, func(r rune) bool { return (r < 'a' || r > 'z') && r < 0x80 })
	return slices.ContainsFunc(parts, func(part string) bool { return slices.Contains(words, part) })
}

// camel matches the boundary between a lower-case letter or digit and a capital.
var camel = regexp.MustCompile(`([a-z0-9])([A-Z])`)

func (p Pattern) validate(tool, name string) error {
	command := isCommand(tool, name)
	switch {
	case (p.Glob == "") == (p.Equals == nil):
		return errors.New("a pattern must be either a value or a glob")
	case command && p.Glob != "":
		_, err := cmdline.Parse(p.Glob)
		return dangerous(err)
	case command:
		var line string
		if json.Unmarshal(p.Equals, &line) == nil {
			return dangerous(cmdline.Check(line))
		}
	case p.Glob == anything && isRun(tool, name):
		return errors.New("* alone would match any command; make the pattern more specific")
	case reveal.Hides(p.Glob):
		return errors.New("the glob contains invisible characters")
	}
	return nil
}

func dangerous(err error) error {
	if err != nil {
		return fmt.Errorf("a rule cannot cover this command: %w", err)
	}
	return nil
}

// matcher returns a function that reports whether a value matches. Values other than text match no glob but *.
func (p Pattern) matcher(tool, name string) func(value any) bool {
	command := isCommand(tool, name)
	switch {
	case p.Equals != nil:
		return func(value any) bool {
			text, isText := value.(string)
			return equal(p.Equals, value) && (!command || !isText || cmdline.Check(text) == nil)
		}
	case command:
		pattern, err := cmdline.Parse(p.Glob)
		return func(value any) bool {
			text, isText := value.(string)
			return err == nil && isText && pattern.Fits(text)
		}
	case p.Glob == anything:
		fits := !isRun(tool, name)
		return func(any) bool { return fits }
	}
	expression := glob(p.Glob)
	return func(value any) bool {
		text, isText := value.(string)
		if number, is := value.(json.Number); is {
			text, isText = number.String(), true
		}
		return isText && expression.MatchString(text) && !reveal.Hides(text) && cmdline.Stays(p.Glob, text)
	}
}

// literal returns a text that every matching value contains; empty means that none is known.
func (p Pattern) literal() (longest string) {
	text := p.Glob
	if p.Equals != nil && json.Unmarshal(p.Equals, &text) != nil {
		return "" // a list, an object or a number has several spellings
	}
	pieces := []string{text}
	if p.Glob != "" {
		pieces = strings.Split(text, "*")
	}
	for _, piece := range pieces {
		if len(piece) > len(longest) && !strings.ContainsFunc(piece, func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' }) {
			longest = piece
		}
	}
	return longest
}

// equal compares JSON in canonical form: keys sorted, no white space.
func equal(want json.RawMessage, value any) bool {
	got, err := json.Marshal(value)
	if err == nil && string(got) == string(want) {
		return true
	}
	args, parseErr := Parse(`{"v":` + string(want) + `}`)
	if err != nil || parseErr != nil {
		return false
	}
	canonical, err := json.Marshal(args["v"])
	return err == nil && string(got) == string(canonical)
}

func glob(pattern string) *regexp.Regexp {
	return regexp.MustCompile(`^(?s:` + strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, cmdline.Name) + `)$`)
}

func (p Pattern) String() string {
	if p.Glob != "" {
		return " like " + p.Glob
	}
	return "=" + string(p.Equals)
}
