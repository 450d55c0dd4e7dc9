package e2e

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
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
    shell: {enabled: true, timeout: 4s, max_output: 60000000}
    tool_config: {tool_permissions: {lab.hang: {timeout_seconds: 2}}}
agent_chains:
  extreme: {alert_types: [extreme], stages: [{name: read, agents: [{name: Reader}]}]}
`

// Sizes in bytes. What a worker may have in memory is ten times a large result,
// the worker itself included. It is told to collect its garbage in time, so that
// what is measured is what it needs: 410 to 440 MB, when a server's result of 50 MB
// is there, and then two of a shell at once, of 50 and 60 MB.
const (
	extremeSize    = 50 << 20
	extremeFlood   = 200 << 20
	extremeGarbage = "GOMEMLIMIT=256MiB"
	extremeMemory  = 10 * extremeSize
	extremeRequest = 512 << 10
)

const needle = "the needle is here"

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
		call("lab__log", `{"bytes":%d,"last":%q}`, extremeSize, needle),
		call("lab__hang", `{}`),
		call("lab__flood_stderr", `{"bytes":%d}`, extremeFlood),
		call("lab__invalid_utf8", `{}`),
	}, {
		shell(`yes INFO orders answered | head -c %d; echo; echo %s`, extremeSize, needle),
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
func TestExtremeResults(t *testing.T) {
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
	if most := worker.peak(); most > extremeMemory {
		t.Errorf("the worker had %d MB in memory", most>>20)
	} else {
		t.Logf("the worker had at most %d MB in memory", most>>20)
	}
	w.checkExtremeResults(result.ID)
	w.checkExtremeRequests()
	w.checkText()
}

// checkExtremeResults compares the results with what came of the calls.
func (w *world) checkExtremeResults(investigation string) {
	w.t.Helper()
	results := w.results(investigation)
	slices.SortFunc(results, func(a, b transcript.Entry) int { return cmp.Compare(a.Ref(), b.Ref()) })
	var got []string
	for _, e := range results {
		whole, err := e.Whole(w.context(), w.open().Blob)
		if err != nil || len(whole) != e.Size {
			w.t.Errorf("%s: %d bytes of %d, %v", e.Ref(), len(whole), e.Size, err)
		}
		end := whole[max(0, len(whole)-70):]
		end = end[strings.LastIndexByte(strings.TrimSpace(end), '\n')+1:]
		got = append(got, fmt.Sprintf("%s %s%s %d: %s", e.Ref(), e.Status, e.ErrorType, e.Size, end))
	}
	want := []string{}
	if diff := gocmp.Diff(want, got); diff != "" {
		w.t.Error(diff)
	}
	_ = tool.ErrorTimeout
}

func (w *world) checkExtremeRequests() {
	for _, r := range w.model.Requests() {
		w.t.Logf("%s %d %.300s", who(r), len(r.Body), r.Last().Text())
	}
}

// checkText looks for text in the store that is no UTF-8.
func (w *world) checkText() {
	w.t.Helper()
	db, err := sql.Open("sqlite", w.store)
	if err != nil {
		w.t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.QueryContext(context.Background(), `SELECT body FROM entries UNION ALL SELECT data FROM blobs`)
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
