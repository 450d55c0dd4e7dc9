package anthropic_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
)

// TestAgreesWithTheSDK compares the client with Anthropic's own SDK as a second reader: for the same stream, both must
// send the same back with the next request.
func TestAgreesWithTheSDK(t *testing.T) {
	t.Parallel()
	const (
		start = `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],` +
			`"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":9,"output_tokens":1}}}`
		end = `{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":30}}` + "\n" +
			`{"type":"message_stop"}`
	)
	begin := func(index, block string) string {
		return `{"type":"content_block_start","index":` + index + `,"content_block":` + block + `}`
	}
	grow := func(index, delta string) string {
		return `{"type":"content_block_delta","index":` + index + `,"delta":` + delta + `}`
	}
	stop := func(index string) string { return `{"type":"content_block_stop","index":` + index + `}` }
	streams := map[string]llmtest.Reply{
		"thoughts, a text and two calls, in pieces": llmtest.Text("Let me <see>.").Thinking("a < b & \"c\"\n\u2028").Signed("EqQB+/==").
			Calls(llmtest.Call{ID: "toolu_1", Name: "f", Args: `{"q":"a\u00e9 b","n":1e3}`}, llmtest.Call{ID: "toolu_2", Name: "g", Args: `{}`}).
			Chunked(3, 0),
		"thoughts that are not shown": llmtest.Calls(llmtest.Call{ID: "toolu_1", Name: "f", Args: `{"q":"x"}`}).Signed("EqQB"),
		"redacted between others": llmtest.Raw(start, begin("0", `{"type":"thinking","thinking":"","signature":""}`),
			grow("0", `{"type":"thinking_delta","thinking":"hm"}`), grow("0", `{"type":"signature_delta","signature":"c2ln"}`), stop("0"),
			begin("1", `{"type":"redacted_thinking","data":"EmwK/+="}`), stop("1"),
			begin("2", `{"type":"tool_use","id":"toolu_1","name":"f","input":{}}`), stop("2"), end),
		"blocks that grow in turns": llmtest.Raw(start,
			begin("0", `{"type":"thinking","thinking":"h","signature":""}`), begin("1", `{"type":"text","text":"Le"}`),
			begin("2", `{"type":"tool_use","id":"toolu_1","name":"f","input":{}}`),
			grow("1", `{"type":"text_delta","text":"t me see."}`), grow("2", `{"type":"input_json_delta","partial_json":"{\"q\":"}`),
			grow("0", `{"type":"thinking_delta","thinking":"m"}`), grow("2", `{"type":"input_json_delta","partial_json":"1}"}`),
			grow("0", `{"type":"signature_delta","signature":"c2"}`), grow("0", `{"type":"signature_delta","signature":"ln"}`),
			stop("2"), stop("0"), stop("1"), end),
		"thoughts between calls": llmtest.Raw(start,
			begin("0", `{"type":"thinking","thinking":"one","signature":"czE="}`), stop("0"),
			begin("1", `{"type":"tool_use","id":"toolu_1","name":"f","input":{}}`), stop("1"),
			begin("2", `{"type":"thinking","thinking":"two","signature":"czI="}`), stop("2"),
			begin("3", `{"type":"tool_use","id":"toolu_2","name":"f","input":{"a":1}}`), stop("3"), end),
	}
	for name, reply := range streams {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			message := replied(t, "claude-opus-4-8", reply)
			messages := []agent.Message{{Role: agent.User, Content: "why?"}, message}
			for _, call := range message.ToolCalls {
				messages = append(messages, agent.Message{Role: agent.ToolRole, ToolCallID: call.ID, Content: "42"})
			}
			var ours []struct{ Content json.RawMessage }
			if err := json.Unmarshal([]byte(sent(t, "messages", llm.Request{Model: "claude-opus-4-8", Messages: messages})), &ours); err != nil {
				t.Fatal(err)
			}
			theirs, err := json.Marshal(accumulated(t, reply).ToParam().Content)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(decoded(t, theirs), decoded(t, ours[1].Content)); diff != "" {
				t.Errorf("-the SDK's +ours:\n%s", diff)
			}
		})
	}
}

// accumulated returns a reply as the SDK reads it.
func accumulated(t *testing.T, reply llmtest.Reply) sdk.Message {
	t.Helper()
	srv := llmtest.Start(t, llmtest.Always(reply))
	message, err := readBySDK(t, srv.GeminiURL)
	if err != nil {
		t.Fatal(err)
	}
	return message
}

func readBySDK(t *testing.T, baseURL string) (message sdk.Message, err error) {
	t.Helper()
	client := sdk.NewClient(option.WithoutEnvironmentDefaults(), option.WithBaseURL(baseURL), option.WithAPIKey(secret),
		option.WithMaxRetries(0))
	stream := client.Messages.NewStreaming(t.Context(), sdk.MessageNewParams{
		Model: "claude-opus-4-8", MaxTokens: 99, Messages: []sdk.MessageParam{sdk.NewUserMessage(sdk.NewTextBlock("why?"))},
	})
	for stream.Next() {
		if err := message.Accumulate(stream.Current()); err != nil {
			return message, err
		}
	}
	return message, stream.Err()
}

// TestWhatTheSDKLoses has streams that the SDK's reader loses, refuses or accepts although they are cut. If the SDK reads one of
// them as this package does, our own reader is closer to being unnecessary (ADR 7).
func TestWhatTheSDKLoses(t *testing.T) {
	t.Parallel()
	const (
		start = "event: message_start\n" + `data: {"type":"message_start","message":{"role":"assistant","content":[]}}` + "\n\n"
		block = "event: content_block_start\n" +
			`data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}` + "\n\n"
		delta = "event: content_block_delta\n" +
			`data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"the pool"}}` + "\n\n"
		end = "event: message_delta\n" + `data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}`
	)
	for name, body := range map[string]string{
		"a stream that is cut before its stop reason": start + block + delta,
		"events without names":                        regexp.MustCompile("event: .*\n").ReplaceAllString(start+block+delta+end+"\n\n", ""),
		"a last event without an empty line":          start + block + delta + end,
		"blocks that are numbered from one":           strings.ReplaceAll(start+block+delta+end+"\n\n", `"index":0`, `"index":1`),
		"a block without a beginning":                 start + delta + end + "\n\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, body)
			}))
			t.Cleanup(srv.Close)
			got, err := open(t, srv.URL).Generate(t.Context(), llm.Request{Model: "claude-opus-4-8", Messages: []agent.Message{
				{Role: agent.User, Content: "why?"}}}, nil)
			whole := strings.Contains(body, "end_turn")
			if (err == nil) != whole || whole && got.Content != "the pool" {
				t.Errorf("ours: %+v, %v", got, err)
			}
			message, err := readBySDK(t, srv.URL)
			if whole && err == nil && len(message.Content) > 0 && message.Content[0].Text == got.Content && message.StopReason != "" {
				t.Error("the SDK reads it now")
			}
			if !whole && err != nil {
				t.Errorf("the SDK refuses it now: %v", err)
			}
		})
	}
}

func decoded(t *testing.T, data []byte) (value any) {
	t.Helper()
	if err := json.Unmarshal(data, &value); err != nil {
		t.Fatalf("%v in %s", err, data)
	}
	return value
}
