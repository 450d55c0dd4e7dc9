package main

import (
	"crypto/rand"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/internal/command"
	"github.com/inquest-dev/inquest/internal/payload"
)

const variableCodecToken = "INQUEST_CODEC_TOKEN"

func codecCommand(c *cli) *cobra.Command {
	var listen string
	var origins, hosts []string
	cmd := &cobra.Command{
		Use: "codec", Short: "Let the Temporal UI and CLI read what workers have encrypted", Args: exactly(),
		Example: "  starter codec --listen 127.0.0.1:8234",
		Long: `Serve a codec endpoint: the Temporal UI and CLI have it decrypt what they show, and
encrypt what they send. It has the workers' keys (` + payload.VariableKeys + ` or
` + payload.VariableKeysFile + `), and serves whoever knows its token: ` + variableCodecToken + `, or
one of its own making, which it prints.

  temporal workflow show --workflow-id ID --codec-auth "Bearer TOKEN" \
    --codec-endpoint http://127.0.0.1:8234

The UI sends no token of its own: give it the endpoint http://127.0.0.1:8234/TOKEN.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return serveCodec(c, cmd, listen, origins, hosts) },
	}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:8234", "host:port to listen on")
	cmd.Flags().StringSliceVar(&origins, "ui-origin", []string{"http://127.0.0.1:8233", "http://localhost:8233"},
		"origins of the Temporal UIs whose pages may ask")
	cmd.Flags().StringSliceVar(&hosts, "host", nil, "names that the endpoint goes by, besides localhost")
	return cmd
}

func serveCodec(c *cli, cmd *cobra.Command, listen string, origins, hosts []string) error {
	keys, err := payload.LoadKeys(c.getenv)
	if err == nil && !keys.Any() {
		err = fmt.Errorf("there are no keys: set %s or %s, as the workers have it", payload.VariableKeys, payload.VariableKeysFile)
	}
	if err != nil {
		return usagef("%w", err)
	}
	token := c.getenv(variableCodecToken)
	if token == "" {
		token = rand.Text()
		fmt.Fprintf(c.out, "token %s\n", token)
	}
	storage := client.New(c.system()) // the workers' store, even when commands use the API
	defer storage.Close()
	handler, err := payload.Endpoint(payload.EndpointOptions{
		Keys: keys, Storage: payload.Reading(storage), Token: token, Origins: origins, Hosts: hosts,
	})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return usagef("--listen: %w", err)
	}
	at := listener.Addr().String()
	if !command.Loopback(at) {
		c.say("warning: %s is not a loopback address: what it decrypts goes over the network in the clear", at)
	}
	fmt.Fprintf(c.out, "codec endpoint http://%s\n", at)
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute}
	if err := command.Serve(cmd.Context(), server, listener); err != nil {
		return fmt.Errorf("serve the codec endpoint: %w", err)
	}
	return cmd.Context().Err()
}
