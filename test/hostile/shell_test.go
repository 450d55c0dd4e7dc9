package hostile

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/tool/builtin"
)

// canary is a program that is not allowed. It leaves a file in the folder CANARY.
const canary = "#!/bin/sh\necho x >CANARY/sang-$$\n"

// shellList holds the programs that the attacks may use.
var shellList = strings.Fields("ls cat grep head tail wc sort uniq cut echo printf test [ cd true false git tar sed jq find shuf curl " +
	"kubectl rg fd tree awk env xargs split install cpio patch")

// Attacks, one per line. None may run. They try to start the program canary or write the file written. F is a
// text file, REPO a git repository, T an archive.
var lineAttacks = strings.Split(strings.TrimSpace(`
canary
ls; canary
true && canary
false || canary
ls | canary
canary & ls
! canary
(canary)
{ canary; }
if canary; then ls; fi
while true; do canary; done
for i in $(canary); do ls; done
case x in x) canary;; esac
case $(canary) in x) ls;; esac
echo $(canary)
echo "a $(canary)"
echo ${x:-$(canary)}
echo ${x%$(canary)}
echo $(($(canary)))
echo $[$(canary)]
cat < $(canary)
cat <<< $(canary)
cat <(canary)
ls >(canary)
/bin/canary
./canary
~/canary
'canary'
"ls"
c'anar'y
\canary
canar?
{canary,x}
$x canary
$(echo canary)
for x in canary; do $x; done
eval canary
command canary
builtin canary
exec canary
. ./canary
source canary
trap canary EXIT
alias ls=canary
time canary
coproc canary
sh -c canary
bash -c canary
set -- canary; "$@"
PATH=. ls
PATH=.; ls
for PATH in .; do ls; done
echo ${PATH:=.}; ls
echo $((PATH=1)); ls
export PATH=.; ls
readonly PATH=.
echo . | { read PATH; ls; }
LD_PRELOAD=./x.so ls
for IFS in x; do ls; done
PATH+=. ls
a[$(canary)]=1 ls
ENV=./canary ls
BASH_ENV=./canary ls
GIT_PAGER=canary git -C REPO log
GIT_EXTERNAL_DIFF=canary git -C REPO diff HEAD~1
GIT_SSH_COMMAND=canary git ls-remote h:x
GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.pager GIT_CONFIG_VALUE_0=canary git -C REPO log
GIT_EXEC_PATH=. git x
PAGER=canary git -C REPO log
TAR_OPTIONS=--to-command=canary tar -xOf T
TAR_OPTIONS=--checkpoint-action=exec=canary tar -tf T
LESSOPEN='|canary' cat F
TMPDIR=/ sort F
export GIT_PAGER=canary
for GIT_PAGER in canary; do git -C REPO log; done
for TAR_OPTIONS in --to-command=canary; do tar -xOf T; done
ls() { canary; }; ls
function ls { canary; }; ls
echo $'a\' ; ls '; canary #'
echo $"$(canary)"
[[ -v 'a[$(canary)]' ]]
let 'a[$(canary)]=1'
((a[$(canary)]))
declare -n x='a[$(canary)]'
mapfile -C canary -c 1 x
compgen -C canary
bind -x '"a":canary'
enable -f ./x.so x
hash -p ./canary ls
select x in a; do canary; done
echo x > written
echo x>written
echo x >> written
echo x >| written
echo x <> written
echo x &> written
echo x >& written
echo x > /dev/null/../written
for f in written; do echo x > $f; done
> written
{ echo x; } > written
for i in 1; do echo x; done > written
cat <<E > written
cat < /dev/tcp/127.0.0.1/1
cat < "/dev/tcp/127.0.0.1/1"
ls`+"\u00a0"+`canary
ls `+"`canary`"+`
env canary
env -S canary
xargs canary
echo canary | xargs
awk 'BEGIN{system("canary")}'
awk 'BEGIN{"canary" | getline}'
awk 'BEGIN{print "x" | "canary"}'
awk 'BEGIN{print "x" > "written"}'
sed '1e canary' F
sed 'e canary' F
sed -n '$e canary' F
sed 's/.*/canary/e' F
sed 's/.*/canary/ge' F
sed 's,.*,canary,Me' F
sed -e p -e '1e canary' F
sed -n -e '1{e canary' -e '}' F
sed --expression='1e canary' F
sed --expr='1e canary' F
sed -ne'1e canary' F
sed '1
e canary' F
sed '/a/I,+1e canary' F
sed '\cacecanary' F
sed 'w written' F
sed -n 'w written' F
sed 's/a/b/w written' F
sed '1W written' F
sed '/x/!{p;w written
}' F
sed 'b;:x;w written' F
sed 'bx}s/a;w written
/b/' F
sed -i s/a/b/ F
sed -ni p F
sed -i.bak p F
sed -Ei p F
sed --in-place p F
sed --in-place=.bak p F
sed --in-pl p F
sed --i p F
sed p F -i
sed p F --in-p
sed -f script F
sed --file=script F
sed -nfscript F
for o in -i; do sed $o p F; done
for o in -i; do sed "$o" p F; done
for o in 'w written'; do sed "$o" F; done
sed $(echo -i) p F
sed "$(echo 1e canary)" F
sed ${x:--i} p F
sed -{i,n} p F
sed ??i p F
tar -xf T --to-command=canary
tar -xOf T --to-comm=canary
tar -tf T --checkpoint=1 --checkpoint-action=exec=canary
tar -tf T --checkpoint=1 --checkpoint-act exec=canary
tar -xOf T --checkpoint=1 '--checkpoint-action=exec=canary'
tar -I canary -tf T
tar -Icanary -tf T
tar -tIcanary -f T
tar tIf canary T
tar --use-compress-program=canary -tf T
tar --use-comp=canary -tf T
tar -tf h:x --rsh-command=canary
tar -tf h:x
tar tf h:x
tar tfv h:x
tar -tf T -F canary -M
tar --info-script=canary -tMf T
tar -cf written F
tar cf written F
tar -xf T
tar xf T
tar --get -f T
tar -rf T F
tar --delete -f T F
tar -tf T --index-file=written
tar -cf /dev/null F --checkpoint=1 --checkpoint-action=exec=canary
tar "cf${HOME+I}" written canary F
tar "c${x}f" written F
tar xf* T
tar t{I,}f canary T
git -c alias.x='!canary' x
git -calias.x=!canary x
git -c core.pager=canary -p -C REPO log
git -c diff.external=canary -C REPO diff HEAD~1
git -C REPO -c diff.external=canary diff HEAD~1
git -c core.fsmonitor=canary -C REPO status
git -c core.sshCommand=canary ls-remote h:x
git --config-env=core.pager=HOME -C REPO log
git --exec-path=. x
git --exec-path . x
git --git-dir=bare status
git -p -C REPO log
git clone 'ext::canary' x
git ls-remote 'ext::canary'
git ls-remote --upload-pack=canary REPO
git fetch --upload-pack=canary
git archive --remote=. --exec=canary HEAD
git -C REPO archive -o written HEAD
git -C REPO archive --outp=written HEAD
git -C REPO log --output=written
git -C REPO diff --output=../written HEAD~1
git -C REPO diff --outpu=written HEAD~1
git -C REPO show --output written
git -C REPO grep -Ocanary a
git -C REPO grep -nOcanary a
git -C REPO grep --open-files-in-pager=canary a
git -C REPO grep --open=canary a
git -C REPO diff --ext-diff HEAD~1
git -C REPO bisect run canary
git -C REPO rebase -x canary HEAD~1
git -C REPO difftool -x canary HEAD~1
git -C REPO submodule foreach canary
git -C REPO filter-branch --tree-filter canary
git -C REPO hook run x
git -C REPO config alias.x '!canary'
git config --global a.b c
git init written
git help log
git -C REPO commit --allow-empty -m x
for o in --output=written; do git -C REPO log $o; done
git -C REPO grep -e -- -Ocanary -e a
git diff --no-index --src-prefix -- --output=written F T
git -C c{.,lone} log
find . -exec canary {} \;
find . -execdir canary {} \;
find . -exec canary {} +
find . -ok canary \;
find . -okdir canary \;
find F -delete
find . -fprint written
find . -fprint0 written
find . -fprintf written x
find . -fls written
find . \( -name F -exec canary \; \)
for o in -delete; do find F $o; done
find F "$(echo -delete)"
sort -o written F
sort -owritten F
sort F -o written
sort -ro written F
sort -rowritten F
sort --output=written F
sort --outp=written F
sort --o written F
sort -S1 --compress-program=canary F
sort --compress-prog=canary F
sort -T. F
for o in -owritten; do sort $o F; done
sort "$(echo -owritten)" F
sort -{r,owritten} F
uniq F written
uniq -c F written
uniq - written
uniq -- F written
uniq -f 1{,written} F
for o in 'F written'; do uniq $o; done
shuf -o written F
shuf -eowritten F
curl -o written file:///etc/hostname
curl -sowritten file:///etc/hostname
curl -O file:///etc/hostname
curl --output written file:///etc/hostname
curl --outp written file:///etc/hostname
curl -K script file:///etc/hostname
curl -D written file:///etc/hostname
curl --trace written file:///etc/hostname
curl --stderr written file:///nowhere
kubectl exec p -- canary
kubectl --kubeconfig=config get pods
kubectl -n x run y --image=z
kubectl "ex${HOME+ec}" pod -- canary
kubectl get pods -n -- --kubeconfig=config
kubectl -n e{1,xec} get pods -- canary
kubectl apply -f F
kubectl get pods --cache_dir=written
rg --pre canary a
rg --pre=canary a
fd -x canary
fd -Hx canary
rg -e -- --pre=canary a
tree -o written
tree -P -- -o written
tree -R -L 1
split --filter=canary F
split --filt canary F
install -s --strip-program=canary F written
cpio -o --rsh-command=canary -F h:x
patch -e F script
patch F script
rg -z canary a
sed -l 'w written' F
echo "${x:-'$(canary)'}"
for x in 'a[$(canary)]'; do echo $[x]; done
cat < /de{v..v}/tcp/127.0.0.1/1
`), "\n")

