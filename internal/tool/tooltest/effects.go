package tooltest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"syscall"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// effectIn holds the arguments of tools that a test observes from outside.
type effectIn struct {
	// File gets one line for every call: the call's idempotency key.
	File string `json:"file,omitempty"`
	// Gate is the path of a Gate that the call passes.
	Gate string `json:"gate,omitempty"`
	// Over is the path of a Gate that the call passes when it is cancelled.
	Over string `json:"over,omitempty"`
}

// addEffects registers the tools with effects on the outside or on the list of tools.
func addEffects(s *mcp.Server) {
	add(s, "counter", nil, counter)
	add(s, "set", idempotent, counter)
	add(s, "delete", destructive, counter)
	add(s, "hang", nil, func(ctx context.Context, _ *mcp.CallToolRequest, in effectIn) (*result, error) {
		err := through(in.Gate)
		<-ctx.Done()
		return nil, errors.Join(err, through(in.Over))
	})
	add(s, "grow", nil, func(_ context.Context, _ *mcp.CallToolRequest, in textIn) (*result, error) {
		add(s, in.Text, readOnly, echo)
		return text("grown"), nil
	})
}

// addProcess registers the tools that affect the server's process.
func addProcess(s *mcp.Server) {
	add(s, "crash", nil, func(_ context.Context, req *mcp.CallToolRequest, in effectIn) (*result, error) {
		if _, err := note(in.File, req); err != nil {
			return nil, err
		}
		fmt.Fprintln(os.Stderr, "out of memory")
		os.Exit(3)
		return nil, nil
	})
	add(s, "freeze", nil, func(ctx context.Context, _ *mcp.CallToolRequest, _ textIn) (*result, error) {
		err := syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		<-ctx.Done() // the stop may take a moment
		return nil, err
	})
	add(s, "flood_stderr", nil, func(_ context.Context, _ *mcp.CallToolRequest, in bytesIn) (*result, error) {
		line := append(bytes.Repeat([]byte("noise "), 100), '\n')
		for n := 0; n < in.Bytes; n += len(line) {
			os.Stderr.Write(line)
		}
		return text("flooded"), nil
	})
	add(s, "spawn", nil, func(context.Context, *mcp.CallToolRequest, nothing) (*result, error) {
		child := exec.Command("sleep", "1000")
		child.Stdout, child.Stderr = os.Stdout, os.Stderr // like a careless server
		if err := child.Start(); err != nil {
			return nil, err
		}
		return text("%d", child.Process.Pid), nil
	})
}

// counter is a call that must not be made twice: it returns how often it was made.
func counter(_ context.Context, req *mcp.CallToolRequest, in effectIn) (*result, error) {
	count, err := note(in.File, req)
	if err != nil {
		return nil, err
	}
	return text("%d", count), through(in.Gate)
}

// note appends a line to a file and returns its number of lines.
func note(path string, req *mcp.CallToolRequest) (int, error) {
	return noteKey(path, req.Params.Meta[KeyMeta])
}

func noteKey(path string, key any) (int, error) {
	if path == "" {
		return 0, nil
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	if _, err := fmt.Fprintln(file, key); err != nil {
		return 0, err
	}
	lines, err := os.ReadFile(path)
	return bytes.Count(lines, []byte("\n")), err
}

// through reports its arrival at a gate and waits to be released.
func through(gate string) error {
	if gate == "" {
		return nil
	}
	conn, err := net.Dial("unix", gate)
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = io.Copy(io.Discard, conn)
	return err
}
