package builtin

import (
	"context"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/inquest-dev/inquest/internal/trust/sandbox"
)

// drain is how long the last output of a command may take to arrive after the command has ended. Only a process that
// left the command's process group can make it run out.
const drain = 500 * time.Millisecond

// job is a command line, with its directory and rules.
type job struct {
	line, dir string
	rules     sandbox.Rules
	keeper    []string // see Shell
}

// execute runs a job and returns once it and its processes are gone: all of them with a keeper, and otherwise its
// process group.
func (j job) execute(ctx context.Context, out io.Writer) error {
	reader, writer, err := os.Pipe()
	if err != nil {
		return err
	}
	defer reader.Close()
	cmd, err := j.command(ctx)
	if err == nil {
		cmd.Dir, cmd.Env = j.dir, environment(j.dir)
		cmd.Stdout, cmd.Stderr = writer, writer
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		err = j.start(cmd)
	}
	writer.Close()
	if err != nil {
		return err
	}
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		io.Copy(out, reader) //nolint:errcheck // ends by EOF or by the deadline below
	}()
	err = cmd.Wait()
	killGroup(cmd.Process) //nolint:errcheck // ends background processes; usually there are none
	reader.SetReadDeadline(time.Now().Add(drain))
	<-copied
	return err
}

// command returns the keeper, which ends when its input is closed, or the shell itself.
func (j job) command(ctx context.Context) (*exec.Cmd, error) {
	if len(j.keeper) == 0 {
		cmd := exec.CommandContext(ctx, "sh", "-c", j.line)
		cmd.Cancel = func() error { return killGroup(cmd.Process) }
		return cmd, nil
	}
	args := slices.Concat(j.keeper[1:], j.rules.Flags(), []string{"--", j.line})
	cmd := exec.CommandContext(ctx, j.keeper[0], args...)
	cmd.Args[0] = os.Args[0] // some programs depend on their own name
	lifeline, err := cmd.StdinPipe()
	cmd.Cancel, cmd.WaitDelay = func() error { return lifeline.Close() }, keeperPatience
	return cmd, err
}

// keeperPatience is how long a keeper has to end a command before it is killed itself.
const keeperPatience = 5 * time.Second

func (j job) start(cmd *exec.Cmd) error {
	if len(j.keeper) > 0 {
		return cmd.Start() // the keeper enforces the rules
	}
	return sandbox.Start(cmd, j.rules)
}

// killGroup kills a process and everything in its group.
func killGroup(p *os.Process) error { return syscall.Kill(-p.Pid, syscall.SIGKILL) }

// environment returns the whole environment of a command, without the worker's secrets.
func environment(dir string) []string {
	env := []string{
		"PATH=" + searchPath(os.Getenv("PATH")), "HOME=" + dir, "TMPDIR=" + dir,
		// A repository within another one's files can bring programs with it.
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.bareRepository", "GIT_CONFIG_VALUE_0=explicit",
	}
	for _, name := range []string{"LANG", "TZ"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// searchPath drops entries that would find a command in the working directory, where the agent may be able to put one.
func searchPath(path string) string {
	var dirs []string
	for _, dir := range filepath.SplitList(path) {
		if filepath.IsAbs(dir) {
			dirs = append(dirs, dir)
		}
	}
	if len(dirs) == 0 {
		return "/usr/local/bin:/usr/bin:/bin"
	}
	return strings.Join(dirs, string(filepath.ListSeparator))
}

// openFolder returns the directory in which a command runs: the configured one, if nobody else can put files there that
// programs obey, or a new one, which remove deletes.
func openFolder(configured string) (dir string, remove func(), err error) {
	if configured != "" {
		if dir, err = filepath.Abs(configured); err != nil {
			return "", nil, err
		}
		return dir, func() {}, sandbox.CheckFolder(dir)
	}
	dir, err = os.MkdirTemp("", "inquest-shell-")
	return dir, func() { removeAll(dir) }, err
}

// removeAll removes a directory, even if it contains directories that are not writable.
func removeAll(dir string) {
	if os.RemoveAll(dir) == nil {
		return
	}
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, _ error) error {
		if entry != nil && entry.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	_ = os.RemoveAll(dir)
}
