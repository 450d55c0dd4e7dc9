package mcp_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/tool/mcp"
	"github.com/inquest-dev/inquest/internal/tool/tooltest"
)

// wires are the ways to reach a server with a script.
var wires = map[string]func(*testing.T, tooltest.Script) mcp.Transport{
	"stdio": func(t *testing.T, script tooltest.Script) mcp.Transport {
		command, env := script.Program(t)
		return mcp.Transport{Command: command, Env: env}
	},
	"http": func(t *testing.T, script tooltest.Script) mcp.Transport {
		return mcp.Transport{Type: mcp.HTTP, URL: script.Serve(t, false)}
	},
	"sse": func(t *testing.T, script tooltest.Script) mcp.Transport {
		return mcp.Transport{Type: mcp.SSE, URL: script.Serve(t, true)}
	},
}

// onEachWire runs a test with the server s, which has a script, on each wire.
func onEachWire(t *testing.T, name string, script tooltest.Script, check func(*testing.T, *mcp.Pool)) {
	t.Helper()
	for wire, transport := range wires {
		t.Run(name+"/"+wire, func(t *testing.T) {
			t.Parallel()
			check(t, poolOf(t, mcp.Options{}, transport(t, script), nil))
		})
	}
}

// response is a result of tools/call with a text.
func response(id, text string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":%q}]}}`, id, text)
}

// TestAnswersThatJSONRPCDoesNotAllow checks that a call ends with what the server wrote, though JSON-RPC does not allow it, and that
// the session goes on. None of the calls has a timeout.
func TestAnswersThatJSONRPCDoesNotAllow(t *testing.T) {
	t.Parallel()
	const unreadable = "MCP server s sent an unreadable response: it is not valid JSON"
	const nan = `{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"load: high"}],"structuredContent":{"load":NaN}}}`
	for name, tc := range map[string]struct {
		answer string
		want   []string // in the content
		ok     bool     // the call succeeds
	}{
		"error without an id":    {`{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"disk full"}}`, []string{"disk full"}, false},
		"error with no id field": {`{"jsonrpc":"2.0","error":{"code":-32603,"message":"disk full"}}`, []string{"disk full"}, false},
		"error as a text":        {`{"jsonrpc":"2.0","id":$ID,"error":"disk full"}`, []string{"disk full"}, false},
		"id as a text":           {response(`"$ID"`, "called"), []string{"called"}, true},
		"no version":             {`{"id":$ID,"result":{"content":[{"type":"text","text":"called"}]}}`, []string{"called"}, true},
		"byte order mark":        {"\uFEFF" + response("$ID", "called"), []string{"called"}, true},
		"NaN in one field":       {nan, []string{unreadable, "load: high", `"load":NaN`}, false},
		"cut":                    {nan[:80], []string{unreadable, `"result":{"content":[{"type":"text"`}, false},
	} {
		script := tooltest.Script{"tools/call": tc.answer}
		onEachWire(t, name, script, func(t *testing.T, pool *mcp.Pool) {
			for range 2 {
				got := callOf(t, pool, tool.NonIdempotent, "s.plain", `{}`)
				if (got.Status == tool.StatusSuccess) != tc.ok || got.Sent == tc.ok {
					t.Errorf("got %+v", got)
				}
				for _, want := range tc.want {
					if !strings.Contains(got.Content, want) {
						t.Errorf("no %q in %s", want, got.Content)
					}
				}
			}
		})
	}
}

// TestSessionsOfServersThatJSONRPCDoesNotAllow checks that a server can be used that writes no answer as JSON-RPC requires it.
func TestSessionsOfServersThatJSONRPCDoesNotAllow(t *testing.T) {
	t.Parallel()
	const initialized = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"raw","version":"1"}}`
	const listed = `{"tools":[{"name":"plain","inputSchema":{"type":"object"}}]}`
	for name, script := range map[string]tooltest.Script{
		"ids as texts": {
			"initialize": `{"jsonrpc":"2.0","id":"$ID","result":` + initialized + `}`,
			"tools/list": `{"jsonrpc":"2.0","id":"$ID","result":` + listed + `}`, "tools/call": response(`"$ID"`, "called"),
		},
		"a byte order mark": {"initialize": "\uFEFF" + `{"jsonrpc":"2.0","id":$ID,"result":` + initialized + `}`},
		"notices answered without an id": {
			"notifications/initialized": `{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"no such method"}}`,
		},
	} {
		onEachWire(t, name, script, func(t *testing.T, pool *mcp.Pool) {
			specs, err := pool.List(t.Context(), plan.Server{Name: "s"}, "")
			if err != nil || len(specs) != 1 {
				t.Errorf("%d tools, %v", len(specs), err)
			}
			if got := call(t, pool, "s.plain", `{}`); got.Content != "called" {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// pageOf is a page of tools/list.
func pageOf(cursor string, names ...string) string {
	tools := []any{}
	for _, name := range names {
		tools = append(tools, map[string]any{"name": name, "inputSchema": map[string]any{"type": "object"}})
	}
	text, _ := json.Marshal(tools)
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":$ID,"result":{"tools":%s,"nextCursor":%s}}`, text, cursor)
}

