package cli

import (
	"io"
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/internal/command"
	"github.com/inquest-dev/inquest/internal/face/cli/base"
)

// The build for the HTTP API alone says which commands it lacks, and reads local files.
func TestWithoutFull(t *testing.T) {
	t.Parallel()
	const api = "http://127.0.0.1:1"
	for _, tt := range []struct {
		line, server string
		code         int
		want         string
	}{
		{"list", "", command.ExitUsage, "starter: list without --server (INQUEST_SERVER) needs the full build"},
		{"doctor --json", api, command.ExitUsage, "starter: doctor needs the full build"},
		{"store check", "", command.ExitUsage, "starter: store check needs the full build"},
		{"ui lab", "", command.ExitUsage, "starter: ui needs the full build"},
		{"version --check", "", command.ExitUsage, "starter: version --check needs the full build"},
		{"agent-types --agent LogAgent", "", command.ExitUsage, "starter: using tools without the API needs the full build"},
		{"rules list", api, command.ExitUsage, "starter: rules list does not work with --server"},
		{"list", api, command.ExitFailed, "127.0.0.1:1"},
		{"version", "", 0, "inquest"},
		{"agent-types", "", 0, "memgpt"},
		{"chain list", "", 0, "sample-incident"},
		{"validate --strict ../../../examples/kind-scripted", "", 0, "0 errors"},
		{"help", "", 0, "Start, watch and steer investigations."},
	} {
		var said strings.Builder
		c := base.CLI{In: strings.NewReader(""), Out: &said, Err: &said, Getenv: func(name string) string {
			return map[string]string{"INQUEST_SERVER": tt.server, "INQUEST_TOKEN": "x"}[name]
		}}
		if code := run(t.Context(), strings.Fields(tt.line), c); code != tt.code || !strings.Contains(said.String(), tt.want) {
			t.Errorf("%s: exit code %d, want %d with %q:\n%s", tt.line, code, tt.code, tt.want, &said)
		}
	}
	var help strings.Builder
	run(t.Context(), []string{"help"}, base.CLI{Out: &help, Err: io.Discard, Getenv: func(string) string { return "" }})
	if strings.Contains(help.String(), "doctor") || strings.Contains(help.String(), "store  ") {
		t.Errorf("it offers what it lacks:\n%s", &help)
	}
}
