package devserver

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
)

// waitForNamespace returns once the frontend answers for the namespace.
func waitForNamespace(ctx context.Context, address string) error {
	c, err := client.NewLazyClient(client.Options{
		HostPort: address,
		Logger:   sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)),
	})
	if err != nil {
		return fmt.Errorf("dial the Temporal server: %w", err)
	}
	defer c.Close()
	err = poll(ctx, func() error {
		_, err := c.WorkflowService().DescribeNamespace(ctx,
			&workflowservice.DescribeNamespaceRequest{Namespace: Namespace})
		return err
	})
	if err != nil {
		return fmt.Errorf("wait for the Temporal server: %w", err)
	}
	return nil
}

// poll calls try until it succeeds or ctx ends; then it returns the last error.
func poll(ctx context.Context, try func() error) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-tick.C:
		}
	}
}
