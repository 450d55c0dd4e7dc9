package tooltest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/inquest-dev/inquest/internal/kit/sse"
)

// Serve runs a server on the standard input and output until the input ends.
func Serve(ctx context.Context, mode Mode) error {
	switch mode {
	case Dead:
		fmt.Fprintf(os.Stderr, "cannot log in with %s\n", os.Getenv(EnvSecret))
		os.Exit(7)
	case Mute:
		_, err := io.Copy(io.Discard, os.Stdin)
		return err
	case Serial:
		return serveSerial(os.Stdin, os.Stdout)
	case scripted:
		return serveScript(os.Stdin, os.Stdout)
	case Noisy:
		fmt.Printf("Starting up …\n\n{\"level\":\"info\"}\n[1]\n\xff\n")
	case Marked:
		fmt.Print(sse.ByteOrderMark)
	case Stubborn:
		signal.Ignore(syscall.SIGTERM)
	}
	transport := &mcp.IOTransport{Reader: os.Stdin, Writer: rawWriter{os.Stdout}, MaxLineLength: -1}
	server := newServer(mode)
	if mode != Hints {
		addProcess(server)
	}
	err := server.Run(ctx, transport)
	if mode == Stubborn {
		select {}
	}
	return err
}

func newServer(mode Mode) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "tooltest", Version: "1"}, &mcp.ServerOptions{PageSize: 10})
	switch mode {
	case Pages:
		for i := range PageCount {
			add(server, fmt.Sprintf("tool%02d", i), readOnly, echo)
		}
	case Hints:
		for name, hints := range AllHints() {
			add(server, name, hints, counter)
		}
		return server
	case Asks:
		add(server, "deploy", nil, deploy)
		return server
	case Loop:
		server.AddReceivingMiddleware(listing(func(string) string { return "again" }))
	case Endless:
		server.AddReceivingMiddleware(listing(func(cursor string) string { return cursor + "x" }))
	}
	addTools(server)
	addEffects(server)
	return server
}

// listing answers every tools/list with a page, and with a cursor derived from the last one.
func listing(next func(cursor string) string) mcp.Middleware {
	return func(handle mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			list, ok := req.GetParams().(*mcp.ListToolsParams)
			if method != "tools/list" || !ok {
				return handle(ctx, method, req)
			}
			page := &mcp.ListToolsResult{NextCursor: next(list.Cursor)}
			for i := range 20 {
				name := fmt.Sprintf("tool%d_%d", len(list.Cursor), i)
				page.Tools = append(page.Tools, &mcp.Tool{Name: name, InputSchema: anyObject})
			}
			return page, nil
		}
	}
}

// invalidMark is replaced by bytes that no JSON encoder would write.
const invalidMark = "\uE000"

type rawWriter struct{ io.WriteCloser }

func (w rawWriter) Write(p []byte) (int, error) {
	if _, err := w.WriteCloser.Write(bytes.ReplaceAll(p, []byte(invalidMark), []byte("\xff\xfe"))); err != nil {
		return 0, err
	}
	return len(p), nil
}
