package inquest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"time"

	"github.com/inquest-dev/inquest"
	"github.com/inquest-dev/inquest/inquesttest"
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

// This agent uses its company's gateway. When the gateway refuses its key, the agent goes on with another provider.
func ExampleBuilder_WithFallbacks() {
	clerk, err := inquest.NewBuilder().
		WithProvider("gateway", inquest.Provider{Type: "program", Model: "large"}).
		WithProvider("spare", inquest.Provider{Type: "program", Model: "small"}).
		WithFallbacks("spare").
		Build()
	if err != nil {
		log.Fatal(err)
	}
	refuse := func(context.Context, inquest.ModelRequest, func(inquest.ModelDelta)) (inquest.ModelReply, error) {
		return inquest.ModelReply{}, &inquest.ModelError{Kind: inquest.ErrAuth, Message: "the key has expired"}
	}
	answer := func(_ context.Context, req inquest.ModelRequest, _ func(inquest.ModelDelta)) (inquest.ModelReply, error) {
		return inquest.ModelReply{Content: "The " + req.Model + " model answers."}, nil
	}
	world := inquesttest.World{Options: inquest.Options{
		Models:    map[string]inquest.Model{"gateway": refuse, "spare": answer},
		Agents:    map[string]*inquest.Agent{"Clerk": clerk.Agent()},
		Providers: clerk.Providers(),
		Chains: map[string]*inquest.Chain{"orders": {
			Stages: []*inquest.Stage{{Name: "look", Agents: []*inquest.StageAgent{{Name: "Clerk"}}}},
		}},
	}}
	result, err := world.Run(context.Background(), inquest.Request{Chain: "orders", Data: "Where is my order?"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Status, result.Report)
	// Output: completed The small model answers.
}

// Settings that have no method of their own come from an entry, and so do settings that several agents share.
func ExampleBuilder_WithConfig() {
	careful := inquest.Agent{OnLimit: "error", Timeouts: inquest.Timeouts{Tool: inquest.Duration(20 * time.Second)}, MaxIterations: new(3)}
	clerk, err := inquest.NewBuilder().WithConfig(careful).WithMaxIterations(5).Build()
	if err != nil {
		log.Fatal(err)
	}
	a := clerk.Agent()
	fmt.Println(a.OnLimit, a.Timeouts.Tool, *a.MaxIterations, *a.MaxTokens)
	// Output: error 20s 5 4096
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

// A Model makes one call and returns the kind of its error. Inquest decides whether to wait and try again: this gateway is
// busy at first.
func ExampleModel() {
	calls := 0
	gateway := func(_ context.Context, req inquest.ModelRequest, emit func(inquest.ModelDelta)) (inquest.ModelReply, error) {
		if calls++; calls == 1 {
			return inquest.ModelReply{}, &inquest.ModelError{Kind: inquest.ErrRateLimited, RetryAfter: time.Second, Message: "busy"}
		}
		var reply inquest.ModelReply
		for _, part := range []string{"Order 1001 ", "is late."} { // a gateway would send them one after the other
			emit(inquest.ModelDelta{Content: part})
			reply.Content += part
		}
		reply.Usage = inquest.ModelUsage{InputTokens: 100, OutputTokens: 6}
		return reply, nil
	}
	world := inquesttest.World{Options: inquest.Options{
		Models:    map[string]inquest.Model{"gateway": gateway},
		Providers: map[string]*inquest.Provider{"gateway": {Type: "program", Model: "large"}},
		Agents:    map[string]*inquest.Agent{"Clerk": {DefaultModel: "gateway"}},
		Chains: map[string]*inquest.Chain{"orders": {
			Stages: []*inquest.Stage{{Name: "look", Agents: []*inquest.StageAgent{{Name: "Clerk"}}}},
		}},
	}}
	result, err := world.Run(context.Background(), inquest.Request{Chain: "orders", Data: "Where is my order?"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(calls, result.Status, result.Report)
	// Output: 2 completed Order 1001 is late.
}

// This selector gives paying tenants a larger model. It returns a valid default_model.
func ExampleSelector() {
	world := inquesttest.World{
		Options: inquest.Options{
			Selectors: map[string]inquest.Selector{"by_tenant": func(_ context.Context, in inquest.SelectorInput) (string, error) {
				if in.Tenant == "acme" {
					return "openai:gpt-4o", nil
				}
				return "openai:gpt-4o-mini", nil
			}},
			Agents: map[string]*inquest.Agent{"Clerk": {DefaultModel: "selector:by_tenant"}},
			Chains: map[string]*inquest.Chain{"orders": {Stages: []*inquest.Stage{{Name: "look", Agents: []*inquest.StageAgent{{Name: "Clerk"}}}}}},
		},
		Script: []inquesttest.Rule{{Say: "Order 1001 is late."}},
	}
	for _, tenant := range []string{"acme", "corner-shop"} {
		result, err := world.Run(context.Background(), inquest.Request{Chain: "orders", Data: "Where is my order?", Tenant: tenant})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(tenant, result.Asked[0].Model)
	}
	// Output:
	// acme gpt-4o
	// corner-shop gpt-4o-mini
}
