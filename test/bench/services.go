package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/inquest-dev/inquest/internal/llm/llmtest"
)

// services are the model and the tool server, over HTTP in this process.
type services struct {
	handler      *llmtest.Handler
	model, tools string       // their addresses
	takes        atomic.Int64 // time that the model takes for a reply, as a time.Duration
	thinking     atomic.Int64 // requests in progress at the model
	answered     atomic.Int64
	refused      atomic.Int64  // calls of sick conversations
	next         chan struct{} // releases one waiting request
	server       *http.Server
}

func startServices() (*services, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	address := "http://" + listener.Addr().String()
	s := &services{model: address + "/v1", tools: address + "/mcp", next: make(chan struct{})}
	s.handler = llmtest.New(s.reply)
	mux := http.NewServeMux()
	mux.Handle("/v1/", s.handler)
	tools := newToolServer()
	mux.Handle("/mcp", mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return tools }, nil))
	s.server = &http.Server{Handler: mux}
	go func() { _ = s.server.Serve(listener) }() // until it is closed
	return s, nil
}

// reply returns the model's reply, at once or after its thinking time.
func (s *services) reply(req llmtest.Request) llmtest.Reply {
	if reply, ok := s.refuse(req); ok {
		return reply
	}
	if takes := time.Duration(s.takes.Load()); takes > 0 {
		s.thinking.Add(1)
		defer s.thinking.Add(-1)
		select {
		case <-time.After(takes):
		case <-s.next:
		}
	}
	defer s.answered.Add(1)
	return speak(req)
}

const answer = "The volume of node-7 is full: the log of the web pods has grown since the deploy."

// speak returns the model's reply, which depends on the number of earlier replies.
func speak(req llmtest.Request) llmtest.Reply {
	s, turn := scaleOf(req.Model), 0
	for _, m := range req.Messages {
		if m.Role == "assistant" {
			turn++
		}
	}
	if turn >= s.modelCalls-1 {
		return llmtest.Text(answer)
	}
	tool := toolName // name in the loop by hand
	if ours := serverName + "__" + toolName; req.Offers(ours) {
		tool = ours
	}
	reply := llmtest.Text(fmt.Sprintf("Step %d: I look further.", turn+1))
	for n := range s.callsOf(turn) {
		arguments := fmt.Sprintf(`{"at":"%d.%d","bytes":%d}`, turn, n, s.result)
		reply = reply.Calls(llmtest.Call{ID: fmt.Sprintf("c%d_%d", turn, n), Name: tool, Args: arguments})
	}
	return reply
}

// newToolServer has one tool, which returns the requested number of bytes.
func newToolServer() *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: serverName, Version: "1"}, nil)
	server.AddTool(&mcp.Tool{
		Name: toolName, Description: "Looks at something.", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
		InputSchema: json.RawMessage(`{"type":"object","required":["at","bytes"],
			"properties":{"at":{"type":"string"},"bytes":{"type":"integer"}}}`),
	}, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var in struct {
			Bytes int `json:"bytes"`
		}
		if err := json.Unmarshal(req.Params.Arguments, &in); err != nil {
			return nil, err
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: filler(in.Bytes)}}}, nil
	})
	return server
}

// lookup resolves the variables of the configuration.
func lookup(model, tools string) func(name string) (string, bool) {
	values := map[string]string{variableModel: model, variableTools: tools}
	return func(name string) (string, bool) { value, ok := values[name]; return value, ok }
}

// release answers all waiting requests one after the other, because a server on one small machine falters if
// all answers arrive at once.
func (s *services) release() {
	s.takes.Store(0)
	for s.thinking.Load() > 0 {
		select {
		case s.next <- struct{}{}:
		default:
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func (s *services) close() error {
	s.handler.Close()
	return s.server.Close()
}