// TestListsThatEndBadly checks that the tools of the pages that can be read are kept, each once, and that the error says why there
// may be more.
func TestListsThatEndBadly(t *testing.T) {
	t.Parallel()
	const (
		repeat = "the pages of its list of tools repeat"
		begin  = `{"jsonrpc":"2.0","id":$ID,`
	)
	for name, tc := range map[string]struct{ first, later, tools, why, text string }{
		"cursor that stays":           {pageOf(`"8"`, "a", "b"), pageOf(`"8"`, "a", "b"), "s.a s.b", repeat, ""},
		"cursor that stays, a set":    {pageOf(`"8"`, "a"), pageOf(`"8"`, "b"), "s.a s.b", repeat, ""},
		"cursor that comes back":      {pageOf(`"8"`, "a"), pageOf(`"9"`, "a"), "s.a", repeat, ""},
		"cursors that advance":        {pageOf(`"$ID"`, "a"), pageOf(`"$ID"`, "a"), "s.a", repeat, ""},
		"numbers that stay":           {pageOf(`8`, "a"), pageOf(`8`, "a"), "s.a", repeat, ""},
		"numbers that end":            {pageOf(`8`, "a"), pageOf(`null`, "b"), "s.a s.b", "", ""},
		"a cursor of another kind":    {pageOf(`{"page":2}`, "a"), "", "s.a", "its page cursor is neither a string nor a number", ""},
		"a page without a list":       {pageOf(`"8"`, "a"), begin + `"result":{"tools":{}}}`, "s.a", "its response cannot be read", ""},
		"a last page that is null":    {pageOf(`"8"`, "a"), begin + `"result":{"tools":null}}`, "s.a", "", ""},
		"an empty page in the middle": {pageOf(`"8"`), pageOf(`null`, "a"), "s.a", "", ""},
		"tools: null":                 {begin + `"result":{"tools":null}}`, "", "", "it returned null instead of a list of tools", ""},
		"no tools at all":             {begin + `"result":{}}`, "", "", "its answer has no list of tools", ""},
		"no tools":                    {pageOf(`null`), "", "", "", ""},
		"a cursor that is refused": {
			pageOf(`"8"`, "a"), begin + `"error":{"code":-32602,"message":"bad cursor"}}`, "s.a", "it returned an error", "bad cursor",
		},
		"a page that is not JSON": {
			pageOf(`"8"`, "a"), begin + `"result":{"tools":[NaN]}}`, "s.a", "its response cannot be read", "it is not valid JSON",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := poolOf(t, mcp.Options{}, mcp.Transport{Type: mcp.HTTP, URL: tooltest.Script{
				"tools/list": tc.first, "tools/list more": tc.later,
			}.Serve(t, false)}, nil)
			checkList(t, pool, tc.tools, tc.why, tc.text)
		})
	}
}

// checkList lists the tools of the server s, and checks why the list is not complete, and a part of the error's text.
func checkList(t *testing.T, pool *mcp.Pool, tools, why, text string) {
	t.Helper()
	specs, err := pool.List(t.Context(), plan.Server{Name: "s"}, "")
	var names []string
	for _, spec := range specs {
		names = append(names, spec.Name)
	}
	var said string
	failed, ok := errors.AsType[*tool.ServerError](err)
	if ok {
		said = failed.Why
	}
	if got := strings.Join(names, " "); got != tools || said != why || ok && failed.Partial != (tools != "") {
		t.Errorf("listed %q, why %q, %+v", got, said, failed)
	}
	if text != "" && (err == nil || !strings.Contains(err.Error(), text)) {
		t.Errorf("the error is %v, want %q", err, text)
	}
}

// outsideCase reads the server of a case: a page of tools, and results of calls.
func outsideCase(t *testing.T, name string) tooltest.Script {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("testdata", name, "tools.json"))
	var fields struct {
		Results struct{ Plain json.RawMessage }
	}
	if err == nil {
		err = json.Unmarshal(page, &fields)
	}
	if err != nil {
		t.Fatal(err)
	}
	inOneLine := func(result []byte) string {
		return `{"jsonrpc":"2.0","id":$ID,"result":` + strings.Join(strings.Fields(string(result)), " ") + `}`
	}
	script := tooltest.Script{"tools/list": inOneLine(page)}
	if fields.Results.Plain != nil {
		script["tools/call"] = inOneLine(fields.Results.Plain)
	}
	return script
}

