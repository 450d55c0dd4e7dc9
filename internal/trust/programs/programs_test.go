package programs

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// words returns arguments; € stands for an expansion, ¢ for one that may be several words, ␣ for a space.
func words(line string) (args []Arg) {
	for word := range strings.FieldsSeq(line) {
		many := strings.Contains(word, "¢")
		text, _, open := strings.Cut(strings.ReplaceAll(word, "¢", "€"), "€")
		args = append(args, Arg{Text: strings.ReplaceAll(text, "␣", " "), Known: !open, Many: many})
	}
	return args
}

// dangerous are calls that start programs or write files, or may do so.
var dangerous = []string{
	"env id", "xargs", "awk BEGIN{system(\"id\")}", "gawk -f x", "python3 x", "python3.12 x", "perl -e x", "bash -c id",
	"busybox id", "vi -c !id",
	"less x", "man x", "ssh h", "docker run x", "timeout 1 id", "nohup id", "make", "psql", "tcpdump -z id", "sudo id", "watch id",
	"wget x", "ip netns exec x id",

	"sed -i s/a/b/ f", "sed -ni p f", "sed -i.bak p f", "sed --in-place p f", "sed --in-pl p f", "sed --in p f",
	"sed -n --in-place=.bak p f", "sed p f -i",
	"sed e␣id", "sed 1e␣id", "sed 1,2e␣id", "sed /x/e␣id", "sed $!e", "sed s/x/id/e", "sed s/x/id/ge", "sed s,x,id,e", "sed s/x/id/pe;p",
	"sed s/x/y/w␣f", "sed s/x/y/gw␣f",
	"sed w␣f", "sed Wf", "sed 1w␣/tmp/f", "sed {p;e␣id}", "sed p;e␣id", "sed -e p -e e␣id", "sed -n -e e␣id", "sed -np;e",
	"sed --expression=e␣id", "sed --exp=e␣id",
	"sed -f script f", "sed --file=script f", "sed -nf script f", "sed r␣f", "sed a\\", "sed i␣x", "sed c␣x", "sed #n\ne", "sed y/a/b/e",
	"sed s/[/]/e␣id␣/]/", "sed s|a\\|e␣id|b|e",
	"sed bx}s/a;e␣id/b/", "sed bx␣}e", "sed :a}s/x;e␣id;/y/", "sed s/a/b\\\ne␣id/", "sed -e s/a/b\\ -e e␣id/", "sed €", "sed -€x p",
	"sed p €x", "sed -e €x", "sed -e p€x f", "sed \\ce␣idce",

	"tar -cf x y", "tar cf x y", "tar -xf x", "tar xf x", "tar -xvf x", "tar --extract -f x", "tar -tf h:x", "tar tf h:x", "tar --file=h:x -t",
	"tar -t -f x -f h:x", "tar tfv h:x",
	"tar -tf x --checkpoint=1 --checkpoint-action=exec=id", "tar -tf x --checkpoint-act=exec=id", "tar -xOf x --to-command=id",
	"tar -xOf x --to-comm=id", "tar -xf x --to-command id",
	"tar -I id -tf x", "tar -Iid -tf x", "tar -tIid -f x", "tar --use-compress-program=id -tf x", "tar --use-comp id -tf x",
	"tar -tf x --rsh-command=id", "tar -tf x --rmt-command=id",
	"tar -tf x -F id", "tar -tf x --info-script=id", "tar -tf x --new-volume-script=id", "tar -rf x y", "tar -uf x y", "tar -Af x y",
	"tar --delete -f x y", "tar -tf x --index-file=y", "tar -tf €x", "tar €x",
	"tar cf€ /tmp/o sh␣-c␣id /etc/hostname", "tar c€f x", "tar xf€ y", "tar t€ x", "tar -T list -tf x", "tar -tf x --files-from=l",

	"find . -exec id ;", "find . -execdir id ;", "find . -ok id ;", "find . -okdir id ;", "find . -delete", "find . -fprint f",
	"find . -fprint0 f", "find . -fprintf f x", "find . -fls f",
	"find . -name €x", "find €x", "find . -- -exec id ;", "find . ( -exec id ; )",

	"sort -o f", "sort -of", "sort -no f", "sort -nof x", "sort --output=f", "sort --output f", "sort --out=f", "sort --o f", "sort x -o f",
	"sort --compress-program=id", "sort --compress-prog id",
	"sort -S1 --compress id", "sort -T /d", "sort -T/d", "sort --temp=/d", "sort €x", "sort -€x", "sort x €y", "sort -k €x",
	"uniq a b", "uniq -c a b", "uniq a -c b", "uniq -- a b", "uniq a €b", "uniq €a", "uniq a€b", "shuf -o f", "shuf -eo f x",
	"shuf --output=f", "shuf --random-source=f",

	"git -c alias.x=!id x", "git -calias.x=!id x", "git --config-env=alias.x=Y x", "git --exec-path=. status", "git --git-dir=x status",
	"git -p log", "git --paginate log", "git config --global a b",
	"git x", "git clone ext::id", "git fetch --upload-pack=id", "git ls-remote --upload-pack=id .", "git ls-remote ext::id",
	"git push --receive-pack=id", "git archive --exec=id", "git archive -o f HEAD",
	"git log --output=f", "git diff --output=f", "git diff --outp=f", "git show --outpu f", "git diff --ext-diff", "git log --ext-d",
	"git log --textconv", "git grep -O x", "git grep -Oid x", "git grep -nOid x",
	"git grep --open-files-in-pager=id x", "git grep --open x", "git bisect run id", "git rebase -x id", "git difftool -x id",
	"git submodule foreach id", "git help log", "git log --help", "git commit -m x",
	"git -C d -c x=y status", "git -C d x", "git log €x", "git €x", "git log --show-signature", "git checkout x", "git hook run x",
	"git cat-file --filters x", "git --work-tree=x status", "git apply x", "git var -l",

	"curl -o f u", "curl -of u", "curl -sof u", "curl -sSLo f u", "curl -O u", "curl -sO u", "curl --output f u", "curl --output=f u",
	"curl --outp f u", "curl --remote-name u", "curl -OJ u", "curl -K f", "curl --config f",
	"curl -c f u", "curl --cookie-jar f u", "curl -D f u", "curl --dump-header f u", "curl --trace f u", "curl --trace-ascii f u",
	"curl --stderr f u", "curl --libcurl f u", "curl -T f u", "curl -w %output{f} u",
	"curl --hsts f u", "curl --etag-save f u", "curl --unix-socket s u", "curl €x",

	"kubectl exec p -- id", "kubectl -n x exec p -- id", "kubectl run x --image=y", "kubectl debug n", "kubectl cp a b:c", "kubectl edit x",
	"kubectl attach p", "kubectl config set x y",
	"kubectl --kubeconfig=f get p", "kubectl --kubeconfig f get p", "kubectl get p --kubeconfig=f",
	"kubectl cluster-info dump --output-directory=x", "kubectl get --profile-output=x", "kubectl kustomize x", "kubectl €x",
	"rg --pre id x", "rg --pre=id x", "rg --hostname-bin=id x", "fd -x id", "fd -Hx id", "fd -X id", "fd --exec id", "fd --exec-batch id",
	"tree -o f", "tree -ao f",
	"git grep -e -- -Oid -e hello", "git diff --no-index --src-prefix -- --output=f a b", "git log -- €x",
	"kubectl get pods -n -- --kubeconfig=f", "rg -e -- --pre=sh x",
	"tree -P -- -o f", "journalctl -t -- --vacuum-time=1s", "fd -e -- -x id", "tree -R -L 1", "tree -aR",

	"kubectl ex€ pod -- id", "kubectl get€ pod", "kubectl apply -f x", "kubectl create ns x", "kubectl replace -f x", "kubectl patch p x",
	"kubectl set image x y=z", "kubectl delete pod x", "kubectl scale x",
	"kubectl -n get -n x delete pod", "kubectl --help delete get", "kubectl -n get delete pod", "kubectl -v 5 delete pod x",
	"kubectl rollout undo x", "kubectl rollout", "kubectl rollout €x", "kubectl auth reconcile",
	"kubectl config use-context x", "kubectl cluster-info dump", "kubectl cluster-info -n x dump", "kubectl auth␣can-i",
	"kubectl -n e¢ get pods", "kubectl get -k x", "kubectl get -Ak x", "kubectl get --kustomize=x",
	"kubectl get pods --cache_dir=x", "kubectl get pods --profile=cpu", "kubectl get pods --log-file=x", "kubectl x", "oc extract x --to=y",
	"oc image extract x", "oc adm must-gather", "oc rsh p", "oc new-app x",

	"split --filter=id f", "split --filter id f", "split --filt=id f", "split -l 1 -- f --filter=id", "split €x",
	"install -s --strip-program=sh a b", "install --strip-p sh a b", "cpio -o --rsh-command=id", "cpio -t",
	"patch -p1 -i f", "gpatch f", "rg -z x", "rg -nz x", "rg --search-zip x",

	"sed w␣f -e p", "sed w␣f -e p g", "sed w␣f -- -e", "uniq f -c", "sed -l w␣f p", "sed -l 5 p f", "sed -nl w␣f p", "sed --line-length 1¢ p",
	"uniq -f 1¢ f", "uniq --skip-fields 1¢ f", "git -C d¢ log", "tar -tC d¢ -f x",

	"journalctl --vacuum-time=1s", "journalctl --rotate", "journalctl --cursor-file=f", "journalctl --vacuum-s=1",

	"date -s 2020-01-01", "date -s2020", "date --set=x", "date --se x", "date -us x", "date 01010000", "date €x", "date -€x",
	"dmesg -C", "dmesg -c", "dmesg -Tc", "dmesg --clear", "dmesg --read-cl", "dmesg -n 1", "dmesg -D",
	"systemctl stop x", "systemctl restart x", "systemctl €x", "systemctl -H h status", "systemctl --host=h status",
	"systemctl --root=/x status",
	"systemctl edit x", "systemctl poweroff", "systemctl set-environment A=b", "systemctl --now status x", "systemctl -q daemon-reload",
	"ss -D f", "ss -tD f", "ss --diag=f", "ss -K", "ss --kill", "ss -tK dst x", "file -C -m x", "file --compile",
	"file -z x", "file --uncomp x",
	"lsof -D b/x", "lsof -Dbx", "lsof -nD b", "lsof €x", "hostname x", "hostname -F f", "hostname -b", "sysctl -w a=b", "sysctl a=b",
	"sysctl -p", "sysctl --system", "sysctl a€",
	"curl -d @/etc/hostname u", "curl -d@f u", "curl -sd @f u", "curl --data @f u", "curl --data=@f u", "curl --json @f u", "curl -H @f u",
	"curl --header @f u", "curl --data-urlencode @f u", "curl --data-urlencode a@f u", "curl --data-urlencode a€ u", "curl -d a -d @f u",
	"curl -d @€x u", "curl --url @f", "curl --data-binary @f u",
	"git status -v", "git status -sv", "git status --verbose", "git status --verb", "git describe --dirty", "git describe --dir",
	"git describe --broken", "git diff --ignore-submodules=none", "git status --ignore-submodules=none", "git log --recurse-submodules",
	"git grep --recurse-submodules x", "git log --remerge-diff",
	"pidstat -e sh -c id", "pidstat €x", "zstdcat -o f x.zst", "zstdcat -of x.zst", "zstdcat --output-dir-flat d x.zst", "zstdcat --trace f x",
}

