package api

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/face/mcpserver"
	"github.com/inquest-dev/inquest/internal/system"
)

// newMCP returns the MCP tools. They use the operations of this API, with the access of whoever calls them.
func (s *Server) newMCP() *mcpserver.Tools {
	return mcpserver.New(mcpserver.Options{
		Operations: s, System: s.opts.System, SchemaName: schemaName, Explain: s.explain, Logger: s.opts.Logger,
		May: func(ctx context.Context, role, project string) error { return accessOf(taking(ctx, role)).of(project) },
	})
}

// mcpTools returns a function that makes the server for clients with a rank.
func (s *Server) mcpTools(decide string) func(rank int) *mcp.Server {
	tools := s.newMCP()
	return func(r int) *mcp.Server {
		return tools.For(func(role string) bool { return r >= rank[role] }, decide)
	}
}

// mcpHandler serves MCP over HTTP to authenticated clients; of makes the server for a rank.
func (s *Server) mcpHandler(of func(rank int) *mcp.Server) http.Handler {
	servers := map[int]*mcp.Server{}
	// any order: servers differ
	for _, r := range rank {
		servers[r] = of(r)
	}
	handler := mcp.NewStreamableHTTPHandler(func(r *http.Request) *mcp.Server {
		return servers[accessOf(r.Context()).best()]
	}, &mcp.StreamableHTTPOptions{
		Stateless: true, PropagateRequestCancellation: true, MaxRequestBodyBytes: system.MaxData + maxBody,
		DisableLocalhostProtection: true, // Handler has already checked the host, against the configured names
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a, status, why := s.door.now().enter(r.Context(), agent.ChannelMCP, r.Header.Get("Authorization"), config.RoleViewer)
		if a.unasked {
			a.name = agent.ChannelMCP
		}
		if status == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", "Bearer")
		}
		if status == http.StatusOK {
			status, why = readBody(w, r)
		}
		if status != http.StatusOK {
			problem(w, status, why)
			return
		}
		ctx := context.WithValue(r.Context(), accessKey{}, a)
		handler.ServeHTTP(w, r.WithContext(mcpserver.WithConnection(ctx, r.Context())))
	})
}

// readBody reads the whole request body before the handler runs. Only the reading has a deadline, because the handler may take long.
func readBody(w http.ResponseWriter, r *http.Request) (status int, why string) {
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Now().Add(callTimeout))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, system.MaxData+maxBody))
	_ = rc.SetReadDeadline(time.Time{})
	if errors.As(err, new(*http.MaxBytesError)) {
		return http.StatusRequestEntityTooLarge, "the request is too large"
	}
	if err != nil {
		return http.StatusBadRequest, "the request body is incomplete"
	}
	if bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("[")) { // a batch could hold any number of calls, and each of them may wait
		return http.StatusBadRequest, "batches are not supported: send one message per request"
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return http.StatusOK, ""
}

// MCP returns the server for one person on this host, with all permissions.
func (s *Server) MCP(who agent.Identity, decide string) (*mcp.Server, func(context.Context) context.Context) {
	all := map[string]int{config.AllProjects: rank[config.RoleAdmin]}
	a := access{identity: identity{name: who.Name, groups: who.Groups, channel: agent.ChannelMCP, own: true, grants: all}}
	as := func(ctx context.Context) context.Context { return context.WithValue(ctx, accessKey{}, a) }
	return s.mcpTools(decide)(rank[config.RoleAdmin]), as
}
