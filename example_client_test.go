package inquest_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"

	"github.com/inquest-dev/inquest"
)

// clerk is an agent that looks up orders. Its model is the function below, which needs no network.
func clerk() inquest.Options {
	return inquest.Options{
		Tools: []inquest.Tool{inquest.NewTool("search_orders", "Finds the orders of a customer", searchOrders,
			inquest.WithRisk(inquest.RiskReadOnly))},
		Models:    map[string]inquest.Model{"gateway": gateway},
		Providers: map[string]*inquest.Provider{"gateway": {Type: "program", Model: "large"}},
		Agents:    map[string]*inquest.Agent{"Clerk": {DefaultModel: "gateway", ToolIDs: []string{"search_orders"}}},
		Chains: map[string]*inquest.Chain{"orders": {
			Stages: []*inquest.Stage{{Name: "look", Agents: []*inquest.StageAgent{{Name: "Clerk"}}}},
		}},
	}
}

// gateway looks up the orders once in a conversation, and then answers from the result.
func gateway(_ context.Context, req inquest.ModelRequest, _ func(inquest.ModelDelta)) (inquest.ModelReply, error) {
	questions, read := 0, false
	for _, m := range req.Messages {
		if m.Role == "user" {
			questions++
		}
		read = read || m.Role == "tool"
	}
	if !read {
		return inquest.ModelReply{ToolCalls: []inquest.ModelToolCall{{Name: "search_orders", Arguments: `{"customer":"ada"}`}}}, nil
	}
	return inquest.ModelReply{Content: fmt.Sprintf("Answer %d: order 1001 is late.", questions)}, nil
}

// Follow begins with what has happened so far, also in another process and after the end.
func ExampleClient_Follow() {
	ctx := context.Background()
	where, stop, err := serve(ctx, clerk())
	if err != nil {
		log.Fatal(err)
	}
	defer stop()
	c, err := inquest.NewClient(ctx, where)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	id, err := c.Start(ctx, inquest.Request{Chain: "orders", Data: "Where is Ada's order?"})
	if err != nil {
		log.Fatal(err)
	}
	for event, err := range c.Follow(ctx, id) {
		switch {
		case err != nil:
			log.Fatal(err)
		case event.Entry != nil && event.Entry.Kind == "call":
			fmt.Println(event.Entry.Tool, event.Entry.Arguments)
		case event.Entry != nil && event.Entry.Kind == "result":
			fmt.Println(event.Entry.Text)
		case event.Ending != nil:
			fmt.Println(event.Ending.Status, event.Ending.Report)
		}
	}
	// Output:
	// search_orders {"customer":"ada"}
	// {"status":"success","data":{"orders":["1001"]}}
	// completed Answer 1: order 1001 is late.
}

// A conversation goes on wherever its thread is named again: the agent remembers its reading.
func ExampleClient_Converse() {
	ctx := context.Background()
	where, stop, err := serve(ctx, clerk())
	if err != nil {
		log.Fatal(err)
	}
	defer stop()
	c, err := inquest.NewClient(ctx, where)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	for _, question := range []string{"Where is Ada's order?", "When does it come?"} {
		reply, err := c.Converse("ada-1", "Clerk").Say(ctx, question)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(reply.Text, reply.Iterations)
	}
	if err := c.Converse("ada-1", "").Close(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// Answer 1: order 1001 is late. 2
	// Answer 2: order 1001 is late. 1
}

// This program has its own Temporal worker, which also does Inquest's work.
func ExampleWorker_Register() {
	ctx := context.Background()
	where, stop, err := temporal(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer stop()
	opts := clerk()
	opts.Temporal, opts.Store, opts.TaskQueue, opts.Logger = where.Temporal, where.Store, "shop", slog.New(slog.DiscardHandler)
	w, err := inquest.NewWorker(ctx, opts)
	if err != nil {
		log.Fatal(err)
	}
	defer w.Close()
	connection, err := client.Dial(*where.Temporal)
	if err != nil {
		log.Fatal(err)
	}
	defer connection.Close()
	own := worker.New(connection, "shop", worker.Options{Interceptors: []interceptor.WorkerInterceptor{inquest.Guard()}})
	if err := w.Register(ctx, own); err != nil { // beside the program's own workflows
		log.Fatal(err)
	}
	if err := own.Start(); err != nil {
		log.Fatal(err)
	}
	defer own.Stop()

	where.TaskQueue = "shop"
	c, err := inquest.NewClient(ctx, where)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	id, err := c.Start(ctx, inquest.Request{Chain: "orders", Data: "Where is Ada's order?"})
	if err != nil {
		log.Fatal(err)
	}
	end, err := c.Await(ctx, id)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(end.Status, end.Report)
	// Output: completed Answer 1: order 1001 is late.
}