// TestRefuses also covers abbreviations, clusters and attached values.
func TestRefuses(t *testing.T) {
	t.Parallel()
	for _, line := range dangerous {
		name, rest, _ := strings.Cut(line, " ")
		if err := Check(name, words(rest)); err == nil {
			t.Errorf("%q passes", line)
		}
	}
}

func TestAllows(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"ls -o", "grep -e x -o y", "mytool --exec id", "tee f",
		"sed", "sed p", "sed -n 1,5p f", "sed -n $p", "sed -ne 1p f", "sed -n -e 1p -e 3p -- €x", "sed s/a/b/ -- f €x", "sed s/a/b/gI;s|x|y|2p f",
		"sed /^#/d;/^$/d f", "sed -E s/(a|b)[^0-9]+/\\1/g f",
		"sed -n /a/,/b/p f", "sed :a;N;$!ba;s/\\n/␣/g f", "sed {s/a/b/;p} f", "sed y/abc/xyz/ f", "sed -u $!N;P;D f", "sed 10q f",
		"sed --expression=p f", "sed s/[[:space:]]*$// f", "sed /x/I!d f", "sed s/é/e/ f",
		"tar tf x", "tar -tvf x", "tar tzvf x.tgz", "tar -tf x --wildcards a", "tar -xOf x member", "tar xOf x member",
		"tar --list --file=x", "tar -C d -tf x",
		"find . -name x -type f -mtime -1 -print", "find / -maxdepth 2 ( -name a -o -name b ) -size +1M -ls", "find ./a€x -printf %s",
		"sort -rn -k2,2 f", "sort -t, -k1 -u", "sort --reverse --key=2 -- €x", "sort /var/log/€x", "uniq -c", "uniq -c f", "uniq -f2 --count f",
		"shuf -n 3 f", "shuf -en1 a b",
		"git log --oneline -n 5", "git -C d status -s", "git --no-pager diff a..b -- f", "git show HEAD:f", "git blame -L 1,5 f", "git grep -n x",
		"git log --output-indicator-new=x", "git -P log -- ./€x", "git --version",
		"curl -sS -m 5 -H A:b http://h/€x", "curl -sfL u", "curl -I u", "curl -X POST -d x u", "curl --max-time 5 --silent u",
		"kubectl --namespace=x get pods", "kubectl -nx --context c get pods -o jsonpath={.items[*].kind}",
		"kubectl get pods -nkube-system -lapp=kafka", "kubectl rollout status deploy/x", "kubectl -n x rollout history deploy/x",
		"kubectl auth can-i list pods", "kubectl cluster-info", "kubectl -v 5 top node", "kubectl logs pod/€x", "kubectl config view",
		"kubectl version", "oc get routes", "split -l 5 f", "install -m 644 a b",
		"sort -k 1€ f", "curl -d a€ u", "git log -- a --", "git grep -n -- x",
		"kubectl get pods -n x -o json", "kubectl -n x logs p --tail=5", "kubectl describe pod p", "kubectl get pods --output yaml", "rg -n x",
		"date", "date -u", "date +%s", "date -u +%FT%TZ", "date -d yesterday +%F", "date -dyesterday", "date -Iseconds",
		"date --iso-8601=seconds",
		"date --date=@0 +€x", "date -r f", "dmesg -T", "dmesg -H --level err", "dmesg --since x",
		"systemctl status x", "systemctl --no-pager -l status -- €x", "systemctl list-units --failed", "systemctl", "systemctl show -p A x",
		"systemctl is-active x", "ss -tlnp", "ss -s", "file f", "file -b f", "lsof -i :80", "lsof -iUDP", "lsof +D /x", "lsof -nP -p 1",
		"hostname", "hostname -f", "sysctl a.b", "sysctl -a", "service x restart", "kill 1",
		"curl -d {\"a\":\"b@c\"} u", "curl --data-urlencode a=b@c u", "curl --data-raw @x u", "curl -H A:@b u", "curl --data-urlencode a=€ u",
		"git describe --always", "git status -s", "git log -v",
		"pidstat -u -p ALL 1 5", "zstdcat x.zst", "zstdcat -q ./€x",
		"rg --pretty x", "fd -H a", "tree -L 2", "journalctl -u x --since today -n 50",
	} {
		name, rest, _ := strings.Cut(line, " ")
		if err := Check(name, words(rest)); err != nil {
			t.Errorf("%q: %v", line, err)
		}
	}
}

