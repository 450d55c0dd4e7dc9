// Package mcp proves the MCP client on servers that others wrote: the reference
// servers from npm, over every transport that they have. It needs node and npm,
// and, for the first run, the network.
package mcp

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/inquest-dev/inquest/internal/kit/npmtest"
)

// modules is the folder of the servers' scope, set by TestMain.
var modules string

func TestMain(m *testing.M) {
	if os.Getenv(envScenario) != "" {
		if err := beClient(os.Args[len(os.Args)-1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	dir, err := npmtest.Install(".")
	if err != nil {
		fmt.Fprintln(os.Stderr, "install the MCP servers:", err)
		os.Exit(1)
	}
	modules = filepath.Join(dir, "node_modules", "@modelcontextprotocol")
	os.Exit(m.Run())
}