// TestShellAllowList: each attack is refused before it starts. A canary and a file show whether it had an effect.
func TestShellAllowList(t *testing.T) {
	lab := newShellLab(t)
	dir := lab.folder(t)
	for _, line := range attackLines() {
		got := lab.run(t, plan.Shell{Allow: shellList, Dir: dir}, line)
		if got.ErrorType != tool.ErrorPermissionDenied {
			t.Errorf("%s: not refused: %+v", line, got)
		}
		if harm := lab.harm(t, dir); harm != "" {
			t.Errorf("%s: %s", line, harm)
			dir = lab.folder(t)
		}
	}
	t.Logf("%d attacks", len(attackLines()))
}

// TestShellAttacksAreReal: the refused commands do harm if all options are allowed, so the test above would detect it.
func TestShellAttacksAreReal(t *testing.T) {
	lab := newShellLab(t)
	for _, line := range []string{
		`sed '1e canary' F`, `sed 's/.*/canary/e' F`, `sed 'w written' F`, `sed -i s/a/b/ F`, `sed --in-pl p F`, "sed --expr='1e canary' F",
		`tar -tf T --checkpoint=1 --checkpoint-act exec=canary`, `tar -xf T --to-comm=canary`, `tar -tIcanary -f T`, `tar cf written F`,
		`git -c alias.x='!canary' x`, `git -C REPO grep -nOcanary a`, `git -C REPO diff --output=../written HEAD~1`,
		`git -c diff.external=canary -C REPO diff HEAD~1`,
		`find . -exec canary {} \;`, `find F -delete`, `find . -fprint written`, `sort -rowritten F`, `sort --outp=written F`,
		`uniq F written`, `shuf -o written F`,
		`tar "cf${HOME+I}" written canary F`, `git -C REPO grep -e -- -Ocanary -e a`,
		`git diff --no-index --src-prefix -- --output=written F script`,
		`split --filter=canary F`, "install -s --strip-program=canary F written",
		`env canary`, `echo canary | xargs env`, `awk 'BEGIN{system("canary")}'`,
	} {
		dir := lab.folder(t)
		got := lab.run(t, plan.Shell{Allow: shellList, AllOptions: true, Dir: dir}, line)
		if lab.harm(t, dir) == "" {
			t.Errorf("%s does no harm: %+v", line, got)
		}
	}
}

