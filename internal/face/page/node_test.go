package page

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// evaluate runs the body of a function in Node and decodes what it returns. input is its JSON argument, and module returns the address of
// one of the page's modules.
func evaluate(t *testing.T, body string, input []byte, out any) {
	t.Helper()
	folder, err := filepath.Abs("assets")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", "--input-type=module", "-e", `
		const module = (name) => "file://" + process.argv[1] + "/" + name;
		const all = []; for await (const part of process.stdin) all.push(part);
		const input = JSON.parse(Buffer.concat(all));
		const made = await (async () => {`+body+`})();
		process.stdout.write(JSON.stringify(made), () => process.exit()); // dom.js has a timer`, folder)
	cmd.Stdin = strings.NewReader(string(input))
	text, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(text, out)
	}
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
}

// TestReadable checks that the page lays out reports as package markdown does.
func TestReadable(t *testing.T) {
	t.Parallel()
	tests, err := os.ReadFile("../../kit/markdown/testdata/readable.json")
	if err != nil {
		t.Fatal(err)
	}
	var want []struct{ Name, Want string }
	if err := json.Unmarshal(tests, &want); err != nil || len(want) == 0 {
		t.Fatal(len(want), err)
	}
	got := want[:0:0]
	evaluate(t, `
		const { readable } = await import(module("markdown.js"));
		return input.map(({ name, text }) => ({ name, want: readable(text) }));`, tests, &got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
