package builtin

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"mvdan.cc/sh/v3/syntax"

	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
)

// allowList has the commands that the attacks below may use. "evil" is not on it.
var allowList = []string{"echo", "cat", "ls", "true", "false", "printf", "test", "[", "eval", "command", "/bin/evil",
	"./evil", "time", "[["}

// attacks try to run evil, to write a file, or to change the meaning of a name.
var attacks = map[string]string{
	"plain":                      `evil`,
	"second in a list":           `ls; evil`,
	"after and":                  `true && evil`,
	"after or":                   `false || evil`,
	"in a pipe":                  `ls | evil`,
	"in the background":          `evil & ls`,
	"after a line break":         "ls\nevil",
	"after a carriage return":    "ls\r\nevil",
	"after a comment":            "ls # no\nevil",
	"negated":                    `! evil`,
	"in a subshell":              `(evil)`,
	"in a block":                 `{ evil; }`,
	"in a condition":             `if evil; then ls; fi`,
	"in an else":                 `if false; then ls; else evil; fi`,
	"in a loop":                  `while true; do evil; done`,
	"in a loop's words":          `for i in $(evil); do ls; done`,
	"in a case":                  `case x in x) evil;; esac`,
	"in a case's word":           `case $(evil) in x) ls;; esac`,
	"in a case's pattern":        `case x in $(evil)) ls;; esac`,
	"in a substitution":          `echo $(evil)`,
	"in backquotes":              "echo `evil`",
	"in nested backquotes":       "echo `echo \\`evil\\``",
	"in double quotes":           `echo "a $(evil)"`,
	"in a default":               `echo ${x:-$(evil)}`,
	"in a pattern":               `echo ${x%$(evil)}`,
	"in arithmetic":              `echo $(($(evil)))`,
	"in old arithmetic":          `echo $[$(evil)]`,
	"in arithmetic by value":     `for x in 'a[$(evil)]'; do echo $[x]; done`,
	"in quoted old arithmetic":   `for x in 'a[$(evil)]'; do echo "b$[x]"; done`,
	"old arithmetic, escapes":    `for x in 'a[$(evil)]'; do echo "\\$[x]"; done`,
	"old arithmetic, two lines":  "for x in 'a[$(evil)]'; do echo $\\\n[x]; done",
	"old arithmetic, default":    `for x in 'a[$(evil)]'; do echo ${y:-$[x]}; done`,
	"in quotes in a default":     `echo "${x:-'$(evil)'}"`,
	"in quotes in a prefix":      `echo "${x#'$(evil)'}"`,
	"in quotes, twice nested":    `echo "${x:-${y:-'$(evil)'}}"`,
	"end of a default hidden":    `echo "${x:-'}"; evil; echo "'}"`,
	"in a redirection":           `cat < $(evil)`,
	"in a here-document":         "cat <<E\n$(evil)\nE",
	"here-document delimiter":    "cat <<'E'\nls\nE\nevil",
	"in a function":              `ls() { evil; }; ls`,
	"in a bash function":         `function ls { evil; }; ls`,
	"bracket function":           `[() { evil; }; [ 1 ]`,
	"by path":                    `/bin/evil`,
	"by relative path":           `./evil`,
	"by home":                    `~/evil`,
	"quoted":                     `'evil'`,
	"an allowed name, quoted":    `"ls"`,
	"half quoted":                `e"vi"l`,
	"escaped":                    `\evil`,
	"over a line break":          "ev\\\nil",
	"from a variable":            `for x in evil; do $x; done`,
	"from an empty variable":     `$x evil`,
	"from a substitution":        `$(echo evil)`,
	"by pattern":                 `ev?l`,
	"by braces":                  `{evil,x}`,
	"by eval":                    `eval evil`,
	"by command":                 `command evil`,
	"by exec":                    `exec evil`,
	"by dot":                     `. ./evil`,
	"by trap":                    `trap evil EXIT`,
	"by alias":                   "alias ls=evil\nls",
	"by time":                    `time evil`,
	"by coproc":                  `coproc evil`,
	"by env":                     `env evil`,
	"by xargs":                   `echo evil | xargs`,
	"by sh":                      `sh -c evil`,
	"by set":                     `set -- evil; "$@"`,
	"with PATH":                  `PATH=. ls`,
	"PATH on its own":            `PATH=.; ls`,
	"PATH in a loop":             `for PATH in .; do ls; done`,
	"PATH by default":            `echo ${PATH:=.}; ls`,
	"PATH in arithmetic":         `echo $((PATH=1)); ls`,
	"PATH by export":             `export PATH=.; ls`,
	"PATH by readonly":           `readonly PATH=.; ls`,
	"PATH by read":               `echo . | { read PATH; ls; }`,
	"preload":                    `LD_PRELOAD=./evil.so ls`,
	"preload by default":         `echo ${LD_PRELOAD:=./evil.so}; ls`,
	"IFS in a loop":              `for IFS in x; do ls; done`,
	"appending assignment":       `PATH+=. ls`,
	"array element":              `a[$(evil)]=1 ls`,
	"write":                      `echo x > written`,
	"write, no space":            `echo x>written`,
	"append":                     `echo x >> written`,
	"clobber":                    `echo x >| written`,
	"read and write":             `echo x <> written`,
	"write with a number":        `echo x 1> written`,
	"write both, bash":           `echo x &> written`,
	"write both, csh":            `echo x >& written`,
	"write through fd path":      `echo x > /dev/fd/1`,
	"write past null":            `echo x > /dev/null/../../tmp/written`,
	"write to a variable":        `for f in written; do echo x > $f; done`,
	"write, no command":          `> written`,
	"write from a block":         `{ echo x; } > written`,
	"write from a loop":          `for i in 1; do echo x; done > written`,
	"network":                    `cat < /dev/tcp/127.0.0.1/1`,
	"network, quoted":            `cat < "/dev/tcp/127.0.0.1/1"`,
	"network, escaped":           `cat < /dev\/tcp/127.0.0.1/1`,
	"network, braces":            `cat < /de{v..v}/tcp/127.0.0.1/1`,
	"network, pattern":           `cat < /d?v/tcp/127.0.0.1/1`,
	"network, by tilde":          `cat < ~+/tcp/127.0.0.1/1`,
	"network, both ways":         `cat /etc/passwd 0</dev/tcp/127.0.0.1/1 1>&0`,
	"network by variable":        `for f in /dev/tcp/127.0.0.1/1; do cat < $f; done`,
	"process substitution":       `cat <(evil)`,
	"writing process":            `ls >(evil)`,
	"here-string":                `cat <<< $(evil)`,
	"dollar quote hides":         `echo $'a\' ; ls '; evil #'`,
	"dollar double quote":        `echo $"$(evil)"`,
	"dollar quote after quote":   `echo "a"$'\'' ; evil #'`,
	"prompt expansion":           `for x in '$(evil)'; do echo ${x@P}; done`,
	"indirection":                `for x in PATH; do echo ${!x}; done`,
	"slice":                      `echo ${x:$(evil)}`,
	"length of an element":       `echo ${#a[$(evil)]}`,
	"double bracket":             `[[ -v 'a[$(evil)]' ]]`,
	"extended glob":              `echo @(a|$(evil))`,
	"let":                        `let 'a[$(evil)]=1'`,
	"declare":                    `declare -n x='a[$(evil)]'`,
	"arithmetic command":         `((a[$(evil)]))`,
	"select":                     `select x in a; do evil; done`,
	"unfinished":                 `ls $(`,
	"unfinished quote":           `ls "`,
	"very deep":                  strings.Repeat("(", 8_000),
	"very deep substitution":     strings.Repeat("$(", 4_000),
	"too long":                   "ls " + strings.Repeat("a", 9_000),
	"unicode space":              "ls\u00a0evil",
	"name with a trailing slash": `ls/`,
}

