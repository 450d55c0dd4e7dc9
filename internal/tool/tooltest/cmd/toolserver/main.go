// Command toolserver runs a server of package tooltest, for tests that start separate programs: toolserver <mode>.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/inquest-dev/inquest/internal/tool/tooltest"
)

func main() {
	mode := tooltest.Tools
	if len(os.Args) > 1 {
		mode = tooltest.Mode(os.Args[1])
	}
	if err := tooltest.Serve(context.Background(), mode); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
