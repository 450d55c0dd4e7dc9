package mcp

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/tool"
)

// converted returns the result of a server's answer, read from the wire like in a session.
func converted(t *testing.T, answer string) tool.Result {
	t.Helper()
	var results answers
	results.expect(1, true)
	message := results.read([]byte(`{"jsonrpc":"2.0","id":1,"result":`+answer+`}`), nil)[0]
	var response struct{ Result mcp.CallToolResult }
	if err := json.Unmarshal(message, &response); err != nil {
		t.Fatal(err)
	}
	got, err := convert(results.take(response.Result.Meta))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestConvert(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		answer, want string // the text of the result
		artifacts    int
	}{
		"null":    {`null`, "The tool returned nothing.", 0},
		"nothing": {`{"content":[]}`, "The tool returned nothing.", 0},
		"audio": {`{"content":[{"type":"audio","mimeType":"audio/wav","data":"AAE="}]}`,
			"[audio, audio/wav, 2 bytes: kept as an artifact]", 1},
		"resource of nobody": {`{"content":[{"type":"resource"}]}`, "[empty resource]", 0},
		"resource with text": {`{"content":[{"type":"resource","resource":{"uri":"file:///a.csv","mimeType":"text/csv","text":"a,b"}}]}`,
			"[resource file:///a.csv]\na,b", 1},
		"structured differs": {`{"content":[{"type":"text","text":"three"}],"structuredContent":{"n":3}}`, "three\n{\"n\":3}", 1},
		"structured list":    {`{"content":[],"structuredContent":[1,"a"]}`, `[1,"a"]`, 1},
		"said twice":         {`{"content":[{"type":"text","text":"hello\n"}],"structuredContent":{"content":"hello\n"}}`, "hello\n", 0},
		"said in parts": {`{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"structuredContent":{"content":"a\nb"}}`,
			"a\nb", 0},
		"a list in an object": {`{"content":[{"type":"text","text":"[{\"n\": 1}]"}],"structuredContent":{"entities":[{"n":1}]}}`, `[{"n": 1}]`,
			0},
		"something more": {`{"content":[{"type":"text","text":"deleted"}],"structuredContent":{"message":"deleted","success":true}}`,
			"deleted\n{\"success\":true}", 1},
		"blocks mirrored": {`{"content":[{"type":"image","mimeType":"image/png","data":"AAE="},{"type":"text","text":"a"}],
			"structuredContent":{"content":[{"type":"image","mimeType":"image/png","data":"AAE="},{"type":"text","text":"a"}]}}`,
			"[image, image/png, 2 bytes: kept as an artifact]\na", 1},
		"an image only there": {`{"content":[],"structuredContent":{"shot":{"type":"image","mimeType":"image/png","data":"AAE="},"n":1}}`,
			"[image, image/png, 2 bytes: kept as an artifact]\n{\"n\":1}", 2},
		"too many": {`{"content":[` + strings.Repeat(`{"type":"audio","mimeType":"a","data":"AAE="},`, maxArtifacts) +
			`{"type":"image","mimeType":"image/png","data":"AAE="}]}`,
			strings.Repeat("[audio, a, 2 bytes: kept as an artifact]\n", maxArtifacts) +
				"[image, image/png, 2 bytes: not kept (limit per result: 50 artifacts of 16777216 bytes each)]", maxArtifacts},
		"an empty object": {`{"content":[],"structuredContent":{}}`, "{}", 1},
		"asks for input": {`{"resultType":"input_required","content":[]}`,
			"The tool requires input from a person, which cannot be provided.", 0},
		"an unknown type": {`{"content":[{"type":"text","text":"a"},{"type":"audio","mimeType":"audio/wav","data":"AAE="},
			{"type":"hologram","n":9007199254740993},{"type":"text","text":"b"}]}`,
			"a\n[audio, audio/wav, 2 bytes: kept as an artifact]\n" +
				"[content of unknown type \"hologram\"]\n{\"type\":\"hologram\",\"n\":9007199254740993}\nb", 2},
		"an unknown type, large": {`{"content":[{"type":"hologram","data":"` + strings.Repeat("x", maxUnknown) +
			`"},{"type":"text","text":"b"}]}`,
			"[content of unknown type \"hologram\", 4125 bytes: kept as an artifact]\nb", 1},
		"a broken image": {`{"content":[{"type":"image","mimeType":"image/png","data":17},{"type":"text","text":"b"}]}`,
			"[malformed content of type image]\n{\"type\":\"image\",\"mimeType\":\"image/png\",\"data\":17}\nb", 1},
		"no object": {`{"content":[null,7,"plain",{}]}`,
			"[content of unknown type \"\"]\n7\nplain\n[content of unknown type \"\"]\n{}", 2},
		"a bare text":             {`{"content":"plain"}`, "plain", 0},
		"toolResult of a text":    {`{"toolResult":"disk full on db-1","_meta":{}}`, `{"toolResult":"disk full on db-1"}`, 1},
		"toolResult of an object": {`{"toolResult":{"id":9007199254740993}}`, `{"toolResult":{"id":9007199254740993}}`, 1},
		"toolResult, long": {`{"toolResult":"` + strings.Repeat("x", 9000) + `"}`,
			`{"toolResult":"` + strings.Repeat("x", 9000) + `"}`, 1},
		"result in the result": {`{"result":"3 pods"}`, `{"result":"3 pods"}`, 1},
		"items":                {`{"items":[1,2],"content":[]}`, `{"items":[1,2]}`, 1},
		"items beside no text": {`{"items":[],"content":[{"type":"text","text":""}]}`, "\n{\"items\":[]}", 1},
		"items beside text":    {`{"items":[1],"content":[{"type":"text","text":"one"}]}`, "one", 0},
		"no more than a note":  {`{"_meta":{"cost":1}}`, "The tool returned nothing.", 0},
		"a text as the result": {`"plain"`, "plain", 0},
		"a list as the result": {`[{"type":"text","text":"plain"}]`, "plain", 0},
		"a bare block":         {`{"content":{"type":"text","text":"plain"}}`, "plain", 0},
		"a link": {`{"content":[{"type":"resource_link","uri":"file:///a","name":"a","size":9007199254740993}]}`,
			`{"type":"resource_link","uri":"file:///a","name":"a","size":9007199254740993}`, 1},
		"numbers that only look alike": {
			`{"content":[{"type":"text","text":"{\"n\":9007199254740992}"}],"structuredContent":{"n":9007199254740993}}`,
			"{\"n\":9007199254740992}\n{\"n\":9007199254740993}", 1},
		"a number spelled otherwise": {`{"content":[{"type":"text","text":"{\"n\":1.0}"}],"structuredContent":{"n":1}}`, `{"n":1.0}`, 1},
		"nothing but infinity":       {`{"content":[],"structuredContent":{"n":1e400,"m":-0}}`, `{"m":-0,"n":1e400}`, 1},
		"big numbers": {`{"content":[{"type":"text","text":"{\"n\":9007199254740993}"}],"structuredContent":{"n":9007199254740993}}`,
			`{"n":9007199254740993}`, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := converted(t, tc.answer); got.Content != tc.want || len(got.Artifacts) != tc.artifacts {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// TestArtifactLimits checks that the limits apply to every kind of content and to structured content.
func TestArtifactLimits(t *testing.T) {
	t.Parallel()
	full := make([]any, maxArtifacts)
	for n := range full {
		full[n] = map[string]any{"type": "image", "mimeType": "image/png", "data": []byte{byte(n)}}
	}
	resource := func(text string) any {
		return map[string]any{"type": "resource", "resource": map[string]any{"uri": "file:///a", "text": text}}
	}
	link := map[string]any{"type": "resource_link", "uri": "file:///a", "name": "a"}
	image := map[string]any{"type": "image", "mimeType": "image/png", "data": []byte("new")}
	large := strings.Repeat("x", maxArtifact+1)
	const tooMuch = ": not kept (limit per result: 50 artifacts of 16777216 bytes each)]"
	const noImage = "kept as an artifact]\n[image, image/png, 3 bytes" + tooMuch
	for name, tc := range map[string]struct {
		content    []any
		structured any
		kept       int
		end        string // of the text
	}{
		"a text":             {append(full, resource("a")), nil, 50, "]\na\n[resource file:///a, text/plain, 1 bytes" + tooMuch},
		"a link":             {append(full, link), nil, 50, tooMuch},
		"structured content": {full, map[string]any{"n": 1}, 50, "{\"n\":1}\n[structured content, application/json, 7 bytes" + tooMuch},
		"an image in it":     {full, map[string]any{"shot": image}, 50, noImage},
		"said already":       {append(full, image), map[string]any{"all": append(full, image)}, 50, noImage},
		"many in it":         {nil, map[string]any{"shots": append(full, image)}, 50, noImage},
		"a large text":       {[]any{resource(large)}, nil, 0, "[resource file:///a, text/plain, 16777217 bytes" + tooMuch},
		"a large structure":  {nil, map[string]any{"a": large}, 0, "[structured content, application/json, 16777225 bytes" + tooMuch},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data, err := json.Marshal(map[string]any{"content": append([]any{}, tc.content...), "structuredContent": tc.structured})
			if err != nil {
				t.Fatal(err)
			}
			got := converted(t, string(data))
			if len(got.Artifacts) != tc.kept || !strings.HasSuffix(got.Content, tc.end) {
				t.Errorf("%d artifacts, and the text ends with %.300s", len(got.Artifacts), got.Content[max(0, len(got.Content)-200):])
			}
		})
	}
}

// TestFailuresInStructuredContent checks that structured content counts if it is about the call, and not if it is about
// the things that the tool examined.
func TestFailuresInStructuredContent(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		answer    string
		errorType string // empty means success
		fault     agent.Fault
	}{
		"failed": {`{"structuredContent":{"status":"failed","message":"no disk"}}`, tool.ErrorTool, agent.Fault{}},
		"in other words": {`{"structuredContent":{"status":" ERROR ","error":"x","recoverable":true}}`, tool.ErrorTool,
			agent.Fault{Recoverable: true}},
		"when": {`{"structuredContent":{"status":"failure","retry_after":30}}`, tool.ErrorTool, agent.Fault{RetryAfter: 30}},
		"details": {`{"structuredContent":{"status":"failed","error":{"error_type":"Quota","recoverable":true,"details":{"left":0}}}}`,
			tool.ErrorTool, agent.Fault{Recoverable: true, Details: json.RawMessage(`{"error_type":"Quota","left":0}`)}},
		"an error of MCP": {`{"isError":true,"content":[{"type":"text","text":"MCP error -32602: a is no number"}],` +
			`"structuredContent":{"status":"failed","retry_after":"2s"}}`, tool.ErrorInvalidArguments, agent.Fault{RetryAfter: 2}},
		"no words of it": {`{"isError":true,"structuredContent":{"why":"x"}}`, tool.ErrorTool, agent.Fault{Recoverable: true}},
		"a status alone": {`{"structuredContent":{"status":"failed"}}`, tool.ErrorTool, agent.Fault{}},
		"a pipeline":     {`{"structuredContent":{"id":7,"status":"failed","ref":"main","sha":"a91957a8"}}`, "", agent.Fault{}},
		"a pod":          {`{"structuredContent":{"status":"Running","error":null}}`, "", agent.Fault{}},
		"an HTTP status": {`{"structuredContent":{"status":500,"error":"x"}}`, "", agent.Fault{}},
		"a list":         {`{"structuredContent":[{"status":"failed"}]}`, "", agent.Fault{}},
		"completed":      {`{"structuredContent":{"status":"completed"}}`, "", agent.Fault{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := converted(t, tc.answer)
			if diff := cmp.Diff(tc.fault, got.Fault); got.ErrorType != tc.errorType || (got.Status == tool.StatusError) != (tc.errorType != "") ||
				diff != "" {
				t.Errorf("got %+v\n%s", got, diff)
			}
		})
	}
}

func TestProtocolErrorAsAResult(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"MCP error -32602: Tool x not found":                          tool.ErrorUnknownTool,
		"MCP error -32602: Input validation error: expected a number": tool.ErrorInvalidArguments,
		"MCP error -32603: Tool x not found in the index":             tool.ErrorTool,
	} {
		got := converted(t, fmt.Sprintf(`{"isError":true,"content":[{"type":"text","text":%q}]}`, text))
		if diff := cmp.Diff(tool.Failure(want, text), got); diff != "" {
			t.Error(diff)
		}
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`unknown tool "x"`:            tool.ErrorUnknownTool,
		`MCP error: Tool x not found`: tool.ErrorUnknownTool,
		`a must be a number`:          tool.ErrorInvalidArguments,
	} {
		got := new(session).refused(&jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: text})
		if diff := cmp.Diff(tool.Failure(want, text), got); diff != "" {
			t.Error(diff)
		}
	}
	if got := new(session).refused(&jsonrpc.Error{Code: -32000, Message: strings.Repeat("é", 1000)}); got.ErrorType != tool.ErrorTool ||
		len(got.Content) != 1000 {
		t.Errorf("got %d bytes: %s", len(got.Content), got.ErrorType)
	}
}

