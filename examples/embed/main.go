// Command embed is a program that is also an Inquest worker. Its agent opens tickets with a function of this program,
// and gets the name of the person on duty from another.
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
		Tools: []inquest.Tool{inquest.NewTool("open_ticket", "Opens a ticket for the people on duty", openTicket)},
		Hooks: map[string]inquest.Hook{"on-duty": onDuty},
		Agents: map[string]*inquest.Agent{
			"Triage": {ToolIDs: []string{"open_ticket"}, DefaultModel: cmp.Or(os.Getenv("MODEL"), "openai:gpt-4o-mini")},
		},
		Chains: map[string]*inquest.Chain{"tickets": {
			AlertTypes: []string{"complaint"},
			Stages: []*inquest.Stage{{
				Name: "triage", Agents: []*inquest.StageAgent{{Name: "Triage"}}, Flow: inquest.Flow{PreProcess: "on-duty"},
			}},
		}},
	})
	if err == nil {
		err = w.Run(ctx)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// onDuty runs before the agent, which sees its return value.
func onDuty(context.Context, inquest.HookInput) (inquest.HookOutput, error) {
	return inquest.HookOutput{Output: map[string]any{"on_duty": cmp.Or(os.Getenv("ON_DUTY"), "nobody")}}, nil
}

type ticket struct {
	Title string `json:"title" jsonschema:"the problem in one line"`
}

// openTicket is an ordinary function, called once for each of the model's calls.
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
