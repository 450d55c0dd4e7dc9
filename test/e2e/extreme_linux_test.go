package e2e

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
)

// extremeConfig has one agent with both kinds of tools that run a process. A second model summarises results,
// except those of the shell.
const extremeConfig = `
llm_providers:
  lab-model: {type: openai, model: lab-1, base_url: "{{.E2E_MODEL}}", api_key_env: E2E_KEY}
  small: {type: openai, model: small-1, base_url: "{{.E2E_MODEL}}", api_key_env: E2E_KEY}
mcp_servers:
  lab: {transport: {type: stdio, command: "{{.E2E_TOOLS}}"}, summarization: {llm_provider: small}}
defaults: {llm_provider: lab-model, alert_masking: {pattern_group: all}}
agents:
  Reader:
    type: react_agent
    mcp_servers: [lab]
    shell: {enabled: true, timeout: 5s, max_output: 60000000}
    tool_config: {tool_permissions: {lab.hang: {timeout_seconds: 2}}}
agent_chains:
  extreme: {alert_types: [extreme], stages: [{name: read, agents: [{name: Reader}]}]}
`

const (
	extremeSize    = 50 << 20 // bytes of a large result
	extremeFlood   = 200 << 20
	extremeRequest = 512 << 10 // maximum size of a request in bytes: a window of 128,000 tokens, in words as short as these
	needle         = "the needle is here"
)

// The worker's memory limit is ten times a large result, including the result. The worker runs with early
// garbage collection, so that the figure shows what it needs: 400 to 440 MB, while the shell returns 50 and 57
// MB at once. With Go's default, garbage raises it to 560 to 630 MB.
const (
	extremeMemory  = 10 * extremeSize
	extremeGarbage = "GOMEMLIMIT=256MiB"
)

// extremeTurns returns the model's calls: every kind of harmful result from a server, the same from the shell,
// and reads of the ends of large results.
func extremeTurns() [][]llmtest.Call {
	call := func(name, format string, args ...any) llmtest.Call {
		return llmtest.Call{Name: name, Args: fmt.Sprintf(format, args...)}
	}
	shell := func(format string, args ...any) llmtest.Call {
		return call(agent.ToolShell, `{"command":%q}`, fmt.Sprintf(format, args...))
	}
	return [][]llmtest.Call{{
		call("lab__log", `{"bytes":%d,"last":"\ue000\n%s"}`, extremeSize, needle), // U+E000 stands for bytes that are not text
		call("lab__hang", `{}`),
		call("lab__flood_stderr", `{"bytes":%d}`, extremeFlood),
		call("lab__invalid_utf8", `{}`),
	}, {
		shell(`yes INFO orders answered | head -c %d; printf '\n\377\n'; echo %s`, extremeSize, needle),
		shell(`echo begun; sleep 1000`),
		shell(`yes noise | head -c %d >&2; exit 3`, extremeFlood),
		shell(`printf 'a\377b'`),
	}, {
		call(agent.ToolReadResult, `{"ref":"1/0","grep":"needle"}`),
		call(agent.ToolReadResult, `{"ref":"2/0","offset":%d}`, extremeSize),
	}}
}

// The worst results that tools can return do not stop the investigation: its model receives a part of each and
// reads the rest, and the worker's memory stays small.
func TestLongExtremeResults(t *testing.T) {
	takesLong(t)
	t.Parallel()
	turns := extremeTurns()
	w := newWorld(t, func(req llmtest.Request) llmtest.Reply {
		if req.Model == "small-1" {
			return llmtest.Text("orders are answered")
		}
		if turn := turnOf(req); turn <= len(turns) {
			return llmtest.Calls(turns[turn-1]...)
		}
		return llmtest.Text("read to the end")
	}, extremeConfig)
	w.dev("--no-worker")
	worker := w.with(extremeGarbage).worker()
	w.beginWith("extreme", agent.Request{Chain: "extreme", Data: json.RawMessage(`"how does it end?"`)})
	result := w.end("extreme")
	if result.Status != agent.StatusCompleted || result.Report != "read to the end" {
		t.Errorf("result: %+v", result)
	}
	peak := worker.peak()
	t.Logf("the worker had at most %d MB in memory", peak>>20)
	if peak > extremeMemory {
		t.Errorf("that is more than %d MB", extremeMemory>>20)
	}
	w.checkExtremeResults(result.ID)
	w.checkExtremeRequests()
	w.checkText()
}

