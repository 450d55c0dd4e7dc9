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
	// drain is how long what a server wrote last may take to arrive after its
	// end. Only a process that left its group can use it up.
	drain = 500 * time.Millisecond
)

// process is a server's process, in a group of its own with all that it starts.
type process struct {
	cmd     *exec.Cmd
	stdin   io.WriteCloser
	stdout  *os.File
	stderr  *tail
	exited  chan struct{} // closed when the process and its group are gone
	ending  sync.Once
	waitErr error // how it ended; set before exited is closed
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

// reap waits for the end of the process and ends what it leaves behind, so that
// a reader of its output comes to an end as well.
func (p *process) reap() {
	p.waitErr = p.cmd.Wait()
	p.signal(syscall.SIGKILL)
	p.stdout.SetReadDeadline(time.Now().Add(drain))
	close(p.exited)
}

// signal reaches the whole group. It is an error only if nothing is left of it.
func (p *process) signal(sig syscall.Signal) { syscall.Kill(-p.cmd.Process.Pid, sig) }

// stop ends the process as MCP asks for: by closing its input, and by signals if
// that is not enough. It does not wait.
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

// lastWords says how the process ended, if it has by now or does within a
// moment, and what it wrote to its standard error.
func (p *process) lastWords() string {
	words := ""
	select {
	case <-p.exited:
		words = fmt.Sprintf(" (%s)", p.cmd.ProcessState)
	case <-time.After(drain):
	}
	if text := p.stderr.text(); text != "" {
		words += "; its last words: " + text
	}
	return words
}

// inherited are the variables of the worker that a server is given: what a
// program needs to run, where its cluster is, and nothing that may be a secret.
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
		env = append(env, name+"="+value) // the last one of a name counts
	}
	slices.Sort(env[len(env)-len(extra):])
	return env
}
