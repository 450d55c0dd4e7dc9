// Command starter is Inquest's command line. It starts investigations, shows them live, lists them and steers them. It needs Temporal
// and, for transcripts, the workers' store. It runs no investigations itself. Built with the tag remote, it uses the HTTP API alone.
package main

import (
	"context"

	"github.com/inquest-dev/inquest/internal/face/cli"
)

func main() { cli.Main(context.Background(), full()) }