func TestAllowListRefuses(t *testing.T) {
	t.Parallel()
	for name, line := range attacks {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			got := Shell(plan.Shell{Allow: allowList, Dir: dir}).Run(t.Context(), command(line))
			if got.ErrorType != tool.ErrorPermissionDenied || !strings.HasPrefix(got.Content, "Command refused: ") {
				t.Errorf("%s: %+v", line, got)
			}
			if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
				t.Errorf("%s left %v (%v)", line, entries, err)
			}
		})
	}
}

// bashTricks use only allowed commands. In bash, the unchecked line would run a command hidden in the name of a
// variable.
var bashTricks = map[string]string{
	"printf to an element":    `printf -v 'a[$(echo x > written)]' x`,
	"test of an element":      `test -v 'a[$(echo x > written)]'`,
	"bracket of an element":   `[ -v 'a[$(echo x > written)]' ]`,
	"by loop variable":        `for o in -v; do [ $o 'a[$(echo x > written)]' ]; done`,
	"arithmetic or subshells": `for ls in 'a[$(echo x > written)]'; do ((ls)); done`,
	"printf to PATH":          `printf -v PATH .; ls`,
}

// TestAllowListHoldsInBash checks that a checked line is safe even if sh is bash.
func TestAllowListHoldsInBash(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash here")
	}
	sh := filepath.Join(t.TempDir(), "sh") // bash behaves like sh if it is called sh
	if err := os.Symlink(bash, sh); err != nil {
		t.Fatal(err)
	}
	for name, line := range bashTricks {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checked, err := list{names: allowList}.allowed(line)
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(sh, "-c", guard+checked)
			cmd.Dir = t.TempDir()
			out, _ := cmd.CombinedOutput()
			if entries, err := os.ReadDir(cmd.Dir); err != nil || len(entries) > 0 {
				t.Errorf("%s left %v (%v): %s", line, entries, err, out)
			}
		})
	}
}

