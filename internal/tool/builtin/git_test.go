package builtin

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
)

// hostileRepository makes a repository with a submodule, whose configurations name programs wherever git accepts one
// for reading. Each program leaves its name in the directory marks.
const hostileRepository = `set -e
mark() { printf '%s' "touch $MARKS/$1; ${2:-cat}"; }
hostile() {
  for name in "$1" "$(printf 'odd \377 name="x')"; do
    git config "filter.$name.clean" "$(mark clean-$1)"
    git config "filter.$name.smudge" "$(mark smudge-$1)"
    git config "filter.$name.required" true
    git config "diff.$name.command" "$(mark command-$1 true)"
    git config "diff.$name.textconv" "$(mark textconv-$1)"
    git config "merge.$name.driver" "$(mark driver-$1 true)"
  done
  git config "filter.long-$1.process" "$(mark process-$1 false)"
  git config core.fsmonitor "$(mark fsmonitor false)"
  git config diff.external "$(mark external true)"
  git config core.hooksPath "$MARKS/../hooks"
  git config core.pager "$(mark pager)"
  git config pager.log "$(mark pager)"
  git config core.alternateRefsCommand "$(mark alternates true)"
  git config gpg.program "$MARKS/../hooks/gpg"
  git config log.showSignature true
  git config log.diffMerges remerge
  git config status.submoduleSummary true
  git config submodule.recurse true
  git config core.sshCommand "$(mark ssh false)"
  git config remote.origin.url "$2"
  git config remote.origin.uploadpack "$(mark uploadpack false)"
  git config remote.origin.promisor true
  git config remote.origin.partialclonefilter blob:none
  git config core.repositoryformatversion 1
  git config extensions.partialClone origin
}
change() { for file in a.x b.x c.x; do echo "$1 $file" > "$file"; done; }
export HOME="$PWD" GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
mkdir -p hooks "$MARKS"
for hook in post-index-change fsmonitor-watchman reference-transaction gpg; do
  printf '#!/bin/sh\ntouch "%s/hook-%s"\n' "$MARKS" "$hook" > "hooks/$hook"; chmod +x "hooks/$hook"
done
for dir in module repository; do
  git init -q -b main "$dir"; cd "$dir"
  change one
  [ "$dir" = module ] || git -c protocol.file.allow=always submodule --quiet add ../module module
  git add .; git commit -qm one
  # Signed, so that whoever shows the signature starts gpg.
  signature='gpgsig -----BEGIN PGP SIGNATURE-----\n \n iQ\n -----END PGP SIGNATURE-----'
  signed=$(git cat-file commit HEAD | sed "/^committer/a $signature" | git hash-object -t commit -w --stdin)
  git reset -q --hard "$signed"
  change two; git commit -qam two
  cd ..
done
cd repository
git checkout -qb other HEAD~1; change other; git commit -qam other; git checkout -q main
git merge -q other -m merged -s ours
printf 'a.x filter=drv diff=drv merge=drv\n' > .git/info/attributes
printf 'b.x filter=included diff=included\nc.x filter=long-drv\n' >> .git/info/attributes
git config -f ../included filter.included.clean "$(mark included)"
git config -f ../included diff.included.textconv "$(mark included-textconv)"
git config include.path "$PWD/../included"
hostile drv "file://$PWD/../module"
git config submodule.module.ignore none
cd module
mkdir -p ../.git/modules/module/info
printf 'a.x filter=sub diff=sub\nc.x filter=long-sub\n' > ../.git/modules/module/info/attributes
hostile sub "ssh://localhost/x"
cd ..
echo "$PWD/../module/.git/objects" > .git/objects/info/alternates
change new; (cd module; change new); touch -d '1 hour ago' a.x b.x module/a.x 2>/dev/null || true
rm -f "$MARKS"/*
`

