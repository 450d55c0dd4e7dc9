package mcp_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/tool/mcp"
	"github.com/inquest-dev/inquest/internal/tool/tooltest"
)

// events answers a request with events or with JSON, in which $ID stands for the id of the request.
func events(text string, then func(http.ResponseWriter, *http.Request)) tooltest.Fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		var request struct{ ID json.RawMessage }
		if body, err := io.ReadAll(r.Body); err != nil || json.Unmarshal(body, &request) != nil {
			return
		}
		kind := "application/json"
		if strings.Contains(text, "data:") {
			kind = "text/event-stream"
		}
		tooltest.Answer(http.StatusOK, kind, strings.ReplaceAll(text, "$ID", string(request.ID)))(w, r, next)
		then(w, r)
	}
}

// open keeps a stream open, and end ends it.
func open(w http.ResponseWriter, r *http.Request) {
	http.NewResponseController(w).Flush()
	<-r.Context().Done()
}

func end(http.ResponseWriter, *http.Request) {}

// endsWith calls a tool of a server of the official SDK that answers with a fault, and checks that the call ends at once, with
// a text, and that the session can be used afterwards.
func endsWith(t *testing.T, opts tooltest.WebOptions, fault tooltest.Fault, want string, ok bool) {
	t.Helper()
	server := tooltest.ServeWeb(t, opts)
	pool := webPool(t, server, opts, nil)
	call(t, pool, "s.echo", `{"text":"there is a session"}`)
	server.Misbehave("tools/call", fault)
	echo := tool.Call{Name: "s.echo", Arguments: json.RawMessage(`{"text":"x"}`), Key: "e/1/2", Class: tool.NonIdempotent}
	got := within(t, pool, echo, 30*time.Second)
	if !strings.Contains(got.Content, want) || (got.Status == tool.StatusSuccess) != ok || got.Sent == ok {
		t.Errorf("got %+v, want %q", got, want)
	}
	if got := call(t, pool, "s.echo", `{"text":"x"}`); got.Content != "x" || len(server.Seen("initialize")) != 1 {
		t.Errorf("after it, in session %d: %+v", len(server.Seen("initialize")), got)
	}
}

// TestBareErrorsInTheirOwnStream checks that an error without an id and a version ends the request whose own response contains it,
// at once and with the server's words. Such a result does so too.
func TestBareErrorsInTheirOwnStream(t *testing.T) {
	t.Parallel()
	const down = `{"error":{"code":-32000,"message":"backend down"}}`
	for name, tc := range map[string]struct {
		text, want string
		ok         bool
	}{
		"error":          {down, "backend down", false},
		"error, text":    {`{"error":"backend down"}`, "backend down", false},
		"error, id null": {`{"id":null,"result":null,"error":{"code":-32000,"message":"backend down"}}`, "backend down", false},
		"error, NaN":     {`{"error":{"code":NaN,"message":"backend down"}}`, "it is not valid JSON: {\"error\":{\"code\":NaN,", false},
		"result":         {`{"result":{"content":[{"type":"text","text":"called"}]}}`, "called", true},
		"batch":          {`[` + down + `]`, "backend down", false},
	} {
		for body, fault := range map[string]tooltest.Fault{
			"stream": events("data: "+tc.text+"\n\n", open), "stream that ends": events("id: 7\ndata: "+tc.text+"\n\n", end),
			"JSON": events(tc.text, end),
		} {
			t.Run(name+"/"+body, func(t *testing.T) {
				t.Parallel()
				endsWith(t, tooltest.WebOptions{}, fault, tc.want, tc.ok)
			})
		}
	}
}

// TestForeignResponses checks that a stream or a body that ends with responses to other requests ends its own request at once, and
// that the error names what came.
func TestForeignResponses(t *testing.T) {
	t.Parallel()
	const foreign = `{"jsonrpc":"2.0","id":"other-7","result":{"content":[{"type":"text","text":"of another"}]}}`
	const fraction = `{"jsonrpc":"2.0","id":$ID.5,"result":{"content":[{"type":"text","text":"of another"}]}}`
	const unreadable = `MCP server s sent an unreadable response: it does not answer the request (content type "`
	for name, tc := range map[string]struct{ text, want string }{
		"JSON":                     {foreign, unreadable + `application/json"): ` + foreign},
		"stream":                   {"data: " + foreign + "\n\n", unreadable + `text/event-stream"): ` + foreign},
		"stream, resumable":        {"id: 7\ndata: " + foreign + "\n\n", unreadable + `text/event-stream"): ` + foreign},
		"stream, the last event":   {"data: " + foreign, unreadable + `text/event-stream"): ` + foreign},
		"stream, a fraction":       {"data: " + fraction + "\n\n", unreadable + `text/event-stream"): {"jsonrpc":"2.0","id":`},
		"JSON, a fraction":         {fraction, unreadable + `application/json"): {"jsonrpc":"2.0","id":`},
		"JSON, a batch of another": {"[" + foreign + "]", unreadable + `application/json"): [` + foreign},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			endsWith(t, tooltest.WebOptions{Resumable: true}, events(tc.text, end), tc.want, false)
		})
	}
}

// TestSpellingsOfResponses checks responses as servers write them that keep empty fields, or that answer with a batch, which the
// MCP revision 2025-03-26 allows.
func TestSpellingsOfResponses(t *testing.T) {
	t.Parallel()
	called, notice := response("$ID", "called"), `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}`
	const result = `"result":{"content":[{"type":"text","text":"called"}]}`
	const down = `"error":{"code":-32000,"message":"backend down"}`
	for name, tc := range map[string]struct {
		answer, want string
		ok           bool
	}{
		"method null":             {`{"jsonrpc":"2.0","id":$ID,"method":null,"params":null,` + result + `,"error":null}`, "called", true},
		"method empty":            {`{"jsonrpc":"2.0","id":$ID,"method":"",` + result + `}`, "called", true},
		"result null":             {`{"jsonrpc":"2.0","id":$ID,"result":null}`, "The tool returned nothing.", true},
		"result null, error null": {`{"jsonrpc":"2.0","id":$ID,"result":null,"error":null}`, "The tool returned nothing.", true},
		"result and error":        {`{"jsonrpc":"2.0","id":$ID,` + result + `,` + down + `}`, "backend down", false},
		"result null and error":   {`{"jsonrpc":"2.0","id":$ID,"result":null,` + down + `}`, "backend down", false},
		"id 4.0":                  {response("$ID.0", "called"), "called", true},
		"id 4e0":                  {response("$IDe0", "called"), "called", true},
		"id \"4\"":                {response(`"$ID"`, "called"), "called", true},
		"batch of one":            {"[" + called + "]", "called", true},
		"batch, the answer first": {"[" + called + "," + notice + "]", "called", true},
		"batch, the answer last":  {" [" + notice + ",[1],7," + called + "]", "called", true},
		"batch and a mark":        {"\uFEFF[" + notice + "," + called + "]", "called", true},
	} {
		onEachWire(t, name, tooltest.Script{"tools/call": tc.answer}, func(t *testing.T, pool *mcp.Pool) {
			for range 2 {
				plain := tool.Call{Name: "s.plain", Arguments: json.RawMessage(`{}`), Key: "e/1/2", Class: tool.NonIdempotent}
				got := within(t, pool, plain, 30*time.Second)
				if !strings.Contains(got.Content, tc.want) || (got.Status == tool.StatusSuccess) != tc.ok {
					t.Errorf("got %+v, want %q", got, tc.want)
				}
			}
		})
	}
}