// GNU sed's sandbox mode reports whether a script runs commands or reads or writes files. Every script that we accept must pass it.
func FuzzSedScript(f *testing.F) {
	path, err := exec.LookPath("sed")
	if err != nil || exec.Command(path, "--sandbox", "p", os.DevNull).Run() != nil {
		f.Skip("no GNU sed here")
	}
	for _, line := range dangerous {
		if script, ok := strings.CutPrefix(line, "sed "); ok {
			f.Add(strings.ReplaceAll(script, "␣", " "))
		}
	}
	f.Add("s/a/b/g;p;:a;N;$!ba;y/a/b/")
	f.Fuzz(func(t *testing.T, script string) {
		if strings.ContainsRune(script, 0) || sed([]Arg{{Text: "-e", Known: true}, {Text: script, Known: true}}) != nil {
			return
		}
		out, _ := exec.Command(path, "--sandbox", "-n", "-e", script, os.DevNull).CombinedOutput()
		if strings.Contains(string(out), "sandbox") {
			t.Errorf("%q: %s", script, out)
		}
	})
}

// The documentation lists every known program with its side effects.
func TestDocs(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/reference/shell.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range table {
		if row := "| " + strings.Join(p.Names, ", ") + " | " + p.Does + " |"; !strings.Contains(string(page), row) {
			t.Errorf("docs/reference/shell.md lacks the row\n%s", row)
		}
	}
}
