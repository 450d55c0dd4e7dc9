package geminilegacy

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/sse"
	"github.com/inquest-dev/inquest/internal/llm"
)

// maxReply limits a whole reply, in bytes.
const maxReply = 64 << 20

// maxPage limits how much of an answer that is not JSON is read, in bytes.
const maxPage = 64 << 10

// elements is the body of an answer, a JSON array of chunks, converted for the SDK. It removes thinking, which the SDK
// would deliver as text; parts that make the SDK panic; and finish reasons that make the SDK discard a reply. An error
// among the chunks, which the SDK would miss, ends the body. Its errors are *llm.Errors.
type elements struct {
	closer io.Closer
	body   *bufio.Reader
	dec    *json.Decoder // nil before the first chunk
	call   *call
	chunks int
	halves llm.Halves
	out    bytes.Buffer
	err    error // returned by Read once out is empty
}

func newElements(body io.ReadCloser, call *call) *elements {
	return &elements{closer: body, body: bufio.NewReader(llm.FiniteJSON(io.LimitReader(body, maxReply))), call: call}
}

// Read returns the rewritten array, each chunk as soon as it arrives.
func (e *elements) Read(p []byte) (int, error) {
	for e.out.Len() == 0 {
		if e.err != nil {
			return 0, e.err
		}
		e.err = e.next()
	}
	return e.out.Read(p)
}

// Close never fails, because the rest of the body no longer matters.
func (e *elements) Close() error {
	_ = e.closer.Close()
	return nil
}

// next writes the next chunk to out, or the end of the array with io.EOF.
func (e *elements) next() error {
	if e.dec == nil {
		if err := e.open(); err != nil {
			return err
		}
	}
	if !e.dec.More() {
		if _, err := e.dec.Token(); err != nil {
			return e.broken(err)
		}
		e.out.WriteString("]")
		return io.EOF
	}
	var raw json.RawMessage
	if err := e.dec.Decode(&raw); err != nil {
		return e.broken(err)
	}
	e.chunks++
	chunk, err := e.clean(raw)
	if err != nil {
		return err
	}
	if e.chunks > 1 {
		e.out.WriteString(",")
	}
	e.out.Write(chunk)
	return nil
}

// open begins the array. A single object, such as an error or the answer of a server that does not stream, becomes an
// array of one.
func (e *elements) open() error {
	if failed := e.notAModel(); failed != nil {
		return failed
	}
	e.dec = json.NewDecoder(e.body)
	start, err := e.dec.Token()
	if start == json.Delim('{') {
		e.dec = json.NewDecoder(io.MultiReader(strings.NewReader("[{"), e.dec.Buffered(), e.body, strings.NewReader("]")))
		start, err = e.dec.Token()
	}
	switch {
	case err != nil:
		return e.broken(err)
	case start != json.Delim('['):
		return malformed("the response is not a JSON array")
	}
	e.out.WriteString("[")
	return nil
}

// notAModel skips white space and a byte order mark, and checks an answer that does not begin like JSON.
func (e *elements) notAModel() error {
	if mark, _ := e.body.Peek(len(sse.ByteOrderMark)); string(mark) == sse.ByteOrderMark {
		_, _ = e.body.Discard(len(sse.ByteOrderMark))
	}
	start, err := e.body.Peek(1)
	for err == nil && strings.ContainsAny(string(start), " \t\r\n") {
		_, _ = e.body.Discard(1)
		start, err = e.body.Peek(1)
	}
	if err != nil || start[0] == '[' || start[0] == '{' {
		return nil
	}
	text, _ := io.ReadAll(io.LimitReader(e.body, maxPage))
	if failed := llm.NotAModel(0, text); failed != nil {
		return failed
	}
	return malformed("the response is not a JSON array")
}

// broken returns the reason why there is no further chunk.
func (e *elements) broken(err error) error {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return malformed("the response is not JSON")
	}
	if e.chunks == 0 && !errors.Is(err, io.EOF) {
		return &llm.Error{Kind: llm.ErrUnavailable, Message: err.Error()}
	}
	return &llm.Error{Kind: llm.ErrTruncated, Message: "the stream was cut off: " + err.Error()}
}

func malformed(why string) error { return &llm.Error{Kind: llm.ErrMalformed, Message: why} }

// clean returns the part of a chunk for the SDK, and records the rest.
func (e *elements) clean(raw json.RawMessage) ([]byte, error) {
	if failed := llm.NotAModel(0, raw); failed != nil && e.chunks == 1 {
		return nil, failed
	}
	if failure, ok := llm.ParseGoogleFailure(raw); ok {
		return nil, failure.Error(0)
	}
	fit := llm.ReadGoogleChunk(e.halves.Join(raw)) // this client asks Google for numeric enums
	var c chunk
	if err := json.Unmarshal(fit.JSON, &c); err != nil {
		return nil, malformed("the SDK cannot decode a chunk of the response")
	}
	if r := c.Feedback.BlockReason; r != "" && r != "BLOCK_REASON_UNSPECIFIED" {
		return nil, &llm.Error{Kind: llm.ErrContentFiltered, Message: "the prompt was blocked: " + r}
	}
	if c.Model != "" {
		e.call.model = c.Model
	}
	if u := c.Usage; u != nil {
		e.call.usage = agent.Usage{
			InputTokens: u.Prompt + u.ToolUse, OutputTokens: u.Candidates + u.Thoughts, CacheReadTokens: u.Cached, ReasoningTokens: u.Thoughts,
		}
	}
	e.call.arguments = append(e.call.arguments, fit.Arguments...)
	out := map[string]any{}
	if len(c.Candidates) > 0 {
		first := c.Candidates[0]
		if first.Finish != "" {
			e.call.finish, e.call.message, e.call.last = first.Finish, fit.Ending, e.chunks
		}
		out["candidates"] = []any{map[string]any{"content": map[string]any{"role": "model", "parts": known(first.Content.Parts)}}}
	}
	return json.Marshal(out)
}

type (
	object map[string]json.RawMessage
	// chunk has the fields of an element that are used here.
	chunk struct {
		Candidates []struct {
			Content struct {
				Role  string   `json:"role"`
				Parts []object `json:"parts"`
			} `json:"content"`
			Finish string `json:"finishReason"`
		} `json:"candidates"`
		Feedback struct {
			BlockReason string `json:"blockReason"`
		} `json:"promptFeedback"`
		Usage *usage `json:"usageMetadata"`
		Model string `json:"modelVersion"`
	}
)

// usage is cumulative. The SDK does not know all of its fields.
type usage struct {
	Prompt     int `json:"promptTokenCount"`
	ToolUse    int `json:"toolUsePromptTokenCount"`
	Candidates int `json:"candidatesTokenCount"`
	Thoughts   int `json:"thoughtsTokenCount"`
	Cached     int `json:"cachedContentTokenCount"` // of the prompt
}

// known returns the parts that the SDK can handle. The SDK also panics on a functionResponse, which a server should
// never send; such a reply is malformed, see pull.
func known(parts []object) []object {
	out := []object{}
	for _, p := range parts {
		if string(p["thought"]) == "true" {
			continue
		}
		maps.DeleteFunc(p, func(name string, _ json.RawMessage) bool {
			return name != "text" && name != "functionCall" && name != "functionResponse"
		})
		if len(p) > 0 {
			out = append(out, p)
		}
	}
	return out
}
