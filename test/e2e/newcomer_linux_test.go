package e2e

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/internal/llm/llmtest"
	"github.com/inquest-dev/inquest/internal/trust/evidence"
)

// newcomer is a person with the README and the tutorial, an empty folder, a terminal, a model server and a Prometheus.
type newcomer struct {
	*world
	printed map[string]string // each long line, and the command that printed it
}

// The value that Prometheus scrapes, and the sentence in which the model reports it.
const (
	diskUsed = "0.9731"
	diskSaid = "The disk of db-1 is almost full: disk_used_ratio of db-1 is "
)

var (
	diskResult = regexp.MustCompile(`"host":"db-1"[^\]]*\},"value":\[[0-9.]+,"([0-9.]+)"\]`)
	diskRead   = regexp.MustCompile(regexp.QuoteMeta(diskSaid) + `([0-9.]+)\.\n`)
)

// proseOnly queries Prometheus and then writes prose, whatever form it is asked for: a cause with the value that it has read, a
// confidence, and next steps.
func proseOnly(req llmtest.Request) llmtest.Reply {
	if len(req.Tools) > 0 && turnOf(req) == 1 {
		for _, tool := range req.Tools {
			if strings.HasSuffix(tool.Function.Name, "prometheus_query") {
				return llmtest.Calls(llmtest.Call{Name: tool.Function.Name, Args: `{"query":"disk_used_ratio"}`}).Text("I query the disks first.")
			}
		}
	}
	value := "unknown"
	for _, m := range req.Messages {
		for _, source := range []*regexp.Regexp{diskResult, diskRead} {
			if found := source.FindStringSubmatch(m.Text()); found != nil {
				value = found[1]
			}
		}
	}
	return llmtest.Text("## Root cause\n\n" + diskSaid + value + ".\n\n## Confidence\n\nhigh\n\n" +
		"## Next steps\n\n1. Delete old archives on db-1.\n2. Grow its volume.\n")
}

// TestNewcomer is a newcomer's first hour. In an empty folder, the newcomer types the commands of the README, answers init's questions,
// runs the commands that init recommends, and adds the tutorial's chain. Both investigations end with a brief which says that code has
// found its cause in Prometheus's answer. The newcomer reads no line twice.
func TestNewcomer(t *testing.T) {
	t.Parallel()
	n := newNewcomer(t)
	readme := guideLines(t, "README.md", "starter init inquest")
	if readme[0] != "go install ./dev ./starter" {
		t.Fatalf("the README installs the programs with %q", readme[0])
	}
	readme = readme[1:] // TestMain has built them
	next := n.initialises(strings.NewReplacer("--kubernetes ", "", "http://localhost:9090", startPrometheus(t)).Replace(readme[0]))
	if want := slices.Insert(readme[1:], 0, "starter validate --strict inquest"); !slices.Equal(next, want) {
		t.Fatalf("init recommends\n%q, and the README\n%q", next, want)
	}
	n.types(next[0])
	n.starts(next[1], next[3])
	n.examines(next[2])
	n.provesTheCause(n.investigates(next[3]))

	n.printed = map[string]string{} // now he repeats commands
	n.addsChain()
	steps := guideLines(t, "docs/tutorial.md", "chain graph")
	for _, step := range steps[:len(steps)-1] {
		n.types(step)
	}
	n.provesTheCause(n.investigates(steps[len(steps)-1]))
}

func newNewcomer(t *testing.T) *newcomer {
	t.Helper()
	home, model := t.TempDir(), llmtest.Start(t, proseOnly)
	programs, err := filepath.EvalSymlinks(filepath.Join(bin, "starter")) // starter looks for dev beside itself
	if err != nil {
		t.Fatal(err)
	}
	cache, err := exec.Command("npm", "config", "get", "cache").Output()
	if err != nil {
		t.Fatalf("npm: %v", err)
	}
	w := &world{t: t, data: filepath.Join(home, "empty"), model: model}
	if err := os.Mkdir(w.data, 0o755); err != nil {
		t.Fatal(err)
	}
	w.env = slices.DeleteFunc(os.Environ(), regexp.MustCompile(`^(INQUEST|TEMPORAL|XDG)_|^KUBECONFIG=`).MatchString)
	w.env = append(w.env, "HOME="+home, "PATH="+filepath.Dir(programs)+":"+os.Getenv("PATH"), "NO_COLOR=1", "PAGER=cat",
		"npm_config_cache="+strings.TrimSpace(string(cache)))
	return &newcomer{world: w, printed: map[string]string{}}
}

