package e2e

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/charmbracelet/x/vt"

	"github.com/inquest-dev/inquest/internal/kit/goldentest"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
)

// viewer is a person at a terminal whose screen can be read.
type viewer struct {
	typist
	screen *vt.SafeEmulator
}

// viewer runs the CLI on a terminal of the given size.
func (w *world) viewer(width, height int, args ...string) viewer {
	w.t.Helper()
	return w.views(width, height, exec.Command(filepath.Join(bin, "starter"), args...))
}

// views runs a command on a terminal of the given size.
func (w *world) views(width, height int, cmd *exec.Cmd) viewer {
	w.t.Helper()
	master, slave := openTerminal(w.t)
	size := [4]uint16{uint16(height), uint16(width)}
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, master.Fd(), syscall.TIOCSWINSZ, uintptr(unsafe.Pointer(&size))); errno != 0 {
		w.t.Fatal(errno)
	}
	screen := vt.NewSafeEmulator(width, height)
	go func() { _, _ = io.Copy(master, screen.Emulator) }() // the terminal's answers to queries
	return viewer{w.with("TERM=xterm-256color", "CI=").onTerminal(cmd, master, slave, screen), screen}
}

// lines returns the lines of the screen.
func (v viewer) lines() []string {
	var out []string
	for y := range v.screen.Height() {
		var line strings.Builder
		for x := 0; x < v.screen.Width(); x++ {
			if c := v.screen.CellAt(x, y); c != nil {
				line.WriteString(c.Content)
			}
		}
		out = append(out, strings.TrimRight(line.String(), " "))
	}
	return out
}

func (v viewer) String() string { return strings.Join(v.lines(), "\n") }

// shows waits until the screen shows a text.
func (v viewer) shows(text string) {
	v.until("shows "+text, func(s string) bool { return strings.Contains(s, text) })
}

func (v viewer) until(what string, ok func(screen string) bool) {
	v.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		screen := v.String()
		if ok(screen) {
			return
		}
		if time.Now().After(deadline) {
			v.t.Fatalf("the screen never %s:\n%s", what, screen)
		}
	}
}

// passing matches text that differs between runs, and blanks matches padding of different widths.
var (
	passing = regexp.MustCompile(`:[0-9a-f]{12}|\b[0-9.]+k? +[0-9][0-9hm]*s$|` +
		`[0-9.]+k? tokens|\b[0-9][0-9hm]*s\b|[0-9]{2}:[0-9]{2}:[0-9]{2}( UTC)?|in [0-9]+ min|[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]`)
	blanks = regexp.MustCompile(`(\S) {2,}`)
)

// golden compares the screen with a file in testdata, except for text that differs between runs.
func (v viewer) golden(name string) {
	v.t.Helper()
	var lines []string
	for _, line := range v.lines() {
		lines = append(lines, blanks.ReplaceAllString(passing.ReplaceAllString(line, "#"), "$1  "))
	}
	got, file := strings.Join(lines, "\n")+"\n", filepath.Join("testdata", name+".golden")
	goldentest.Equal(v.t, file, got)
}

// TestLiveView is a new user's first minutes: two parallel agents whose calls are decided immediately, a system
// that dies and comes back, and the report.
func TestLiveView(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newScript().script(), approvalConfig)
	dev := w.dev()
	small := w.viewer(80, 24, "run", "--chain", "lab", "--data", "it burns", "--workflow-id", "lab")
	small.shows("Alpha asks to call lab.set {} · a: decide")
	small.shows("Beta asks to call")
	large := w.viewer(120, 40, "watch", "lab")
	large.shows("Beta asks to call lab.add {\"a\":2,\"b\":3} · a: decide")
	for _, v := range []viewer{small, large} {
		v.shows("needs you")
		v.until("has its footer", func(s string) bool {
			last := v.lines()[v.screen.Height()-1]
			return strings.HasPrefix(last, "a approve/deny · q quit · ? help · p pause") && strings.HasPrefix(v.lines()[0], "it burns · lab")
		})
	}

	// Enter alone decides nothing. A decision in one view appears in the other.
	small.press("a")
	small.shows("Enter alone or Esc: decide later")
	small.golden("decide-80x24")
	small.press("\r")
	small.shows("not decided: the call is still pending")
	large.press("a")
	large.shows("Enter alone or Esc: decide later")
	large.golden("decide-120x40")
	small.press("a")
	small.shows("Enter alone or Esc: decide later")
	small.press("y\r")
	large.shows("no longer pending")
	small.shows("Alpha asks to call lab.counter")

	dev.kill()
	small.shows("connection to Temporal lost; retrying since")
	large.shows("connection to Temporal lost; retrying since")
	w.dev()
	small.shows("connection to Temporal is restored")

	// The person leaves and comes back.
	large.press("\x03")
	if code := large.wait(); code != 130 || !strings.Contains(large.log.String(), "Stopped watching. The investigation continues.") {
		t.Errorf("Ctrl-C: exit code %d:\n%s", code, large)
	}
	large = w.viewer(120, 40, "watch", "lab")
	large.shows("Alpha asks to call lab.counter")
	large.press("a")
	large.shows("approve lab.counter? [y/n/reason]")
	large.shows("Enter alone or Esc: decide later")
	large.press("not twice\r")
	for _, v := range []viewer{large, small} {
		v.until("has one call less", func(s string) bool { return !strings.Contains(s, "Alpha asks to call") })
	}
	plain := w.viewer(80, 24, "watch", "lab", "--plain")
	plain.shows("approve lab.add? [y/n/reason]")
	plain.press("y\r")
	plain.shows("lab: dig/Beta/c1_0 (lab.add) approved by ")
	if code := plain.wait(); code != 0 {
		t.Errorf("--plain: exit code %d:\n%s", code, plain)
	}
	for _, v := range []viewer{small, large} {
		if code := v.wait(); code != 0 {
			t.Errorf("exit code %d:\n%s", code, v)
		}
		if v.screen.IsAltScreen() {
			t.Error("the terminal was not given back")
		}
		screen := v.String()
		if strings.Count(screen, "the report of gamma") != 1 || !strings.Contains(screen, "completed") {
			t.Errorf("the end:\n%s", screen)
		}
	}
	if shown := w.must("show", "lab"); !strings.Contains(shown, "approved by ") || !strings.Contains(shown, "not twice") {
		t.Errorf("shown:\n%s", shown)
	}
}

