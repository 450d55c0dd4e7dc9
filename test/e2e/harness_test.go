// Package e2e tests Inquest from outside: real processes, real kills, a model server that speaks a provider's
// wire format, and real MCP servers. Only the model's replies are scripted.
package e2e

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/kit/processtest"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
	"github.com/inquest-dev/inquest/internal/store"
)

// bin is the folder in which TestMain built our programs.
var bin string

func TestMain(m *testing.M) {
	if received := os.Getenv(envRawServer); received != "" {
		var s rawServer
		if err := json.Unmarshal([]byte(received), &s); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		s.serve()
		os.Exit(0)
	}
	os.Exit(run(m))
}

// linked omits debugging information and sets a checksum, so that Temporal's SDK does not read the whole binary at each start.
const linked = "-s -w -X go.temporal.io/sdk/internal.binaryChecksum=e2e"

func run(m *testing.M) int {
	flag.Parse()
	onlyGate()
	dir, err := os.MkdirTemp("", "inquest-e2e")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	bin = dir
	if err := programs(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// programs puts our programs into bin, and links to all others that `make programs` has built.
func programs() error {
	built := os.Getenv(processtest.EnvPrograms)
	if built == "" {
		return build("../..", bin, "./dev", "./worker", "./starter", "./internal/tool/tooltest/cmd/toolserver")
	}
	files, err := os.ReadDir(built)
	for _, file := range files {
		err = errors.Join(err, os.Symlink(filepath.Join(built, file.Name()), filepath.Join(bin, file.Name())))
	}
	return err
}

// build builds packages of the module in dir. The output is a file, or a folder that exists.
func build(dir, output string, packages ...string) error {
	command := exec.Command("go", slices.Concat([]string{"build", "-ldflags", linked, "-o", output}, packages)...)
	command.Dir = dir
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("build %v: %w\n%s", packages, err, out)
	}
	return nil
}

// program returns the path of a program in bin. It builds the program if make has not done so.
func program(name, dir, pkg string) (path string, err error) {
	path = filepath.Join(bin, name)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	return path, build(dir, path, pkg)
}

// patience limits the wait for something that should happen at once.
const patience = 6 * time.Minute

// long also runs the tests whose names begin with TestLong, which take minutes.
var long = flag.Bool("long", false, "run the tests whose names begin with TestLong, too")

func takesLong(t *testing.T) {
	t.Helper()
	if !*long {
		t.Skip("takes minutes: `make e2e RUN=NAME`")
	}
}

// soak gives outages their full duration by the real clock, and runs the tests that try every possible point.
var soak = flag.Bool("soak", false, "outages of a store for ten minutes and of a provider for an hour; run TestSoak…, too")

func soaks(t *testing.T) {
	t.Helper()
	if !*soak {
		t.Skip("takes very long: `make soak`")
	}
}

// lasting returns d, or with -soak the real duration that d stands for.
func lasting(d, whole time.Duration) time.Duration {
	if *soak {
		return whole
	}
	return d
}

// world is one installation: a data folder, a configuration and a model server.
type world struct {
	t       *testing.T
	data    string
	config  string
	store   string // path of a SQLite file or address of a PostgreSQL database
	address string // of Temporal
	ui      string
	env     []string
	model   *llmtest.Server
	bin     string // folder of the programs; empty means the ones built from this code
}

// path returns the path of one of our programs.
func (w *world) path(name string) string { return filepath.Join(cmp.Or(w.bin, bin), name) }

// key is the API key of the tests' model. It must not appear in any output or file.
const key = "sk-e2e-never-to-be-seen"

func newWorld(t *testing.T, script llmtest.Script, config string) *world {
	t.Helper()
	w := &world{t: t, data: t.TempDir(), address: freeAddress(t), ui: freeAddress(t), model: llmtest.Start(t, script)}
	w.config, w.store = filepath.Join(w.data, "config.yaml"), w.storePath()
	w.configure(config)
	w.env = append(os.Environ(),
		"E2E_KEY="+key, "E2E_MODEL="+w.model.URL, "E2E_GEMINI="+w.model.GeminiURL, "E2E_TOOLS="+filepath.Join(bin, "toolserver"),
		"TEMPORAL_ADDRESS="+w.address, "INQUEST_STORE="+w.storePath(), "NO_COLOR=1",
		// The user's own folders are not used: the inbox keeps its numbers there, and another test may have used the same address.
		"XDG_STATE_HOME="+filepath.Join(w.data, "state"), "XDG_CACHE_HOME="+w.data)
	return w
}

// configure writes the configuration.
func (w *world) configure(config string) {
	w.t.Helper()
	if err := os.WriteFile(w.config, []byte(config), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// with returns the same installation, with variables added to its programs' environment.
func (w *world) with(env ...string) *world {
	other := *w
	other.env = slices.Concat(w.env, env)
	return &other
}

func (w *world) storePath() string { return filepath.Join(w.data, "inquest.db") }

func freeAddress(t *testing.T) string {
	t.Helper()
	address, err := processtest.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// process is one of our programs, running.
type process struct {
	t    *testing.T
	cmd  *exec.Cmd
	log  *lines
	done chan struct{}
}

// lines keeps the output of a process and notifies those who wait for a text.
type lines struct {
	mu      sync.Mutex
	text    bytes.Buffer
	changed chan struct{}
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Write(p)
	close(l.changed)
	l.changed = make(chan struct{})
	return len(p), nil
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *lines) wait(text string, done <-chan struct{}) bool { return l.waitTimes(1, text, done) }

// waitTimes waits until a text has been printed the given number of times.
func (l *lines) waitTimes(times int, text string, done <-chan struct{}) bool {
	timeout := time.After(patience)
	for {
		l.mu.Lock()
		found, changed := strings.Count(l.text.String(), text) >= times, l.changed
		l.mu.Unlock()
		if found {
			return true
		}
		select {
		case <-changed:
		case <-done:
			return strings.Count(l.String(), text) >= times
		case <-timeout:
			return false
		}
	}
}

// start starts a program and waits until it has printed ready.
func (w *world) start(ready, program string, args ...string) *process {
	w.t.Helper()
	path := w.path(program)
	if program == "sh" || program == "unshare" {
		path = program
	}
	p := &process{t: w.t, cmd: exec.Command(path, args...), done: make(chan struct{})}
	p.log = &lines{changed: make(chan struct{})}
	p.cmd.Dir, p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = w.data, w.env, p.log, p.log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	untie := p.begin()
	go func() {
		_ = p.cmd.Wait()
		untie()
		close(p.done)
	}()
	w.t.Cleanup(p.kill)
	if !p.log.wait(ready, p.done) {
		w.t.Fatalf("%s did not say %q:\n%s", program, ready, p.log)
	}
	return p
}

// begin starts the process and ties it to the test: the process ends with it, even if the test crashes.
func (p *process) begin() (untie func()) {
	p.t.Helper()
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	untie, err := processtest.Tie(p.cmd)
	if err != nil {
		p.t.Fatal(err)
	}
	return untie
}

// says waits until the process has printed a text the given number of times.
func (p *process) says(times int, text string) {
	p.t.Helper()
	if !p.log.waitTimes(times, text, p.done) {
		p.t.Fatalf("%s did not say %q %d times:\n%s", p.cmd.Path, text, times, p.log)
	}
}

// kill kills the process and its children, as the loss of a machine would, and waits until they are gone.
func (p *process) kill() {
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	<-p.done
}

// terminate asks the process to stop and returns its exit code.
func (p *process) terminate() int {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	return p.wait()
}

func (p *process) wait() int {
	p.t.Helper()
	select {
	case <-p.done:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(patience):
		p.t.Fatalf("%s does not end:\n%s", p.cmd.Path, p.log)
		return -1
	}
}

// dev starts the whole system. With noWorker, workers are started separately.
func (w *world) dev(flags ...string) *process {
	w.t.Helper()
	args := append([]string{"--listen", w.address, "--ui", w.ui, "--data", w.data, "--config", w.config}, flags...)
	return w.start("Inquest is ", "dev", args...) // running, or up, as v0.1 says
}

func (w *world) worker(flags ...string) *process {
	w.t.Helper()
	return w.start("worker started", "worker", append([]string{"--config", w.config, "--drain", "3s"}, flags...)...)
}

// starter runs the CLI until it exits.
func (w *world) starter(stdin string, args ...string) (stdout, stderr string, code int) {
	w.t.Helper()
	return w.program(w.path("starter"), stdin, args...)
}

func (w *world) program(path, stdin string, args ...string) (stdout, stderr string, code int) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	var out, errs bytes.Buffer
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = w.env, strings.NewReader(stdin), &out, &errs
	err := cmd.Run()
	if _, failed := err.(*exec.ExitError); err != nil && !failed {
		w.t.Fatalf("%s %v: %v", path, args, err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// must runs the CLI and expects it to succeed.
func (w *world) must(args ...string) string {
	w.t.Helper()
	out, errs, code := w.starter("", args...)
	if code != 0 {
		w.t.Fatalf("starter %v: exit code %d\n%s%s", args, code, out, errs)
	}
	return out
}

// open opens the store while other processes use it.
func (w *world) open() *store.Store {
	w.t.Helper()
	s, err := store.Open(context.Background(), store.At(w.store))
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { s.Close() })
	return s
}

// proxy is a connection to Temporal that can be held or stalled. While it is held, the worker behind it
// continues, but its messages are lost. While it is stalled, nothing arrives in either direction; after the
// resume, everything does.
type proxy struct {
	address string
	mu      sync.Mutex
	held    bool
	stalled chan struct{} // closed on resume; nil means not stalled
}

func newProxy(t *testing.T, target string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	p := &proxy{address: l.Addr().String()}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go p.serve(conn, target)
		}
	}()
	return p
}

func (p *proxy) serve(conn net.Conn, target string) {
	defer conn.Close()
	server, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	defer server.Close()
	go func() { _, _ = io.Copy(conn, stallable{server, p}); conn.Close() }()
	reader, buffer := bufio.NewReader(conn), make([]byte, 32<<10)
	for {
		n, err := reader.Read(buffer)
		p.await()
		if p.holding() {
			return // sent data is lost, as if the machine were lost
		}
		if _, werr := server.Write(buffer[:n]); err != nil || werr != nil {
			return
		}
	}
}

// stallable delivers data from a server unless the proxy is stalled.
type stallable struct {
	net.Conn
	proxy *proxy
}

func (s stallable) Read(b []byte) (int, error) {
	n, err := s.Conn.Read(b)
	s.proxy.await()
	return n, err
}

// stall holds back traffic in both directions for the duration d.
func (p *proxy) stall(d time.Duration) {
	resume := p.freeze()
	time.Sleep(d)
	resume()
}

// freeze holds back traffic in both directions until resume is called.
func (p *proxy) freeze() (resume func()) {
	resumed := make(chan struct{})
	p.mu.Lock()
	p.stalled = resumed
	p.mu.Unlock()
	return func() {
		p.mu.Lock()
		p.stalled = nil
		p.mu.Unlock()
		close(resumed)
	}
}

func (p *proxy) await() {
	p.mu.Lock()
	resumed := p.stalled
	p.mu.Unlock()
	if resumed != nil {
		<-resumed
	}
}

// hold drops everything that is sent to Temporal from now on.
func (p *proxy) hold() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held = true
}

func (p *proxy) holding() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.held
}