// TestTailRedacts checks that no secret is kept and nothing else is lost, however the output is split into writes.
func TestTailRedacts(t *testing.T) {
	t.Parallel()
	const text = "key sesame, key sesame-street, key abcab, key sesame-1, key se"
	const want = "key [redacted], key [redacted], key [redacted], key [redacted]-1, key se"
	env := map[string]string{"A": "sesame", "B": "sesame-street", "C": "1", "D": "abcab"}
	for size := 1; size <= len(text); size++ {
		tail := newTail(100, Transport{Env: env}.secrets(), slog.New(slog.DiscardHandler))
		for rest := text; rest != ""; rest = rest[min(size, len(rest)):] {
			tail.Write([]byte(rest[:min(size, len(rest))]))
		}
		if got := tail.text(); got != want {
			t.Errorf("writes of %d bytes: %q", size, got)
		}
	}
}

func TestTailIsBounded(t *testing.T) {
	t.Parallel()
	tail := newTail(11, newSecrets([]string{"sesame"}), slog.New(slog.DiscardHandler))
	for range 1000 {
		tail.Write([]byte("é sesame\n"))
	}
	if got := tail.text(); got != "[redacted]" || cap(tail.kept) > 100 {
		t.Errorf("kept %q in %d bytes", got, cap(tail.kept))
	}
}
