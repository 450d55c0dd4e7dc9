package inquesttest_test

import (
	"context"
	"fmt"
	"log"

	"github.com/inquest-dev/inquest"
	"github.com/inquest-dev/inquest/inquesttest"
)

type query struct {
	Customer string `json:"customer"`
}

func search(_ context.Context, q query) (any, error) {
	return map[string]any{"orders": []string{q.Customer + "-1001"}}, nil
}

func Example() {
	world := inquesttest.World{
		Options: inquest.Options{
			Tools:  []inquest.Tool{inquest.NewTool("search_orders", "Finds orders", search, inquest.WithRisk(inquest.RiskReadOnly))},
			Agents: map[string]*inquest.Agent{"Clerk": {ToolIDs: []string{"search_orders"}, DefaultModel: "openai:gpt-4o"}},
			Chains: map[string]*inquest.Chain{"orders": {Stages: []*inquest.Stage{{Name: "look", Agents: []*inquest.StageAgent{{Name: "Clerk"}}}}}},
		},
		Script: []inquesttest.Rule{
			{Agent: "Clerk", Calls: []inquesttest.Call{{Tool: "search_orders", Arguments: query{Customer: "ada"}}}},
			{Agent: "Clerk", Seen: "ada-1001", Say: "Order 1001 is late."},
		},
	}
	result, err := world.Run(context.Background(), inquest.Request{Chain: "orders", Data: "Where is my order?"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Status, len(result.Asked), result.Report)
	// Output: completed 2 Order 1001 is late.
}
