package mcp

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"time"
)

const (
	// patience is how long a server has to end by itself, and again after SIGTERM.
	patience = time.Second
	// drain is how long the last output of a server may take to arrive after its end. Only a process that left its
	// group can make it run out.
	drain = 500 * time.Millisecond
)

// process is a server's process, in its own group with all processes that it starts.
type process struct {
	cmd     *exec.Cmd
	stdin   io.WriteCloser
	stdout  *os.File
	stderr  *tail
	exited  chan struct{} // closed when the process and its group are gone
	ending  sync.Once
	waitErr error // the exit error; set before exited is closed
}

func startProcess(t Transport, stderr *tail) (*process, error) {
	stdout, theirs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	cmd := exec.Command(t.Command, t.Args...)
	cmd.Env = environment(t.Env)
	cmd.Stdout, cmd.Stderr = theirs, stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = drain
	stdin, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		stdout.Close()
		return nil, err
	}
	p := &process{cmd: cmd, stdin: stdin, stdout: stdout, stderr: stderr, exited: make(chan struct{})}
	go p.reap()
	return p, nil
}

// reap waits for the end of the process and kills the rest of its group, so that readers of its output finish.
func (p *process) reap() {
	p.waitErr = p.cmd.Wait()
	p.signal(syscall.SIGKILL)
	p.stdout.SetReadDeadline(time.Now().Add(drain))
	close(p.exited)
}

// signal sends a signal to the whole group. The error is ignored: it only means that nothing is left.
func (p *process) signal(sig syscall.Signal) { syscall.Kill(-p.cmd.Process.Pid, sig) }

// stop ends the process as MCP specifies: by closing its input, and then by signals. It does not wait.
func (p *process) stop() { p.ending.Do(func() { go p.end() }) }

func (p *process) end() {
	p.stdin.Close()
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		select {
		case <-p.exited:
			return
		case <-time.After(patience):
			p.signal(sig)
		}
	}
}

// lastWords describes how the process ended, and its standard error. It is for a process that was told to stop, and waits
// longer than stop takes only if the process cannot be killed.
func (p *process) lastWords() string {
	words := ""
	select {
	case <-p.exited:
		words = fmt.Sprintf(" (%s)", p.cmd.ProcessState)
	case <-time.After(3*patience + drain):
	}
	if text := p.stderr.text(); text != "" {
		words += "; last output: " + text
	}
	return words
}

// inherited are the worker's variables that a server gets: those that programs need to run and to find their cluster,
// and none that may be secret.
var inherited = []string{
	"HOME", "KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT", "LANG", "LC_ALL", "LC_CTYPE",
	"LOGNAME", "PATH", "SHELL", "TEMP", "TERM", "TMP", "TMPDIR", "TZ", "USER",
	"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR",
}

func environment(extra map[string]string) []string {
	var env []string
	for _, name := range inherited {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	for name, value := range extra {
		env = append(env, name+"="+value) // the last value of a name counts
	}
	slices.Sort(env[len(env)-len(extra):])
	return env
}
