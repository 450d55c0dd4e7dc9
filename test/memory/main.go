// Command memory measures whether memory helps (docs/how-to/learn-from-incidents.md). It investigates the sample incident
// several times without memory, and as often with it, each time on a new system with a store of its own. The first
// investigations teach; the last ones are compared.
//
//	go run ./test/memory --provider openai:gpt-4o-mini
//	go run ./test/memory --provider mine --config models.yaml --rounds 5
//
// The scripted model of the sample learns nothing, so a provider is required.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/app"
	"github.com/inquest-dev/inquest/internal/command"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/sample"
)

func main() { os.Exit(command.Main(context.Background(), root())) }

// options says what to measure.
type options struct {
	provider string // of all agents; empty means the provider of the chain
	config   string // file with a configuration, such as providers; empty means none
	alert    incident
	rounds   int
	models   map[string]llm.Client // by the names of providers, for tests
	progress io.Writer
}

// incident is what is investigated, and how to recognise the right conclusion.
type incident struct {
	alertType, data string
	right           *regexp.Regexp
}

// sampleCause matches reports that name the true cause of the sample incident: the setting, or both config maps.
const sampleCause = `(?is)inventory.*DB_POOL_MAX|DB_POOL_MAX.*inventory|inventory-config-v42.*inventory-config-v41|` +
	`inventory-config-v41.*inventory-config-v42`

func root() *cobra.Command {
	o := options{alert: incident{alertType: "sample-incident"}}
	var data, right string
	cmd := &cobra.Command{
		Use: "memory", Short: "Investigate an incident without and with memory, and print the difference", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			o.progress, o.alert.data = cmd.ErrOrStderr(), string(sample.Alert())
			if data != "" {
				text, err := os.ReadFile(data)
				if err != nil {
					return &command.UsageError{Err: err}
				}
				o.alert.data = string(text)
			}
			if o.alert.right, err = regexp.Compile(right); err != nil {
				return &command.UsageError{Err: fmt.Errorf("--right: %w", err)}
			}
			if o.provider == "" || o.rounds < 2 {
				return &command.UsageError{Err: errors.New("--provider is required, and --rounds must be at least 2")}
			}
			out, err := compare(cmd.Context(), o)
			if err != nil {
				return err
			}
			return out.print(cmd.OutOrStdout())
		},
	}
	set := cmd.Flags()
	set.StringVar(&o.provider, "provider", "", `model of all agents: an entry of llm_providers, or "provider:model"`)
	set.StringVar(&o.config, "config", "", "file with a configuration, for its own providers, chains and agents")
	set.StringVar(&o.alert.alertType, "alert-type", o.alert.alertType, "alert type of the incident")
	set.StringVar(&data, "alert", "", "file with the alert (default: that of the sample incident)")
	set.StringVar(&right, "right", sampleCause, "regular expression that matches the reports with the right conclusion")
	set.IntVar(&o.rounds, "rounds", 2, "investigations without memory, and as many with it")
	cmd.AddCommand(app.SampleCommand(), app.KeeperCommand())
	return cmd
}