// guideLines returns the commands of a block of a document: the block that contains a text. The programs are installed, and the
// configuration is in the current folder.
func guideLines(t *testing.T, document, contains string) (commands []string) {
	t.Helper()
	text, err := os.ReadFile("../../" + document)
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range regexp.MustCompile("(?ms)^```\\w*\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
		if !strings.Contains(block[1], contains) {
			continue
		}
		for line := range strings.Lines(block[1]) {
			line, _, _ = strings.Cut(line, "  #")
			line = strings.NewReplacer("go run ./starter", "starter", "~/inquest", "inquest").Replace(line)
			commands = append(commands, strings.TrimSpace(line))
		}
		return commands
	}
	t.Fatalf("%s has no block of commands with %q", document, contains)
	return nil
}

// startPrometheus starts a Prometheus that has scraped the disks of two hosts, and returns its URL.
func startPrometheus(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("prometheus"); err != nil {
		t.Fatal("install prometheus, as test/prepare.sh does")
	}
	metrics := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		fmt.Fprintf(w, "# TYPE disk_used_ratio gauge\ndisk_used_ratio{host=\"db-1\"} %s\ndisk_used_ratio{host=\"db-2\"} 0.41\n", diskUsed)
	}))
	t.Cleanup(metrics.Close)
	w := &world{t: t, data: t.TempDir(), env: os.Environ()}
	config := fmt.Sprintf("global: {scrape_interval: 1s}\nscrape_configs: [{job_name: db, static_configs: [{targets: [%q]}]}]\n",
		strings.TrimPrefix(metrics.URL, "http://"))
	if err := os.WriteFile(filepath.Join(w.data, "prometheus.yml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	address := freeAddress(t)
	w.start("Server is ready to receive web requests", "sh", "-c",
		"exec prometheus --config.file=prometheus.yml --storage.tsdb.path=data --web.listen-address="+address)
	eventually(t, "Prometheus has scraped the disks", func() bool {
		response, err := http.Get("http://" + address + "/api/v1/query?query=" + url.QueryEscape("disk_used_ratio"))
		if err != nil {
			return false
		}
		defer response.Body.Close()
		body, _ := io.ReadAll(response.Body)
		return strings.Contains(string(body), `"`+diskUsed+`"`)
	})
	return "http://" + address
}

// begins types a command at a terminal.
func (n *newcomer) begins(command string) viewer {
	n.t.Helper()
	return n.views(100, 120, exec.Command("sh", "-c", "exec "+command))
}

// finishes waits until a command succeeds, and returns the text on its terminal.
func (n *newcomer) finishes(v viewer, command string) string {
	n.t.Helper()
	if code := v.wait(); code != 0 {
		n.t.Fatalf("$ %s\nexit code %d:\n%s", command, code, v)
	}
	screen := strings.TrimRight(v.String(), "\n")
	if strings.Contains(strings.ToLower(screen), "error:") || strings.Contains(screen, "warning") && !strings.Contains(screen, " 0 warnings") {
		n.t.Errorf("$ %s\nprints a problem:\n%s", command, screen)
	}
	return screen
}

// types runs a command to its end, and reads its output.
func (n *newcomer) types(command string) string {
	n.t.Helper()
	screen := n.finishes(n.begins(command), command)
	n.reads(command, screen)
	return screen
}

// reads fails the test if an earlier command has printed one of the long lines. Commands do not count: a later step may recommend one
// again.
func (n *newcomer) reads(command, text string) {
	n.t.Helper()
	n.t.Logf("$ %s\n%s", command, text)
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if len([]rune(line)) <= 40 || strings.HasPrefix(line, "starter ") || strings.HasPrefix(line, "dev ") {
			continue
		}
		if before := n.printed[line]; before != "" {
			n.t.Errorf("%q prints a line that %q has printed:\n%s", command, before, line)
		}
		n.printed[line] = command
	}
}