// TestShellStillWorks: ordinary uses of these programs are not refused.
func TestShellStillWorks(t *testing.T) {
	lab := newShellLab(t)
	dir := lab.folder(t)
	for _, line := range []string{
		`cat F | sort -rn -k1,1 | uniq -c | head -n 3`, `sed -n '1,2p' F`, `sed -E 's/(a|b)+/x/g; /^#/d' F`, `sed ':a;N;$!ba;s/\n/ /g' F`,
		`tar tvf T`, `tar -xOf T F`,
		`git -C REPO log --oneline -n 2`, `git --no-pager -C REPO diff --stat HEAD~1`, `git -C REPO grep -n a`,
		`find . -name F -type f -size -10k`, `find . -maxdepth 1 -name "F*" -print`,
		`for f in ./*; do sed -n 1p -- "$f"; done`, `sort F 2>/dev/null`, `if [ -f F ]; then wc -l F; fi`, `uniq F`, `shuf -n 1 F`,
		`cut -c1 F | sort -u`,
	} {
		for _, limits := range []plan.Shell{{Allow: shellList, Dir: dir}, {Allow: shellList, Dir: dir, Confine: plan.ConfineIfPossible}} {
			if got := lab.run(t, limits, line); got.Status != tool.StatusSuccess {
				t.Errorf("%s: %+v", line, got)
			}
		}
		if harm := lab.harm(t, dir); harm != "" {
			t.Errorf("%s: %s", line, harm)
		}
	}
}

