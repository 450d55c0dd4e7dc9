// Command otelcol is the receiver of the OpenTelemetry Collector. It prints each batch of spans that it receives as one line of OTLP
// JSON. The arguments are the addresses to listen on: HTTP, gRPC. It ends with its standard input.
package main

import (
	"context"
	"io"
	"log"
	"os"

	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/receiver/receivertest"
)

func main() {
	if err := run(context.Background(), os.Args[1], os.Args[2]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, http, grpc string) error {
	factory := otlpreceiver.NewFactory()
	config := factory.CreateDefaultConfig()
	protocols := confmap.NewFromStringMap(map[string]any{"protocols": map[string]any{
		"http": map[string]any{"endpoint": http}, "grpc": map[string]any{"endpoint": grpc},
	}})
	if err := protocols.Unmarshal(config); err != nil {
		return err
	}
	sink, err := consumer.NewTraces(func(_ context.Context, traces ptrace.Traces) error {
		line, err := (&ptrace.JSONMarshaler{}).MarshalTraces(traces)
		if err == nil {
			_, err = os.Stdout.Write(append(line, '\n'))
		}
		return err
	})
	if err != nil {
		return err
	}
	receiver, err := factory.CreateTraces(ctx, receivertest.NewNopSettings(factory.Type()), config, sink)
	if err != nil {
		return err
	}
	if err := receiver.Start(ctx, componenttest.NewNopHost()); err != nil {
		return err
	}
	if _, err := os.Stdout.WriteString("listening\n"); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	return receiver.Shutdown(ctx)
}