// TestLiveDecisions has a person change the arguments of a call in the live view, within the tool's schema, and
// then allow similar calls from then on, after seeing which earlier calls that would have covered.
func TestLiveDecisions(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(req llmtest.Request) llmtest.Reply {
		args := []string{`{"a":2,"b":3}`, `{"a":5,"b":6}`, `{"a":5,"b":6}`}
		if turn := turnOf(req); turn <= len(args) {
			return llmtest.Calls(llmtest.Call{Name: "lab__add", Args: args[turn-1]})
		}
		return llmtest.Text("done")
	}, strings.Replace(gatedConfig, "lab.counter: {", "lab.add: {remember: true, ", 1))
	w.dev()
	v := w.viewer(80, 40, "run", "--chain", "lab", "--data", "it burns", "--workflow-id", "lab")
	v.shows(`asks to call lab.add {"a":2,"b":3}`)
	v.press("a")
	v.shows("Enter alone or Esc: decide later")
	v.press("\t")
	v.shows(`arguments> {"a":2,"b":3}`)
	const line = "\x15" // deletes the input
	v.press(line + `{"a":"x","b":3}` + "\r")
	v.shows("was refused")
	v.shows("Enter approves the call with these arguments")
	v.golden("refused-80x40")
	v.press(line + `{"a":40,"b":2}` + "\r")

	v.shows(`asks to call lab.add {"a":5,"b":6}`)
	v.press("a")
	v.shows("Enter alone or Esc: decide later")
	v.press("\t\t\t\t")
	v.shows("It would have allowed 0 of the last 1 call:")
	v.shows("y: until revoked")
	v.press("y 8h\r")
	if code := v.wait(); code != 0 {
		t.Errorf("exit code %d:\n%s", code, v)
	}
	rules, shown := w.must("rules", "list"), w.must("show", "lab", "--json")
	if !regexp.MustCompile(` 1 +(8h0m|7h)[0-9ms]+ +lab.add a=5 b=6 in project default`).MatchString(rules) {
		t.Errorf("the rules are\n%s", rules)
	}
	for _, part := range []string{`edited the arguments of this call. It was made with these: {\"a\":40,\"b\":2}`,
		"allowed by rule r-"} {
		if strings.Count(shown, part) < 1 {
			t.Errorf("%s is not in\n%s", part, shown)
		}
	}
}

// Watching eight agents that write uses less than a tenth of a core.
func TestLongViewIsCheap(t *testing.T) {
	takesLong(t)
	t.Parallel()
	const watched = 10 * time.Second
	var text strings.Builder
	for n := range 500 {
		fmt.Fprintf(&text, "word%d is **said** by an agent. %s", n*n, strings.Repeat("\n", n%7/6*2))
	}
	w := newWorld(t, func(llmtest.Request) llmtest.Reply {
		return llmtest.Text(text.String()).Chunked(30, 33*time.Millisecond)
	}, talkers)
	w.dev()
	v := w.viewer(120, 40, "run", "--chain", "crowd", "--data", "x", "--workflow-id", "crowd")
	eightWrite := func(s string) bool { return strings.Count(s, " writing ") == 8 }
	v.until("has eight who write", eightWrite)
	before, began := v.cpu(), time.Now()
	time.Sleep(watched)
	paid, took := v.cpu()-before, time.Since(began)
	if screen := v.String(); !eightWrite(screen) {
		t.Errorf("they do not write any more:\n%s", screen)
	}
	share := paid.Seconds() / took.Seconds()
	t.Logf("%s of CPU time in %s: %.1f %% of a core", paid, took.Round(time.Millisecond), 100*share)
	if share > 0.1 {
		t.Error("that is more than a tenth of a core")
	}
}

// cpu returns the CPU time of the process.
func (p *process) cpu() time.Duration {
	p.t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		p.t.Fatal(err)
	}
	const user, system, tick = 11, 12, 10 * time.Millisecond // fields behind the name, and their unit
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	u, _ := strconv.Atoi(fields[user])
	k, _ := strconv.Atoi(fields[system])
	return time.Duration(u+k) * tick
}

const talkers = `
llm_providers:
  lab-model: {type: openai, model: lab-1, base_url: "{{.E2E_MODEL}}", api_key_env: E2E_KEY}
agents:
  Talker: {description: talks}
agent_chains:
  crowd: {alert_types: [crowd], llm_provider: lab-model, stages: [{name: talk, replicas: 8, agents: [{name: Talker}]}]}
`