// attackLines rejoins attacks that span several lines.
func attackLines() (lines []string) {
	for _, line := range lineAttacks {
		if last := len(lines) - 1; last >= 0 && strings.Count(lines[last], "'")%2 == 1 && !strings.Contains(lines[last], `$'`) {
			lines[last] += "\n" + line
			continue
		}
		lines = append(lines, line)
	}
	return append(lines, "ls\ncanary", "ls\r\ncanary", "ls # no\ncanary", "cat <<E\n$(canary)\nE", "cat <<'E'\nls\nE\ncanary", "ca\\\nnary",
		"l\vs;canary", "sed 's/a/b\\\ne canary/' F")
}

// shellLab is the environment for the attacks: programs on the path, and files to damage.
type shellLab struct{ canaries, files string }

func newShellLab(t *testing.T) shellLab {
	t.Helper()
	lab := shellLab{canaries: t.TempDir(), files: t.TempDir()}
	programs := t.TempDir()
	write(t, filepath.Join(programs, "canary"), strings.ReplaceAll(canary, "CANARY", lab.canaries), 0o755)
	t.Setenv("PATH", programs+string(filepath.ListSeparator)+os.Getenv("PATH"))
	write(t, filepath.Join(lab.files, "F"), "a\nb\nb\n", 0o644)
	write(t, filepath.Join(lab.files, "script"), "1e canary\nw written\n", 0o644)
	setup := `tar -cf T F && git init -q REPO && cd REPO && echo a >a && git add a && git -c user.name=n -c user.email=e commit -qm one ` +
		`&& echo aa >a && git -c user.name=n -c user.email=e commit -qam two`
	if got := lab.run(t, plan.Shell{Dir: lab.files}, setup); got.Status != tool.StatusSuccess {
		t.Fatalf("%+v", got)
	}
	return lab
}

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// folder returns a fresh copy of the files.
func (l shellLab) folder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(l.files)); err != nil {
		t.Fatal(err)
	}
	return dir
}

func (l shellLab) run(t *testing.T, limits plan.Shell, line string) tool.Result {
	t.Helper()
	args, err := json.Marshal(map[string]string{"command": line})
	if err != nil {
		t.Fatal(err)
	}
	return builtin.Shell(limits).Run(t.Context(), tool.Call{Name: agent.ToolShell, Arguments: args})
}

// harm returns the damage done by an attack, or "", and resets the canaries.
func (l shellLab) harm(t *testing.T, dir string) string {
	t.Helper()
	sung, err := os.ReadDir(l.canaries)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range sung {
		_ = os.Remove(filepath.Join(l.canaries, entry.Name()))
	}
	if len(sung) > 0 {
		return "it ran a program"
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	info, err := os.Stat(filepath.Join(dir, "F"))
	if strings.Join(names, " ") != "F REPO T script" || err != nil {
		return "it left " + strings.Join(names, " ")
	}
	if was, err := os.Stat(filepath.Join(l.files, "F")); err != nil || was.Size() != info.Size() || info.Mode() != was.Mode() {
		return "it changed a file"
	}
	text, err := os.ReadFile(filepath.Join(dir, "F"))
	if err != nil || string(text) != "a\nb\nb\n" {
		return "it changed a file"
	}
	return ""
}
