package tooltest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
)

// Script maps the methods of requests to the exact bytes with which a server answers. $ID stands for the id of the request. A
// method with an empty answer is not answered. The other methods of a session have usual answers. "tools/list more" are requests for
// the pages after the first.
type Script map[string]string

// usual are the answers of an ordinary server.
var usual = Script{
	"initialize": `{"jsonrpc":"2.0","id":$ID,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},` +
		`"serverInfo":{"name":"raw","version":"1"}}}`,
	"tools/list": `{"jsonrpc":"2.0","id":$ID,"result":{"tools":[{"name":"plain","inputSchema":{"type":"object"}}]}}`,
	"tools/call": `{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"called"}]}}`,
	"ping":       `{"jsonrpc":"2.0","id":$ID,"result":{}}`,
}

// envScript holds the script of a process.
const envScript = "INQUEST_TOOLTEST_SCRIPT"

// Program returns the command for starting a server on the standard input and output.
func (s Script) Program(t testing.TB) (command string, env map[string]string) {
	t.Helper()
	command, env = Program(t, scripted)
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	env[envScript] = string(text)
	return command, env
}

// Serve runs a server over streamable HTTP for the duration of a test, or over SSE, and returns the URL of its endpoint.
func (s Script) Serve(t testing.TB, sse bool) (url string) {
	t.Helper()
	handler := http.HandlerFunc(s.serveHTTP)
	if sse {
		handler = s.serveSSE(make(chan []byte, 100))
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	return server.URL
}

func (s Script) serveHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if answer := s.answer(body); answer != nil {
		w.Write(answer)
		return
	}
	w.WriteHeader(http.StatusAccepted)
}

// serveSSE writes the answers to all requests to one stream.
func (s Script) serveSSE(answers chan []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			body, err := io.ReadAll(r.Body)
			if answer := s.answer(body); err == nil && answer != nil {
				answers <- answer
			}
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "event: endpoint\ndata: /messages\n\n")
		for {
			http.NewResponseController(w).Flush()
			select {
			case answer := <-answers:
				fmt.Fprintf(w, "data: %s\n\n", answer)
			case <-r.Context().Done():
				return
			}
		}
	}
}

// answer returns the answer to a message; nil if there is none.
func (s Script) answer(message []byte) []byte {
	var request struct {
		ID     json.RawMessage
		Method string
		Params struct{ Cursor string }
	}
	if json.Unmarshal(message, &request) != nil {
		return nil
	}
	answers := maps.Clone(usual)
	maps.Copy(answers, s)
	answer := answers[request.Method]
	if more := s["tools/list more"]; more != "" && request.Params.Cursor != "" {
		answer = more
	}
	if answer == "" {
		return nil
	}
	return bytes.ReplaceAll([]byte(answer), []byte("$ID"), request.ID)
}

// serveScript runs the script of the environment on the standard input and output.
func serveScript(in io.Reader, out io.Writer) error {
	var s Script
	if err := json.Unmarshal([]byte(os.Getenv(envScript)), &s); err != nil {
		return err
	}
	for lines := bufio.NewReader(in); ; {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if answer := s.answer(line); answer != nil {
			if _, err := fmt.Fprintf(out, "%s\n", answer); err != nil {
				return err
			}
		}
	}
}
