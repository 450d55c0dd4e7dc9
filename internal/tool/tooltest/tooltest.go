// Package tooltest provides real MCP servers for tests: processes that use MCP over their standard input and output,
// and servers over HTTP (ServeWeb). They misbehave on request.
package tooltest

import (
	"context"
	"fmt"
	"os"
	"testing"
)

// Mode picks a server.
type Mode string

// The servers.
const (
	Tools    Mode = "tools"    // the tools of this package
	Pages    Mode = "pages"    // PageCount tools, over several pages
	Loop     Mode = "loop"     // a list whose next page is always the same
	Endless  Mode = "endless"  // a list that never ends
	Noisy    Mode = "noisy"    // Tools, but with output that is not MCP
	Marked   Mode = "marked"   // Tools, but with a byte order mark before its first line
	Stubborn Mode = "stubborn" // Tools, but it ends only when it is killed
	Hints    Mode = "hints"    // a counter for every combination of annotations, see AllHints
	Dead     Mode = "dead"     // writes EnvSecret to its standard error and exits with 7
	Asks     Mode = "asks"     // has the tool "deploy", which must not run twice and asks people a question
	Mute     Mode = "mute"     // reads and never answers
	Serial   Mode = "serial"   // does one thing at a time, so it answers nothing during a call; has only a counter
)

const (
	// PageCount is how many tools the server Pages has.
	PageCount = 35
	// EnvSecret names the variable that the server Dead reveals.
	EnvSecret = "TOOLTEST_SECRET"
	// KeyMeta is the _meta key of a call's idempotency key.
	KeyMeta = "inquest/idempotencyKey"

	scripted Mode = "script" // see Script

	envMode = "INQUEST_TOOLTEST_SERVER"
)

// Main runs the tests of a package, or a server if Program started this binary as one. A package that uses Program must
// call it from its TestMain.
func Main(m *testing.M) {
	mode := os.Getenv(envMode)
	if mode == "" {
		os.Exit(m.Run())
	}
	if err := Serve(context.Background(), Mode(mode)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Program returns the command for starting a server: the running test binary, with an environment that makes it a
// server.
func Program(t testing.TB, mode Mode) (command string, env map[string]string) {
	t.Helper()
	command, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// GORACE: the race detector would make every server take a second to exit.
	return command, map[string]string{envMode: string(mode), "GORACE": "atexit_sleep_ms=0"}
}