func TestCursorThatStays(t *testing.T) {
	t.Parallel()
	script := outsideCase(t, "35-cursor-that-stays")
	onEachWire(t, "case", script, func(t *testing.T, pool *mcp.Pool) {
		checkList(t, pool, "s.plain", "the pages of its list of tools repeat", "")
	})
}

func TestResultOfTheFirstProtocol(t *testing.T) {
	t.Parallel()
	script := outsideCase(t, "36-result-of-the-first-protocol")
	onEachWire(t, "case", script, func(t *testing.T, pool *mcp.Pool) {
		got := call(t, pool, "s.plain", `{"q":"x"}`)
		if got.Status != tool.StatusSuccess || !strings.Contains(got.Content, "disk full on db-1") {
			t.Errorf("got %+v", got)
		}
	})
}

// TestServersThatCannotBeUsed checks that people read why, in the server's own words.
func TestServersThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	answer := func(method, fields string) tooltest.Script {
		return tooltest.Script{method: `{"jsonrpc":"2.0",` + fields + `}`}
	}
	initialized := func(fields string) tooltest.Script {
		return answer("initialize", `"id":$ID,"result":{"serverInfo":{"name":"raw","version":"1"},`+fields+`}`)
	}
	const refused, unreadable = "it returned an error", "its response cannot be read"
	const expired = `"error":{"code":-32000,"message":"license expired"}`
	for name, tc := range map[string]struct {
		script    tooltest.Script
		why, want string
	}{
		"another protocol":        {initialized(`"protocolVersion":"1.0","capabilities":{"tools":{}}`), "", `"1.0"`},
		"no protocol":             {initialized(`"capabilities":{"tools":{}}`), "", `""`},
		"capabilities as a list":  {initialized(`"protocolVersion":"2025-11-25","capabilities":[]`), "", "capabilities"},
		"refused":                 {answer("initialize", `"id":$ID,`+expired), refused, "license expired"},
		"refused without an id":   {answer("initialize", `"id":null,`+expired), refused, "license expired"},
		"an error that is a text": {answer("initialize", `"id":$ID,"error":"license expired"`), refused, "license expired"},
		"a list that is refused":  {answer("tools/list", `"id":$ID,`+expired), refused, "license expired"},
	} {
		onEachWire(t, name, tc.script, func(t *testing.T, pool *mcp.Pool) { checkWords(t, pool, tc.why, tc.want) })
	}
	const page, text, data = "text/html", "text/plain", "application/json"
	for name, tc := range map[string]struct {
		method    string
		fault     tooltest.Fault
		why, want string
	}{
		"401":                  {"initialize", tooltest.Answer(401, text, "no such token"), "it returned HTTP status 401", "no such token"},
		"a page":               {"initialize", tooltest.Answer(200, page, "<title>Sign in</title>"), unreadable, "Sign in"},
		"a text":               {"initialize", tooltest.Answer(200, text, "under maintenance"), unreadable, "under maintenance"},
		"a batch":              {"initialize", tooltest.Answer(200, data, `[{"jsonrpc":"2.0","id":1}]`), unreadable, `{"jsonrpc"`},
		"a page, for the list": {"tools/list", tooltest.Answer(200, page, "<title>Sign in</title>"), unreadable, "Sign in"},
		"moved":                {"initialize", tooltest.Redirect(301, "/elsewhere"), "it cannot be reached", "must use status 307 or 308"},
		"notice refused": {
			"notifications/initialized", tooltest.Answer(400, text, "unknown notification"), "it returned HTTP status 400",
			"start MCP server s: it answered 400 Bad Request: unknown notification",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := tooltest.ServeWeb(t, tooltest.WebOptions{JSON: true})
			server.Misbehave(tc.method, tc.fault)
			checkWords(t, webPool(t, server, tooltest.WebOptions{JSON: true}, nil), tc.why, tc.want)
		})
	}
}

// TestServerWithoutConfiguration checks that a mistake in the configuration is not said to be the server's.
func TestServerWithoutConfiguration(t *testing.T) {
	t.Parallel()
	_, err := poolOf(t, mcp.Options{}, mcp.Transport{}, nil).List(t.Context(), plan.Server{Name: "other"}, "")
	failed, ok := errors.AsType[*tool.ServerError](err)
	if !ok || failed.Why != "its configuration cannot be used" || err.Error() != "find MCP server other: no server other" {
		t.Errorf("the error is %v, why %+v", err, failed)
	}
}

// checkWords lists the tools of the server s, which cannot be used. An empty why is any.
func checkWords(t *testing.T, pool *mcp.Pool, why, want string) {
	t.Helper()
	specs, err := pool.List(t.Context(), plan.Server{Name: "s"}, "")
	failed, ok := errors.AsType[*tool.ServerError](err)
	if !ok || len(specs) > 0 || why != "" && failed.Why != why || !strings.Contains(err.Error(), want) {
		t.Errorf("%d tools; the error is %v, want %q; why %+v, want %q", len(specs), err, want, failed, why)
	}
}
