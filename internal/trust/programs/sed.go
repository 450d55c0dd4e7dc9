package programs

import (
	"errors"
	"regexp"
	"strings"
)

var sedOptions = options{
	short: "nErsuze:",
	long:  "quiet silent regexp-extended separate unbuffered null-data posix sandbox line-length= expression=",
}

// sed refuses scripts that are not known to be harmless.
func sed(args []Arg) error {
	opts, operands, err := sedOptions.parseFirst(args)
	if err != nil {
		return err
	}
	var scripts []Arg
	for _, opt := range opts {
		if opt.name == "e" || opt.name == "expression" {
			scripts = append(scripts, opt.value)
		}
	}
	if len(scripts) == 0 && len(operands) > 0 {
		scripts = operands[:1]
	}
	var text []string
	for _, script := range scripts {
		if !script.Known {
			return errors.New("its script must be literal text")
		}
		text = append(text, script.Text)
	}
	if !sedScript.MatchString(strings.Join(text, "\n")) {
		return errors.New("its script may contain only addresses, braces, the commands y p d D P g G h H n N x l q Q z = b t T " +
			": and s without the flags e and w")
	}
	return nil
}

// sedScript matches the part of sed's language that neither runs commands nor reads or writes files. A script that does not match
// may still be harmless.
var sedScript = sedGrammar()

// sedGrammar describes scripts as sequences of tokens. sed sees only the commands listed here, as long as all implementations agree
// on where a pattern or a label ends. Therefore patterns contain no delimiter in brackets, nothing contains a line break, and a
// label ends with its line or a semicolon, because implementations differ on these.
func sedGrammar() *regexp.Regexp {
	tokens := []string{`[\s;{}!]`, `[pdDPgGhHnNx=z]`, `[lqQ][ ]*[0-9]*`, `[0-9$,~+]+`, `[btT:][ ]*[A-Za-z0-9_]*[ ]*(?:[;\n]|$)`}
	for _, delimiter := range strings.Split("/|#,:@%!~+_", "") {
		quoted := regexp.QuoteMeta(delimiter)
		class := `|\[:[a-z]+:\]`
		if delimiter == ":" {
			class = ""
		}
		pattern := `(?:[^\\\n\[` + quoted + `]|\\[^\n]|\[\^?\]?(?:[^\]\[\\\n` + quoted + `]` + class + `)*\])*`
		replacement := `(?:[^\\\n` + quoted + `]|\\[^\n])*`
		tokens = append(tokens, "s"+quoted+pattern+quoted+replacement+quoted+`[gpiIM0-9]*[ ]*(?:[;\n}]|$)`,
			"y"+quoted+replacement+quoted+replacement+quoted)
		if delimiter == "/" {
			tokens = append(tokens, "/"+pattern+`/[ ]*[IM]*`)
		}
	}
	return regexp.MustCompile(`^(?:` + strings.Join(tokens, "|") + `)*$`)
}
