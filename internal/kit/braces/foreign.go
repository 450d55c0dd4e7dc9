package braces

import (
	"regexp"
	"slices"
	"strings"
)

// Foreign is a reference to a variable in the notation of a shell or an MCP client. Inquest does not expand it.
type Foreign struct {
	Text    string  // as written, but without the default, which may be a secret
	Name    string  // of the variable; empty if the reference is more than a name and a default: ${A:-${B}}, ${file:x}
	Default *string // of ${NAME:-default}; nil means none
}

// Ours returns the reference in the notation of configurations.
func (f Foreign) Ours() string { return "{{." + f.Name + "}}" }

var (
	// foreign matches references and, because it comes first, what only looks like one: $$ and double braces. $NAME and %NAME% have two
	// capital letters or more, so that prices, passwords, regular expressions and percent-encoding rarely match.
	foreign = regexp.MustCompile(`\$\$\{?|\{\{.*?\}\}|\$\{[A-Za-z_](?:[^{}]|\$\{[^{}]*\}|\{\{[^{}]*\}\})*\}|\{env:[A-Za-z_]\w*\}|` +
		`\$(?:env:)?[A-Z_][A-Z0-9_]+|%[A-Z_][A-Z0-9_]+%`)
	inBraces  = regexp.MustCompile(`(?s)^\$?\{(?:input:([\w.-]+)|(?:env:)?([A-Za-z_]\w*)(?::?-([^{}]*))?)\}$`)
	notInName = regexp.MustCompile(`[^A-Z0-9]+`)
)

// The characters beside $NAME and %NAME%: these are whole words. "" is the beginning or the end of the text.
const before, after = ` =:/@,\`, ` :/@,\&?`

// ReplaceForeign replaces the references in a text.
func ReplaceForeign(text string, with func(Foreign) string) string {
	var out strings.Builder
	rest := 0
	for _, at := range foreign.FindAllStringIndex(text, -1) {
		match := text[at[0]:at[1]]
		var f Foreign
		switch {
		case strings.HasPrefix(match, "$$"), strings.HasPrefix(match, "{{"):
			continue
		case strings.Contains(match, "{"):
			f = foreignInBraces(match)
		case at[0] > 0 && !strings.Contains(before, text[at[0]-1:at[0]]), at[1] < len(text) && !strings.Contains(after, text[at[1]:at[1]+1]):
			continue
		default:
			f = Foreign{Text: match, Name: strings.TrimPrefix(strings.Trim(match, "$%"), "env:")}
		}
		out.WriteString(text[rest:at[0]] + with(f))
		rest = at[1]
	}
	return out.String() + text[rest:]
}

// ForeignIn returns the references in a text.
func ForeignIn(text string) (all []Foreign) {
	ReplaceForeign(text, func(f Foreign) string {
		all = append(all, f)
		return ""
	})
	return all
}

func foreignInBraces(text string) Foreign {
	m := inBraces.FindStringSubmatchIndex(text)
	if m == nil {
		return Foreign{Text: text[:strings.IndexByte(text, '{')+1] + "…}"}
	}
	if m[2] >= 0 { // the ID of a question, such as perplexity-key
		name := strings.Trim(notInName.ReplaceAllString(strings.ToUpper(text[m[2]:m[3]]), "_"), "_")
		if name == "" || name[0] <= '9' {
			name = "INPUT_" + name
		}
		return Foreign{Text: text, Name: name}
	}
	f := Foreign{Text: text, Name: text[m[4]:m[5]]}
	if f.Name == "userHome" { // of VS Code
		f.Name = "HOME"
	}
	if m[6] >= 0 {
		value := text[m[6]:m[7]]
		f.Text, f.Default = text[:m[6]]+"…}", &value
	}
	return f
}

// shells are programs whose arguments are scripts with shell variables.
var shells = []string{"sh", "bash", "dash", "ash", "zsh", "ksh", "fish", "busybox", "cmd", "powershell", "pwsh"}

// syntax has the characters of scripts and expressions that values with a reference do not have.
const syntax = "'\"`;|<>()\n"

// ForeignInArgument returns the references in argument n of a program, except those that the program expands itself: all after the name
// of a shell, those in a script (such as node -e "…"), and mcp-remote's references to variables that the server's env sets.
func ForeignInArgument(command string, args []string, n int, env map[string]string) []Foreign {
	earlier := append([]string{command}, args[:n]...)
	isShell := func(arg string) bool {
		name := arg[strings.LastIndexAny(arg, `/\`)+1:]
		return slices.Contains(shells, strings.TrimSuffix(strings.ToLower(name), ".exe"))
	}
	if strings.ContainsAny(args[n], syntax) || slices.ContainsFunc(earlier, isShell) {
		return nil
	}
	remote := func(arg string) bool { return arg == "mcp-remote" || strings.HasPrefix(arg, "mcp-remote@") }
	all := ForeignIn(args[n])
	if slices.ContainsFunc(earlier, remote) {
		all = slices.DeleteFunc(all, func(f Foreign) bool { _, set := env[f.Name]; return set })
	}
	return all
}