func TestAllowListAllows(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "in"), []byte("text\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		`echo a b`:                                "a b\n",
		`cat in | cat`:                            "text\n",
		`cat < in`:                                "text\n",
		`cat nothing 2>/dev/null || echo none`:    "none\n",
		`{ echo a >&2; } 2>&1`:                    "a\n",
		`echo "$(cat in)" '$(evil)'`:              "text $(evil)\n",
		"echo `echo a` # a comment":               "a\n",
		`for f in in; do cat "$f"; done`:          "text\n",
		`if [ -f in ]; then echo yes; fi`:         "yes\n",
		`case in in i*) echo ${x:-none} ;; esac`:  "none\n",
		`for f in a.b; do echo ${f%.b}; done`:     "a\n",
		`printf '%s$' a; test 1 = 1 && echo "b$"`: "a$b$\n",
		`echo "\$[x]" '$[x]' $x[a] "b$"`:          "$[x] $[x] [a] b$\n",
		`echo "${x:-$(echo 'a')}" ${x:-"b"}`:      "a b\n",
		`(echo a; echo b) | cat`:                  "a\nb\n",
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			got := Shell(plan.Shell{Allow: allowList, Dir: dir}).Run(t.Context(), command(line))
			if got.Status != tool.StatusSuccess || got.Content != want {
				t.Errorf("got %+v, want %q", got, want)
			}
		})
	}
}

// FuzzAllowList checks that the check never panics, and that an accepted line is accepted again with the same commands.
func FuzzAllowList(f *testing.F) {
	for _, line := range attacks {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		checked, err := list{names: allowList}.allowed(line)
		if err != nil {
			return
		}
		before, _ := list{names: allowList}.check(line)
		after, err := list{names: allowList}.check(checked)
		if err != nil {
			t.Fatalf("%q became %q: %v", line, checked, err)
		}
		if diff := cmp.Diff(commands(before), commands(after)); diff != "" {
			t.Errorf("%q became %q: %s", line, checked, diff)
		}
	})
}

func commands(file *syntax.File) (names []string) {
	syntax.Walk(file, func(node syntax.Node) bool {
		if call, ok := node.(*syntax.CallExpr); ok {
			names = append(names, call.Args[0].Lit())
		}
		return true
	})
	return names
}