// checkExtremeResults compares the results: their outcomes, sizes and last lines.
func (w *world) checkExtremeResults(investigation string) {
	w.t.Helper()
	var got []string
	results, blobs := w.results(investigation), w.open()
	sortByKey(results)
	for _, e := range results {
		whole, err := e.Whole(w.context(), blobs.Blob)
		if err != nil || len(whole) != e.Size {
			w.t.Errorf("%s: %d bytes of %d, %v", e.Ref(), len(whole), e.Size, err)
		}
		whole = strings.TrimSuffix(whole, "\n")
		last := whole[strings.LastIndexByte(whole, '\n')+1:]
		got = append(got, fmt.Sprintf("%s %s %s%s %.0f MB: %s", e.Ref(), e.Call.Name, e.Status, e.ErrorType, float64(e.Size)/(1<<20), last))
	}
	want := []string{
		"1/0 lab.log success 50 MB: the needle is here",
		"1/1 lab.hang errorOutcomeUnknown 0 MB: Tool lab.hang did not respond in time. It may have taken effect. " +
			"Whether lab.hang took effect is unknown; it was not retried. Verify before you rely on the effect or repeat the call.",
		"1/2 lab.flood_stderr success 0 MB: flooded",
		"1/3 lab.invalid_utf8 success 0 MB: a\uFFFD\uFFFDb",
		"2/0 shell success 50 MB: the needle is here",
		"2/1 shell errorTimeout 0 MB: begun",
		"2/2 shell errorToolError 57 MB: [truncated, 209715200 total bytes]",
		"2/3 shell success 0 MB: a\uFFFDb",
		"3/0 read_result success 0 MB: 738435@52428750: the needle is here",
		"3/1 read_result success 0 MB: the needle is here",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		w.t.Error(diff)
	}
}

// checkExtremeRequests checks that the models received a part of each large result, with a reference to the
// whole.
func (w *world) checkExtremeRequests() {
	w.t.Helper()
	want := map[int][]string{1: nil, 2: {"1/0"}, 3: {"1/0", "2/0", "2/2"}, 4: {"1/0", "2/0", "2/2"}}
	for _, req := range w.model.Requests() {
		turn := turnOf(req)
		if len(req.Body) > extremeRequest {
			w.t.Errorf("%s, turn %d: a request of %d bytes", req.Model, turn, len(req.Body))
		}
		if diff := cmp.Diff(want[turn], partsShown(req)); diff != "" && req.Model == "lab-1" {
			w.t.Errorf("turn %d: results of which a part is shown:\n%s", turn, diff)
		}
	}
}

// partMark matches the reference for read_result that follows a part of a result.
var partMark = regexp.MustCompile(`(?:complete result: read_result \{"ref": "|kept in the transcript as )(\d/\d)`)

func partsShown(req llmtest.Request) (refs []string) {
	for _, m := range req.Messages {
		if mark := partMark.FindStringSubmatch(m.Text()); m.Role == "tool" && mark != nil {
			refs = append(refs, mark[1])
		}
	}
	return refs
}

// checkText checks that all text in the store is valid UTF-8.
func (w *world) checkText() {
	w.t.Helper()
	db, err := sql.Open("sqlite", w.store)
	if err != nil {
		w.t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.QueryContext(w.context(), `SELECT body FROM entries UNION ALL SELECT data FROM blobs`)
	if err != nil {
		w.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var text sql.RawBytes
		if err := rows.Scan(&text); err != nil || !utf8.Valid(text) {
			w.t.Errorf("%.100q, %v", text, err)
		}
	}
	if err := rows.Err(); err != nil {
		w.t.Error(err)
	}
}

// peak returns the peak resident memory of the process in bytes.
func (p *process) peak() int {
	p.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		p.t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	kilobytes, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		p.t.Fatal(err)
	}
	return kilobytes << 10
}
