package builtin

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// drain is how long what a command printed last may take to arrive after it has
// ended. Only a process that left its group can use it up.
const drain = 500 * time.Millisecond

// execute runs a command line and returns once it and its process group are gone.
func execute(ctx context.Context, command, dir string, out io.Writer) error {
	reader, writer, err := os.Pipe()
	if err != nil {
		return err
	}
	defer reader.Close()
	cmd := exec.CommandContext(ctx, "sh", "-c", command)
	cmd.Dir, cmd.Env = dir, environment(dir)
	cmd.Stdout, cmd.Stderr = writer, writer
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return killGroup(cmd.Process) }
	err = cmd.Start()
	writer.Close()
	if err != nil {
		return err
	}
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		io.Copy(out, reader) //nolint:errcheck // ends by EOF or by the deadline below; both are the end
	}()
	err = cmd.Wait()
	killGroup(cmd.Process) //nolint:errcheck // what it left in the background ends with it; usually there is nothing
	reader.SetReadDeadline(time.Now().Add(drain))
	<-copied
	return err
}

// killGroup ends a process and everything in its group.
func killGroup(p *os.Process) error { return syscall.Kill(-p.Pid, syscall.SIGKILL) }

// exitCode tells a command's own end from a failure to run it. A command that
// was ended by a signal has the code that a shell gives it.
func exitCode(err error) (code int, exited bool) {
	if err == nil {
		return 0, true
	}
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		return 0, false
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal()), true
	}
	return exit.ExitCode(), true
}

// environment is all that a command sees: none of the worker's secrets.
func environment(dir string) []string {
	env := []string{"PATH=" + searchPath(os.Getenv("PATH")), "HOME=" + dir}
	for _, name := range []string{"LANG", "TZ"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// searchPath drops what would find a command in the working directory, where
// the agent may be able to put one.
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