// initialises runs init, answers its questions, and returns the commands that it recommends.
func (n *newcomer) initialises(command string) (next []string) {
	n.t.Helper()
	v := n.begins(command)
	for _, answer := range [][2]string{
		{"Which model provider?", "6"}, {"URL of the server", n.model.URL}, {"Model name on the server", "lab-1"},
	} {
		v.shows(answer[0])
		v.press(answer[1] + "\r")
	}
	screen := n.finishes(v, command)
	n.reads(command, screen)
	_, recommended, _ := strings.Cut(screen, "Next:\n")
	for line := range strings.Lines(recommended) {
		if command, ok := strings.CutPrefix(line, "  "); ok {
			next = append(next, strings.TrimSpace(command))
		}
	}
	// npx fetches the server on first use. On a busy machine that may take longer than the minute that doctor waits.
	config, err := os.ReadFile(filepath.Join(n.data, "inquest", "inquest.yaml"))
	if err != nil {
		n.t.Fatal(err)
	}
	server := regexp.MustCompile(`args: \["-y", "([^"]+)"`).FindSubmatch(config)
	if server == nil {
		n.t.Fatalf("init writes no server from npm:\n%s", config)
	}
	fetch := exec.Command("npm", "exec", "--yes", "--package="+string(server[1]), "-c", "true")
	if out, err := fetch.CombinedOutput(); err != nil {
		n.t.Fatalf("fetch %s: %v\n%s", server[1], err, out)
	}
	return next
}

// starts runs dev, with free addresses because other tests use the default ones. It exports the variables that dev recommends for
// another terminal, and expects first as the command after them.
func (n *newcomer) starts(command, first string) {
	n.t.Helper()
	const free = " --listen 127.0.0.1:0 --ui 127.0.0.1:0 --http 127.0.0.1:0"
	const last = "To stop, press Ctrl-C. A restart with the same --data resumes everything.\n"
	dev := n.start(last, "sh", "-c", "exec "+command+free)
	said := dev.log.String()
	n.reads(command, said)
	m := regexp.MustCompile(`\nIn another terminal:\n  export (.*)\n  (.*)\n`).FindStringSubmatch(said)
	if m == nil || m[2] != first || !strings.HasSuffix(said, last) {
		n.t.Fatalf("dev does not recommend an export and %q:\n%s", first, said)
	}
	n.env = append(n.env, strings.Fields(m[1])...)
	n.t.Cleanup(func() {
		if more := strings.TrimPrefix(dev.log.String(), said); more != "" {
			n.t.Errorf("dev prints more to its terminal:\n%s", more)
		}
	})
}

// examines runs doctor and lets it ask the model.
func (n *newcomer) examines(command string) {
	n.t.Helper()
	v := n.begins(command)
	v.shows("Call each model once")
	v.press("y\r")
	screen := n.finishes(v, command)
	n.reads(command, screen)
	for _, want := range []string{
		"ok    model main: needs no key; lab-1 answered (", "ok    server prometheus: 10 tools; Prometheus answers",
	} {
		if !strings.Contains(screen, want) {
			n.t.Errorf("doctor does not say %q:\n%s", want, screen)
		}
	}
	for line := range strings.Lines(screen) {
		if !strings.HasPrefix(line, "ok ") && !strings.HasPrefix(line, " ") && !strings.HasPrefix(line, "Call ") {
			n.t.Errorf("doctor finds a problem: %s", line)
		}
	}
}

