package inquest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"time"

	"github.com/inquest-dev/inquest"
)

type orderQuery struct {
	Customer string `json:"customer" jsonschema:"who ordered"`
	Limit    int    `json:"limit,omitempty" jsonschema:"how many orders; 10 if left out"`
}

func searchOrders(ctx context.Context, q orderQuery) (any, error) {
	if q.Customer == "" {
		return nil, inquest.NotFound("customer", q.Customer)
	}
	return map[string]any{"orders": []string{"1001"}}, nil
}

// This program has a worker with a tool, an agent that uses it, and a chain. It finds Temporal like the Temporal CLI.
func Example() {
	ctx := context.Background()
	w, err := inquest.NewWorker(ctx, inquest.Options{
		Tools: []inquest.Tool{inquest.NewTool("search_orders", "Finds the orders of a customer", searchOrders,
			inquest.WithRisk(inquest.RiskReadOnly))},
		Agents: map[string]*inquest.Agent{"Clerk": {ToolIDs: []string{"search_orders"}, DefaultModel: "openai:gpt-4o"}},
		Chains: map[string]*inquest.Chain{"orders": {
			AlertTypes: []string{"order-late"},
			Stages:     []*inquest.Stage{{Name: "look", Agents: []*inquest.StageAgent{{Name: "Clerk"}}}},
		}},
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := w.Run(ctx); err != nil {
		log.Fatal(err)
	}
}

func ExampleNewTool() {
	tool := inquest.NewTool("search_orders", "Finds the orders of a customer", searchOrders)
	var schema struct {
		Properties map[string]struct{ Type, Description string }
	}
	if err := json.Unmarshal(tool.Schema, &schema); err != nil {
		log.Fatal(err)
	}
	fmt.Println(schema.Properties)
	// Output: map[customer:{string who ordered} limit:{integer how many orders; 10 if left out}]
}

// This tool must not act twice, so it passes the call's key to a service that recognises repeated requests.
func ExampleCallOf() {
	type refund struct {
		Order string `json:"order"`
	}
	_ = inquest.NewTool("refund", "Pays an order back", func(ctx context.Context, r refund) (any, error) {
		call, _ := inquest.CallOf(ctx)
		return map[string]any{"order": r.Order, "idempotency_key": call.Key}, nil
	}, inquest.WithRisk(inquest.RiskHigh)) // a person approves each call
}

func ExampleBuilder() {
	clerk, err := inquest.NewBuilder().
		WithModel("openai:gpt-4o").
		WithInstructions("Look at the newest orders first.").
		WithTools("search_orders").
		WithMaxIterations(5).
		WithContextCompression(inquest.Compression{MaxContextTokens: new(16000)}).
		WithSQLiteCheckpoint("clerk.db").
		Build()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(clerk.Agent().DefaultModel, *clerk.Agent().MaxIterations, clerk.Store())
	// Output: openai:gpt-4o 5 clerk.db
}

// Build reports every problem.
func ExampleBuilder_Build() {
	_, err := inquest.NewBuilder().WithMaxIterations(0).WithTemperature(3).WithSQLiteCheckpoint("").Build()
	fmt.Println(err)
	// Output:
	// max_iterations must be at least 1
	// temperature must be between 0 and 2
	// checkpoint_path is required when checkpoint_type='sqlite'
}

// Everything that YAML can express is possible in Go: this is a Builder's agent with more limits.
func ExampleDefinition_Agent() {
	d, err := inquest.NewBuilder().WithTools("refund").Build()
	if err != nil {
		log.Fatal(err)
	}
	clerk := d.Agent()
	clerk.Timeouts.Tool = inquest.Duration(20 * time.Second)
	clerk.ToolConfig.ToolPermissions = map[string]inquest.ToolPermission{
		"refund": {RateLimit: new(10), Allowed: map[string][]string{"order": {"EU-*"}}},
	}
	fmt.Println(clerk.Timeouts.Tool, len(clerk.ToolConfig.ToolPermissions))
	// Output: 20s 1
}
