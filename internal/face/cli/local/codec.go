package local

import (
	"crypto/rand"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/internal/command"
	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/payload"
)

const variableCodecToken = "INQUEST_CODEC_TOKEN"

// newCodec returns the command codec.
func newCodec(c *base.CLI) *cobra.Command {
	var listen string
	var origins, hosts []string
	cmd := &cobra.Command{
		Use: "codec", Short: "Let the Temporal UI and CLI read encrypted payloads", Args: base.Exactly(),
		Example: "  starter codec --listen 127.0.0.1:8234",
		Long: `Serve a codec endpoint. The Temporal UI and CLI use it to decrypt payloads that they show
and to encrypt payloads that they send. It needs the workers' keys (` + payload.VariableKeys + ` or
` + payload.VariableKeysFile + `). Each request needs a token: the value of ` + variableCodecToken + `,
or a generated token, which is printed.

  temporal workflow show --workflow-id ID --codec-auth "Bearer TOKEN" \
    --codec-endpoint http://127.0.0.1:8234

The UI sends no token: configure it with the endpoint http://127.0.0.1:8234/TOKEN.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return serveCodec(c, cmd, listen, origins, hosts) },
	}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:8234", "host:port to listen on")
	cmd.Flags().StringSliceVar(&origins, "ui-origin", []string{"http://127.0.0.1:8233", "http://localhost:8233"},
		"origins of the Temporal UIs that may use the endpoint")
	cmd.Flags().StringSliceVar(&hosts, "host", nil, "host names of the endpoint, besides localhost")
	return cmd
}

func serveCodec(c *base.CLI, cmd *cobra.Command, listen string, origins, hosts []string) error {
	keys, err := payload.LoadKeys(c.Getenv)
	if err == nil && !keys.Any() {
		err = fmt.Errorf("no encryption keys found: set %s or %s to the workers' value", payload.VariableKeys, payload.VariableKeysFile)
	}
	if err != nil {
		return base.Usagef("%w", err)
	}
	token := c.Getenv(variableCodecToken)
	if token == "" {
		token = rand.Text()
		fmt.Fprintf(c.Out, "token %s\n", token)
	}
	storage := client.New(options(c)) // the workers' store, even when commands use the API
	defer storage.Close()
	handler, err := payload.Endpoint(payload.EndpointOptions{
		Keys: keys, Storage: payload.Reading(storage), Token: token, Origins: origins, Hosts: hosts,
	})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return base.Usagef("--listen: %w", err)
	}
	at := listener.Addr().String()
	if !command.Loopback(at) {
		c.Say("warning: %s is not a loopback address: decrypted payloads are sent over the network unencrypted", at)
	}
	fmt.Fprintf(c.Out, "codec endpoint http://%s\n", at)
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute}
	if err := command.Serve(cmd.Context(), server, listener); err != nil {
		return fmt.Errorf("serve the codec endpoint: %w", err)
	}
	return cmd.Context().Err()
}