// gitLines are command lines of an agent, in the repository's directory.
var gitLines = []string{
	"git status", "git status -s", "git status --porcelain=2", "git -C . status", "git --no-pager -C ./. -P status", "git diff",
	"git diff HEAD",
	"git diff --stat", "git diff --cached", "git diff HEAD~1 HEAD", "git diff --submodule=diff HEAD~1", "git diff --no-index a.x b.x",
	"git log -p", "git log -p -m", "git log -p --submodule=diff", "git log '--format=%G?'", "git log --stat", "git log -Gnew", "git log -c -p",
	"git log --alternate-refs", "git show", "git show HEAD:a.x", "git show --format=%GK HEAD~1", "git whatchanged -p",
	"git blame a.x", "git annotate b.x", "git grep new", "git grep -n new HEAD -- a.x", "git shortlog HEAD", "git describe --always",
	"git rev-parse HEAD", "git rev-list HEAD", "git ls-files -m", "git ls-files -s", "git ls-tree -r HEAD", "git cat-file -p HEAD:a.x",
	"git cat-file -p 1234567890123456789012345678901234567890", "git merge-base HEAD HEAD~1", "git name-rev HEAD", "git for-each-ref",
	"git show-ref", "git diff-tree -p HEAD", "git diff-index -p HEAD", "git diff-files -p", "git count-objects", "git --version",
	"for f in a.x b.x; do git diff -- \"./$f\"; done", "echo $(git status)", "git status | cat; git diff && git log -1",
}

// TestGitStartsNothing checks that a repository's configuration starts no program, whichever git command reads it and
// however the program is named.
func TestGitStartsNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	marks, repository := filepath.Join(dir, "marks"), filepath.Join(dir, "repository")
	build := exec.Command("sh", "-c", hostileRepository)
	build.Dir, build.Env = dir, append(os.Environ(), "MARKS="+marks)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	started := func() (names []string) {
		found, err := os.ReadDir(marks)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			names = append(names, f.Name())
			_ = os.Remove(filepath.Join(marks, f.Name()))
		}
		return names
	}
	checked := Shell(plan.Shell{Timeout: plan.Duration(time.Minute), Dir: dir, Allow: []string{"git", "echo", "cat"}})
	run := func(shell Tool, line string) tool.Result { return shell.Run(t.Context(), command(line)) }
	at := func(line string) string { return strings.ReplaceAll(line, "git ", "git -C "+repository+" ") }
	for _, line := range gitLines {
		result := run(checked, at(line))
		if names := started(); len(names) > 0 {
			t.Errorf("%s: started %q", line, names)
		}
		for _, wrong := range []string{"refused", "usage:", "ambiguous"} {
			if strings.Contains(result.Content, wrong) {
				t.Errorf("%s: %s", line, result.Content)
			}
		}
	}
	// The output is correct, including the way back.
	for line, want := range map[string]string{
		"git status -s": " M a.x", "git show HEAD:a.x": "two a.x", "git diff a.x": "+new a.x", "git blame b.x": "new b.x",
		"git log -1 --format=%s": "merged",
	} {
		if got := run(checked, at(line)); !strings.Contains(got.Content, want) {
			t.Errorf("%s: %+v", line, got)
		}
	}
	// Without the guard, many of them start programs, so this test can fail.
	open := Shell(plan.Shell{Timeout: plan.Duration(time.Minute), Dir: dir, Allow: []string{"git", "echo", "cat"}, AllOptions: true})
	seen := map[string]bool{}
	for _, line := range gitLines {
		run(open, at(line))
		for _, name := range started() {
			seen[name] = true
		}
	}
	const must = "fsmonitor command-drv clean-drv textconv-drv included included-textconv hook-gpg alternates uploadpack " +
		"process-drv driver-drv process-sub command-sub"
	for name := range strings.FieldsSeq(must) {
		if !seen[name] {
			t.Errorf("nothing starts %s, even without the guard: %v", name, seen)
		}
	}
	t.Logf("%d programs start without the guard", len(seen))
}

// TestGitFolders checks that a missing directory or command gives git's own errors.
func TestGitFolders(t *testing.T) {
	t.Parallel()
	shell := Shell(plan.Shell{Timeout: plan.Duration(time.Minute), Dir: t.TempDir(), Allow: []string{"git"}})
	for line, want := range map[string]string{
		"git -C nowhere status": "nowhere", "git -C '' --version": "git version", "git": "usage: git", "git -C": "",
		"git status": "not a git repository",
	} {
		if got := shell.Run(t.Context(), command(line)); !strings.Contains(got.Content, want) {
			t.Errorf("%s: %+v", line, got)
		}
	}
}
