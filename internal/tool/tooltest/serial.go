package tooltest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// serveSerial is a server that does one thing at a time, like simple servers: during a call it reads nothing. Its only
// tool is "counter".
func serveSerial(in io.Reader, out io.Writer) error {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return nil
		}
		var request struct {
			ID     json.RawMessage
			Method string
			Params struct {
				ProtocolVersion string
				Name            string
				Arguments       effectIn
				Meta            map[string]any `json:"_meta"`
			}
		}
		if err != nil || json.Unmarshal(line, &request) != nil {
			return fmt.Errorf("%q, %w", line, err)
		}
		var result any = map[string]any{}
		switch request.Method {
		case "initialize":
			result = map[string]any{"protocolVersion": request.Params.ProtocolVersion, "capabilities": map[string]any{"tools": map[string]any{}},
				"serverInfo": map[string]any{"name": "serial", "version": "1"}}
		case "tools/call":
			count, err := noteKey(request.Params.Arguments.File, request.Params.Meta[KeyMeta])
			if err == nil {
				err = through(request.Params.Arguments.Gate)
			}
			if err != nil {
				return err
			}
			result = map[string]any{"content": []any{map[string]any{"type": "text", "text": fmt.Sprintf("%d by %d", count, os.Getpid())}}}
		}
		if request.ID == nil {
			continue
		}
		answer, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": request.ID, "result": result})
		if err == nil {
			_, err = fmt.Fprintf(out, "%s\n", answer)
		}
		if err != nil {
			return err
		}
	}
}
