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

// extremeConfig is one agent with both kinds of tools that run a process. Another
// model summarises; nothing summarises what the shell returns.
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
	extremeRequest = 512 << 10 // bytes of a request at most: a window of 128,000 tokens, in words as short as these
	needle         = "the needle is here"
)

// What a worker may have in memory is ten times a large result, itself included.
// It is told to collect garbage early, so that what counts is what it needs: 400 to
// 440 MB, while the shell returns 50 and 57 MB at once. Left alone, Go lets more garbage
// lie, and the worker was at 560 to 630 MB.
const (
	extremeMemory  = 10 * extremeSize
	extremeGarbage = "GOMEMLIMIT=256MiB"
)

// extremeTurns are a model's calls: everything that a server may do to us, the same
// by the shell, and the ends of what was large.
func extremeTurns() [][]llmtest.Call {
	call := func(name, format string, args ...any) llmtest.Call {
		return llmtest.Call{Name: name, Args: fmt.Sprintf(format, args...)}
	}
	shell := func(format string, args ...any) llmtest.Call {
		return call(agent.ToolShell, `{"command":%q}`, fmt.Sprintf(format, args...))
	}
	return [][]llmtest.Call{{
		call("lab__log", `{"bytes":%d,"last":"\ue000\n%s"}`, extremeSize, needle), // U+E000: bytes that are no text
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

// What tools may return at worst is a result each: the investigation goes on, its
// model is sent a part of it and reads the rest, and the worker stays small.
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

// checkExtremeResults compares the results: what came of them, how large they are,
// and their last lines.
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
		"1/1 lab.hang errorOutcomeUnknown 0 MB: lab.hang did not answer in time. It may still have done its work. " +
			"It is not known whether lab.hang took effect, and it was not called again. Verify before you rely on it or repeat it.",
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

// checkExtremeRequests looks at what the models were sent: of what is large, a part
// that says where the whole is.
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

// partMark stands behind a part of a result, with the reference for read_result.
var partMark = regexp.MustCompile(`(?:whole of it: read_result \{"ref": "|kept in the transcript as )(\d/\d)`)

func partsShown(req llmtest.Request) (refs []string) {
	for _, m := range req.Messages {
		if mark := partMark.FindStringSubmatch(m.Text()); m.Role == "tool" && mark != nil {
			refs = append(refs, mark[1])
		}
	}
	return refs
}

// checkText looks for text in the store that is no UTF-8.
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

// peak is the most memory that a process has had resident, in bytes.
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