// investigates runs an investigation, and then the command for its report. Workers may need some seconds to notice a new chain.
func (n *newcomer) investigates(command string) (brief, report string) {
	n.t.Helper()
	var screen string
	eventually(n.t, "the workers know the chain", func() bool {
		v := n.begins(command)
		<-v.done
		if screen = v.String(); strings.Contains(screen, "no chain has the alert type") {
			return false
		}
		screen = n.finishes(v, command)
		return true
	})
	heading, brief, found := strings.Cut(screen, "── brief ─")
	brief, whole, whether := strings.Cut(brief, "Whole report: ")
	if !found || !whether {
		n.t.Fatalf("$ %s\ndoes not end with a brief and the command for the report:\n%s", command, screen)
	}
	n.reads(command, heading)
	if report, errs, code := n.program("/bin/sh", "", "-c", strings.TrimSpace(whole)); code == 0 {
		return n.checksBrief(brief), n.checksReport(brief, report)
	} else {
		n.t.Fatalf("%s: exit code %d\n%s%s", whole, code, report, errs)
	}
	return "", ""
}

// checksBrief returns a brief with its lines joined.
func (n *newcomer) checksBrief(brief string) string {
	n.t.Helper()
	said := strings.Join(strings.Fields(brief), " ")
	for _, want := range []string{
		" · completed · ", "• Cause: " + diskSaid + diskUsed + ".", "• Confidence: high",
		"• Next: 1. Delete old archives on db-1. 2. Grow its volume.",
	} {
		if !strings.Contains(said, want) {
			n.t.Errorf("the brief does not say %q:\n%s", want, brief)
		}
	}
	return said
}

// checksReport expects the parts of a brief at the beginning of its report.
func (n *newcomer) checksReport(brief, report string) string {
	n.t.Helper()
	plain := strings.Join(strings.Fields(strings.NewReplacer("**", "", "- ", "• ").Replace(report)), " ")
	for part := range strings.SplitSeq(strings.Join(strings.Fields(brief), " "), "• ") {
		if part = strings.Trim(part, "─ "); !strings.Contains(plain, part) {
			n.t.Errorf("the report does not repeat %q of the brief:\n%s", part, report)
		}
	}
	return report
}

// provesTheCause expects that code has found the sentence of the cause in Prometheus's answer, and that brief and report say so.
func (n *newcomer) provesTheCause(brief, report string) {
	n.t.Helper()
	const proof = "Proof: the report contains no citations; 1 sentence without a citation matches a result or the alert"
	if !strings.Contains(brief, proof) {
		n.t.Errorf("the brief does not say %q:\n%s", proof, brief)
	}
	for _, want := range []string{diskSaid + diskUsed + ": [1] `{\"resultType\":\"vector\"", `"__name__":"disk_used_ratio"`} {
		if !strings.Contains(report, want) {
			n.t.Errorf("the report does not say %q:\n%s", want, report)
		}
	}
	id, _, _ := strings.Cut(report, " ")
	out, errs, code := n.program("/bin/sh", "", "-c", "starter show --evidence --json "+id)
	var found evidence.Evidence
	if err := json.Unmarshal([]byte(out), &found); err != nil || code != 0 {
		n.t.Fatalf("the evidence: %v, exit code %d\n%s%s", err, code, out, errs)
	}
	claim := slices.IndexFunc(found.Claims, func(c evidence.Claim) bool { return strings.HasPrefix(c.Text, diskSaid+diskUsed) })
	if claim < 0 || found.Claims[claim].Verdict != evidence.Found || len(found.Claims[claim].Cites) != 1 {
		n.t.Fatalf("code has not found the cause in a result: %+v", found.Claims)
	}
	item := found.Items[found.Claims[claim].Cites[0]-1]
	if item.Tool != "prometheus.prometheus_query" || item.By != evidence.ByCode || !strings.Contains(item.Content, `"`+diskUsed+`"`) {
		n.t.Errorf("the evidence is not Prometheus's answer: %+v", item)
	}
}

// addsChain appends the tutorial's chain to the configuration.
func (n *newcomer) addsChain() {
	n.t.Helper()
	tutorial, err := os.ReadFile("../../docs/tutorial.md")
	chain := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindSubmatch(tutorial)
	file := filepath.Join(n.data, "inquest", "inquest.yaml")
	config, readErr := os.ReadFile(file)
	if err := cmp.Or(err, readErr); err != nil || chain == nil {
		n.t.Fatalf("no chain in the tutorial: %v", err)
	}
	if err := os.WriteFile(file, slices.Concat(config, chain[1]), 0o644); err != nil {
		n.t.Fatal(err)
	}
}
