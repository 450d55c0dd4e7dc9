//go:build unix

package processtest

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// role is the variable that turns this test binary into the test to be killed.
const role = "LIFELINE_ROLE"

func TestMain(m *testing.M) {
	if os.Getenv(role) == "" {
		os.Exit(m.Run())
	}
	child := exec.Command("sh", "-c", "sleep 600 & wait") // a process with its own child
	child.Stdout, child.SysProcAttr = os.Stdout, &syscall.SysProcAttr{Setpgid: true}
	if err := child.Start(); err != nil {
		panic(err)
	}
	if _, err := Tie(child); err != nil {
		panic(err)
	}
	fmt.Println("up") // only now: an untied process would outlive us
	select {}
}

// The output of a killed test stays open for as long as one of its processes is alive.
func TestProcessesDieWithTheTest(t *testing.T) {
	test := exec.Command(os.Args[0])
	test.Env = append(os.Environ(), role+"=killed")
	out, err := test.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := test.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "up" {
		t.Fatalf("the process said %q", lines.Text())
	}
	ended := make(chan bool)
	go func() {
		for lines.Scan() {
		}
		close(ended)
	}()
	_ = test.Process.Kill()
	select {
	case <-ended:
	case <-time.After(2 * time.Minute):
		t.Error("a process outlives its test")
	}
	_ = test.Wait()
}

func TestCut(t *testing.T) {
	child := exec.Command("cat")
	child.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out := new(strings.Builder)
	child.Stdout = out
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	cut, err := Tie(child)
	if err != nil {
		t.Fatal(err)
	}
	cut()
	cut()
	_, _ = in.Write([]byte("still here"))
	in.Close()
	if err := child.Wait(); err != nil || out.String() != "still here" {
		t.Errorf("the process said %q, and ended with %v", out, err)
	}
}
