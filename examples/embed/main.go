// Command embed is a program that is an Inquest worker besides: its agent opens
// tickets with a function of this program.
package main

import (
	"cmp"
	"context"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/inquest-dev/inquest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	w, err := inquest.NewWorker(ctx, inquest.Options{
		Config: os.Getenv("INQUEST_CONFIG"), Store: os.Getenv("INQUEST_STORE"),
		Tools:  []inquest.Tool{inquest.NewTool("open_ticket", "Opens a ticket for the people on duty", openTicket)},
		Agents: map[string]*inquest.Agent{"Triage": {ToolIDs: []string{"open_ticket"}, DefaultModel: cmp.Or(os.Getenv("MODEL"), "openai:gpt-4o-mini")}},
		Chains: map[string]*inquest.Chain{"tickets": {
			AlertTypes: []string{"complaint"},
			Stages:     []*inquest.Stage{{Name: "triage", Agents: []*inquest.StageAgent{{Name: "Triage"}}}},
		}},
	})
	if err == nil {
		err = w.Run(ctx)
	}
	if err != nil {
		log.Fatal(err)
	}
}

type ticket struct {
	Title string `json:"title" jsonschema:"one line that says what is wrong"`
}

// openTicket is an ordinary function, called once for each call of the model's.
func openTicket(ctx context.Context, t ticket) (any, error) {
	url := cmp.Or(os.Getenv("TICKETS_URL"), "http://127.0.0.1:9000")
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(t.Title))
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusCreated {
		return nil, fmt.Errorf("open a ticket: %s", resp.Status)
	}
	return map[string]any{"ticket": resp.Header.Get("Location")}, nil
}
