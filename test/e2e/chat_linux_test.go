package e2e

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/inquest-dev/inquest/internal/llm/llmtest"
)

// typist is a person at a terminal.
type typist struct {
	*process
	keys *os.File
}

// terminal runs the CLI on a new terminal.
func (w *world) terminal(args ...string) typist {
	w.t.Helper()
	master, slave := openTerminal(w.t)
	return w.at(master, slave, io.Discard, args...)
}

// at runs the CLI on a terminal and copies its output to screen.
func (w *world) at(master, slave *os.File, screen io.Writer, args ...string) typist {
	w.t.Helper()
	return w.onTerminal(exec.Command(filepath.Join(bin, "starter"), args...), master, slave, screen)
}

// onTerminal runs a command on a terminal and copies its output to screen.
func (w *world) onTerminal(cmd *exec.Cmd, master, slave *os.File, screen io.Writer) typist {
	w.t.Helper()
	p := &process{t: w.t, cmd: cmd, done: make(chan struct{})}
	p.log = &lines{changed: make(chan struct{})}
	p.cmd.Dir, p.cmd.Env, p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = w.data, w.env, slave, slave, slave
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	untie := p.begin()
	slave.Close()
	read := make(chan struct{})
	go func() {
		defer close(read)
		buffer := make([]byte, 4<<10)
		for {
			n, err := master.Read(buffer)
			_, _ = screen.Write(buffer[:n])
			_, _ = p.log.Write(buffer[:n])
			if err != nil {
				return
			}
		}
	}()
	go func() {
		_ = p.cmd.Wait()
		untie()
		<-read
		close(p.done)
	}()
	w.t.Cleanup(func() { p.kill(); master.Close() })
	return typist{p, master}
}

func openTerminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	var number, unlocked uint32
	for request, value := range map[uintptr]*uint32{syscall.TIOCSPTLCK: &unlocked, syscall.TIOCGPTN: &number} {
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, master.Fd(), request, uintptr(unsafe.Pointer(value))); errno != 0 {
			t.Fatal(errno)
		}
	}
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return master, slave
}

// types types keys at the n-th prompt.
func (p typist) types(n int, keys string) {
	p.t.Helper()
	p.says(n, "> ")
	p.press(keys)
}

func (p typist) press(keys string) {
	p.t.Helper()
	if _, err := p.keys.WriteString(keys); err != nil {
		p.t.Fatal(err)
	}
}

const (
	ctrlC = "\x03"
	ctrlD = "\x04"
	up    = "\x1b[A"
)

// TestChatOnATerminal types with editing and history, pasted lines, Ctrl-C and Ctrl-D.
func TestChatOnATerminal(t *testing.T) {
	t.Parallel()
	k := talks{hold: llmtest.NewHold()}
	w := newWorld(t, k.script, talkConfig)
	w.dev()

	p := w.terminal("chat", "--agent", "Memo", "--thread", "desk")
	p.types(1, "helo\x7flo\r") // a correction
	p.says(1, "starter chat --agent Memo --thread desk")
	p.says(1, "heard 5 characters")
	p.types(2, "\x1b[200~two\rlines\x1b[201~\r")
	p.says(1, "heard 9 characters")
	p.types(4, up+" again\r") // each pasted line had a prompt
	p.says(1, "heard 11 characters")
	p.types(5, "remember the terminal\r")
	p.says(1, "thinking: worth keeping")
	p.says(1, "core_memory_append")
	p.types(6, "wait\r")
	p.says(1, "wait")
	k.hold.Wait(t)
	p.press(ctrlC)
	p.says(1, "asked to conclude")
	p.press(ctrlC)
	p.says(1, "Stopped waiting. The agent continues.")
	if code := p.wait(); code != 130 {
		t.Errorf("exit code %d", code)
	}
	k.hold.Release()
	eventually(t, "the turn is over", func() bool {
		_, _, code := w.starter("", "chat", "--thread", "desk", "--message", "hello")
		return code == 0
	})

	second := w.terminal("chat", "--thread", "desk")
	second.says(1, "remember the terminal") // one of the last messages
	second.says(1, "waited long")
	second.types(1, "/help\r")
	second.says(1, "/quit")
	second.types(2, "/hlep\r")
	second.says(1, `unknown command "/hlep"`)
	second.types(3, ctrlD)
	second.says(1, "The conversation stays open. To continue it: starter chat --thread desk")
	if code := second.wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if text := p.log.String(); strings.Contains(text, "» ") {
		t.Errorf("what was typed is repeated:\n%s", text)
	}

	editor := w.terminal("mcp") // started by mistake, without an editor
	editor.says(1, "claude mcp add inquest -- starter mcp")
	editor.press(ctrlD)
	if code := editor.wait(); code != 0 {
		t.Errorf("mcp: exit code %d", code)
	}
}
