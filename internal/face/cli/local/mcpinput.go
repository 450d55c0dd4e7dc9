package local

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/inquest-dev/inquest/internal/kit/sse"
)

// mcpInput reads an MCP client's messages, one per line. It splits batches into single messages, and answers invalid lines
// with a JSON-RPC error, because the SDK would end the session.
type mcpInput struct {
	in    *bufio.Reader
	out   io.Writer
	limit int    // bytes per line
	ready []byte // valid messages that have not been read yet
}

func newMCPInput(in io.Reader, out io.Writer) *mcpInput {
	return &mcpInput{in: bufio.NewReader(in), out: out, limit: mcp.DefaultMaxLineLength}
}

// Read implements io.Reader. It fails only at the end of the input or if the output fails.
func (m *mcpInput) Read(p []byte) (int, error) {
	for len(m.ready) == 0 {
		line, err := m.line()
		if refusal := m.take(line); refusal != nil {
			if err := m.refuse(refusal); err != nil {
				return 0, err
			}
		}
		if err != nil && len(m.ready) == 0 {
			return 0, err
		}
	}
	n := copy(p, m.ready)
	m.ready = m.ready[n:]
	return n, nil
}

// line reads a line. It truncates a line that is too long, which makes it invalid.
func (m *mcpInput) line() (line []byte, err error) {
	for {
		part, err := m.in.ReadSlice('\n')
		line = append(line, part[:min(len(part), m.limit-len(line))]...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// refusal is the error response to a line.
type refusal struct {
	id      json.RawMessage // nil means null
	code    int64
	message string
}

// take queues the messages in a line, or says why it cannot.
func (m *mcpInput) take(line []byte) *refusal {
	line = bytes.TrimSpace(sse.Unmarked(line)) // programs on Windows write a byte order mark first
	if len(line) == 0 {
		return nil
	}
	if !json.Valid(line) {
		return &refusal{code: jsonrpc.CodeParseError, message: "Parse error: each line of the input must be one JSON-RPC message"}
	}
	var batch []json.RawMessage
	if json.Unmarshal(line, &batch) != nil || len(batch) == 0 {
		batch = []json.RawMessage{line}
	}
	for _, message := range batch {
		if _, err := jsonrpc.DecodeMessage(message); err != nil {
			var named struct{ ID json.RawMessage }
			_ = json.Unmarshal(message, &named) // the response to a message without an ID has a null ID
			return &refusal{id: named.ID, code: jsonrpc.CodeInvalidRequest, message: fmt.Sprintf("Invalid request: %v", err)}
		}
	}
	for _, message := range batch {
		m.ready = append(append(m.ready, message...), '\n')
	}
	return nil
}

func (m *mcpInput) refuse(r *refusal) error {
	answer, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": r.id, "error": map[string]any{"code": r.code, "message": r.message},
	})
	if err == nil {
		_, err = m.out.Write(append(answer, '\n'))
	}
	return err
}

// mcpOutput is standard output. Several goroutines write messages to it, and it stays open after the session ends.
type mcpOutput struct {
	mu  sync.Mutex
	out io.Writer
}

func (o *mcpOutput) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.out.Write(p)
}

func (*mcpOutput) Close() error { return nil }
