package cli

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/face/cli/local"
)

// A server that accepts connections and never answers delays nothing: all checks run at once, each limited by --wait.
func TestDoctorIsNotHeldUp(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	silent := listener.Addr().String()
	config := t.TempDir() + "/lab.yaml"
	text := `
llm_providers: {mini: {type: openai, model: m, base_url: "http://` + silent + `"}}
mcp_servers: {mute: {transport: {type: http, url: "http://` + silent + `"}}, still: {transport: {command: sleep, args: ["60"]}}}
agents: {Looker: {mcp_servers: [mute]}}
agent_chains: {look: {llm_provider: mini, stages: [{name: look, agents: [{name: Looker}]}]}}
`
	if err := writeFile(config, text); err != nil {
		t.Fatal(err)
	}
	var out, errs strings.Builder
	begun := time.Now()
	code := run(t.Context(), []string{
		"doctor", "--config", config, "--online", "--wait", "1s", "--address", silent, "--store", "postgres://u@" + silent + "/d?sslmode=disable",
	}, base.CLI{Out: &out, Err: &errs, Getenv: func(string) string { return "" }, Full: local.Full()})
	if took := time.Since(begun); code != 1 || took > 2*time.Minute { // a busy machine is slower
		t.Errorf("exit code %d after %s", code, took)
	}
	for _, what := range []string{"Temporal", "store", "model mini", "server mute", "server still"} {
		if !strings.Contains(out.String(), "\nfail  "+what+": ") {
			t.Errorf("%s is not said to fail:\n%s%s", what, &out, &errs)
		}
	}
}
