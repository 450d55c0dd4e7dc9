package builtin

import (
	"fmt"
	"slices"
	"strings"
)

// gitConfig overrides settings that git must not take from a repository's own configuration, with values that start no
// program. The author of the repository, an unpacked archive or a volume, may not be the person who runs git in it.
var gitConfig = [][2]string{
	{"safe.bareRepository", "explicit"}, // a repository within another one's files can bring programs with it
	{"core.fsmonitor", "false"},
	{"core.hooksPath", "/dev/null"},
	{"core.pager", "cat"},
	{"core.alternateRefsCommand", "true"},
	{"core.sshCommand", "false"},
	{"core.gitProxy", "false"},
	{"core.askPass", "false"},
	{"gpg.program", "false"},
	{"gpg.openpgp.program", "false"},
	{"gpg.x509.program", "false"},
	{"gpg.ssh.program", "false"},
	{"gpg.ssh.defaultKeyCommand", "false"},
	{"log.showSignature", "false"},
	{"log.diffMerges", "separate"}, // remerge would run merge drivers
	{"status.submoduleSummary", "false"},
	{"submodule.recurse", "false"},
}

// gitGuard returns a shell function that replaces git in a checked command line. It lists the filters and drivers of
// the repository and disables their programs, because git has no option for that. It also keeps git from starting
// another git for a submodule, whose filters have other names, and from fetching missing objects.
func gitGuard() string {
	var set strings.Builder
	for n, pair := range gitConfig {
		fmt.Fprintf(&set, "export GIT_CONFIG_KEY_%d=%s GIT_CONFIG_VALUE_%d=%s\n", n, pair[0], n, pair[1])
	}
	return fmt.Sprintf(gitFunction, set.String(), len(gitConfig))
}

// gitFunction is POSIX shell. Its body is a subshell, so it does not change the variables or the directory of the
// command line. A driver's name may contain any bytes except line breaks, hence the locale.
const gitFunction = `git() (
unset IFS
set -f
flags=
while :; do
  case "${1-}" in
  -C) [ $# -gt 1 ] || break
    case "$2" in '') ;; /*) cd -P "$2" || exit 128 ;; *) cd -P "./$2" || exit 128 ;; esac
    shift 2 ;;
  -*) flags="$flags $1"; shift ;;
  *) break ;;
  esac
done
[ $# -gt 0 ] || exec git $flags
%sexport LC_ALL=C GIT_OPTIONAL_LOCKS=0 GIT_ALLOW_PROTOCOL=none GIT_NO_LAZY_FETCH=1 GIT_TERMINAL_PROMPT=0
n=%d
export GIT_CONFIG_COUNT=$n
names=$(command git config --name-only --get-regexp '^(filter\..*\.(clean|smudge|process|required)|merge\..*\.driver|diff\..*\.textconv)$')
while IFS= read -r key; do
  case "$key" in '') continue ;; *.required | *.driver) value=false ;; *.textconv) value=cat ;; *) value= ;; esac
  eval "GIT_CONFIG_KEY_$n=\$key; GIT_CONFIG_VALUE_$n=\$value; export GIT_CONFIG_KEY_$n GIT_CONFIG_VALUE_$n"
  n=$((n + 1))
done <<NAMES
$names
NAMES
export GIT_CONFIG_COUNT=$n
command=$1
shift
case "$command" in
diff | log | show | whatchanged | diff-tree | diff-index | diff-files) set -- --no-ext-diff --no-textconv --ignore-submodules=all "$@" ;;
blame | annotate | grep) set -- --no-textconv "$@" ;;
status) set -- --ignore-submodules=all "$@" ;;
esac
exec git $flags "$command" "$@"
)
`

// guarded returns a checked command line with its guards.
func (l list) guarded(checked string) string {
	if !l.all && slices.Contains(l.names, "git") {
		return guard + "\n" + gitGuard() + checked
	}
	return guard + checked
}
