package cli

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/converter"

	"github.com/inquest-dev/inquest/internal/command"
	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/face/cli/local"
	"github.com/inquest-dev/inquest/internal/payload"
)

const codecKey = "k1:b2xkIG9sZCBvbGQgb2xkIG9sZCBvbGQgb2xkIG9sZCE="

// output collects the output of a command.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) after(t *testing.T, what string) string {
	t.Helper()
	for range 6000 {
		o.mu.Lock()
		said := o.text.String()
		o.mu.Unlock()
		if _, rest, ok := strings.Cut(said, what); ok && strings.Contains(rest, "\n") {
			line, _, _ := strings.Cut(rest, "\n")
			return line
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("nobody said %q: %s", what, o.text.String())
	return ""
}

// The command serves the SDK's own remote codec with a generated token, even when other commands use the API.
func TestCodec(t *testing.T) {
	t.Parallel()
	env := func(name string) string {
		return map[string]string{payload.VariableKeys: codecKey, "INQUEST_SERVER": "http://127.0.0.1:1"}[name]
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out, done := &output{}, make(chan int, 1)
	go func() {
		done <- run(ctx, []string{"codec", "--listen", "127.0.0.1:0"}, base.CLI{
			In: strings.NewReader(""), Out: out, Err: io.Discard, Getenv: env, Full: local.Full()})
	}()
	token, address := out.after(t, "token "), out.after(t, "codec endpoint ")
	keys, err := payload.LoadKeys(env)
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := keys.Converter(nil).ToPayload("hunter2")
	if err != nil {
		t.Fatal(err)
	}
	remote := func(token string) converter.DataConverter {
		return converter.NewRemoteDataConverter(converter.GetDefaultDataConverter(), converter.RemoteDataConverterOptions{
			Endpoint:      address,
			ModifyRequest: func(r *http.Request) error { r.Header.Set("Authorization", "Bearer "+token); return nil },
		})
	}
	var text string
	if err := remote(token).FromPayload(sealed, &text); err != nil || text != "hunter2" {
		t.Errorf("got %q, %v", text, err)
	}
	if err := remote("x"+token).FromPayload(sealed, &text); err == nil || !strings.Contains(err.Error(), "the token is missing or wrong") {
		t.Errorf("with another token: %v", err)
	}
	cancel()
	if code := <-done; code != command.ExitInterrupted {
		t.Errorf("exit code %d", code)
	}
}

func TestCodecWithoutKeys(t *testing.T) {
	t.Parallel()
	for keys, want := range map[string]string{"": "no encryption keys found: set INQUEST_ENCRYPTION_KEYS",
		"k1:hunter2": "the key k1 is not 32 bytes"} {
		said := &output{}
		code := run(t.Context(), []string{"codec"}, base.CLI{Out: io.Discard, Err: said, Full: local.Full(), Getenv: func(name string) string {
			return map[string]string{payload.VariableKeys: keys}[name]
		}})
		if code != command.ExitUsage || !strings.Contains(said.text.String(), want) || strings.Contains(said.text.String(), "hunter2") {
			t.Errorf("%q: exit code %d: %s", keys, code, said.text.String())
		}
	}
}
