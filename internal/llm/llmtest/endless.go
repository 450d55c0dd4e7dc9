package llmtest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/inquest-dev/inquest/internal/llm"
)

// endless is the maximum that a server of RunEndlessArguments sends, in bytes.
const endless = 8 << 20

// RunEndlessArguments lets a client read a call whose arguments never end, in pieces of 1,000 characters. The client
// must close the connection soon after llm.MaxArguments, or earlier if they repeat themselves. begin is sent before the
// pieces, and piece encodes one.
func RunEndlessArguments(t *testing.T, open func(baseURL string) llm.Client, begin string, piece func(text string) string) {
	t.Helper()
	tests := []struct {
		name   string
		text   func(n int) string
		finish llm.Finish
		most   int64 // bytes of arguments until the client closes the connection, including network buffers
	}{
		{"data", func(n int) string {
			var out strings.Builder
			for i := 0; out.Len() < 1000; i++ {
				fmt.Fprintf(&out, "%x ", (n*1000+i)*(n*1000+i)*2654435761)
			}
			return out.String()[:1000]
		}, llm.FinishToolCalls, 6 << 20},
		{"a repetition", func(int) string { return strings.Repeat("and again ", 100) }, llm.FinishRepeating, 5 << 20},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var sent atomic.Int64
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, begin)
				for n := 0; sent.Load() < endless; n++ {
					text, _ := json.Marshal(tt.text(n)) // cannot fail: a string
					if _, err := io.WriteString(w, piece(string(text))); err != nil {
						return
					}
					sent.Add(1000)
				}
			}))
			got, err := open(srv.URL).Generate(t.Context(), plain, nil)
			srv.Close() // waits for the handler
			if err != nil || got.Finish != tt.finish {
				t.Fatalf("finish %q, %v; want %q", got.Finish, err, tt.finish)
			}
			if n := sent.Load(); n > tt.most {
				t.Errorf("the server could send %d bytes", n)
			}
			if tt.finish == llm.FinishRepeating {
				return
			}
			if len(got.ToolCalls) != 1 || got.ToolCalls[0].Name != "f" || len(got.ToolCalls[0].Arguments) <= llm.MaxArguments {
				t.Errorf("%d calls, want f with arguments that are too long", len(got.ToolCalls))
			}
		})
	}
}
