package app

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/workflows"
)

// Inputs returns the arguments of a run and the identity of the client that started it, from its first event.
func (r runs) Inputs(ctx context.Context, workflowID, runID string) (inputs [][]byte, from string, err error) {
	history := r.client.GetWorkflowHistory(ctx, workflowID, runID, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	event, err := history.Next()
	if err != nil {
		return nil, "", fmt.Errorf("read the first event: %w", err)
	}
	started := event.GetWorkflowExecutionStartedEventAttributes()
	for _, payload := range started.GetInput().GetPayloads() {
		var raw converter.RawValue
		if err := r.data.FromPayload(payload, &raw); err != nil {
			return nil, "", fmt.Errorf("read the first event: %w", err)
		}
		inputs = append(inputs, raw.Payload().GetData())
	}
	return inputs, started.GetIdentity(), nil
}

// Message returns the text of an update "send" that a run has accepted. It reads the history from its beginning, so call it only
// for long messages.
func (r runs) Message(ctx context.Context, workflowID, runID, updateID string) (string, error) {
	history := r.client.GetWorkflowHistory(ctx, workflowID, runID, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for history.HasNext() {
		event, err := history.Next()
		if err != nil {
			return "", fmt.Errorf("read the history: %w", err)
		}
		// In a history after a reset, the text is where the update was admitted again.
		request := cmp.Or(event.GetWorkflowExecutionUpdateAcceptedEventAttributes().GetAcceptedRequest(),
			event.GetWorkflowExecutionUpdateAdmittedEventAttributes().GetRequest())
		if request.GetMeta().GetUpdateId() != updateID {
			continue
		}
		var message workflows.Message
		if err := r.data.FromPayloads(request.GetInput().GetArgs(), &message); err != nil {
			return "", fmt.Errorf("read update %s: %w", updateID, err)
		}
		return message.Text, nil
	}
	return "", fmt.Errorf("update %s is not in the history", updateID)
}

// registerSearchAttributes registers our search attributes in Temporal and reports whether workflows may set them. An unknown
// attribute would make their tasks fail forever.
func registerSearchAttributes(ctx context.Context, c client.Client, namespace string, logger *slog.Logger) bool {
	if lacking, err := MissingAttributes(ctx, c, namespace); err == nil && len(lacking) == 0 {
		return true
	}
	_, err := c.OperatorService().AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{
		Namespace: namespace, SearchAttributes: searchAttributes(),
	})
	if err == nil {
		return true
	}
	if lacking, listErr := MissingAttributes(ctx, c, namespace); listErr != nil || len(lacking) > 0 {
		logger.Warn("search attributes are not registered; investigations run without them", "error", err)
		return false
	}
	return true
}

func searchAttributes() map[string]enumspb.IndexedValueType {
	const keyword = enumspb.INDEXED_VALUE_TYPE_KEYWORD
	return map[string]enumspb.IndexedValueType{
		activities.AttributeChain: keyword, activities.AttributeStage: keyword, activities.AttributeStatus: keyword,
		activities.AttributeAlertType: keyword, activities.AttributeScore: enumspb.INDEXED_VALUE_TYPE_INT,
	}
}

// AttributeType returns the type of one of our search attributes, as the Temporal CLI spells it.
func AttributeType(name string) string { return searchAttributes()[name].String() }

// MissingAttributes returns our search attributes that Temporal does not know, sorted.
func MissingAttributes(ctx context.Context, c client.Client, namespace string) (lacking []string, err error) {
	known, err := c.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if err != nil {
		return nil, err
	}
	for name, kind := range searchAttributes() {
		if known.GetCustomAttributes()[name] != kind {
			lacking = append(lacking, name)
		}
	}
	slices.Sort(lacking)
	return lacking, nil
}

// NamespaceID returns the namespace's ID. Workers without access to the namespace fail here, at once.
func NamespaceID(ctx context.Context, c client.Client, namespace string) (id string, err error) {
	described, err := c.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: namespace})
	if err != nil {
		return "", fmt.Errorf("namespace %s: %w", namespace, err)
	}
	return described.GetNamespaceInfo().GetId(), nil
}

// Beat sends a heartbeat for an activity. It bypasses the SDK, which cancels an activity as soon as Temporal does not answer.
func (r runs) Beat(ctx context.Context, taskToken []byte, doing activities.Doing) error {
	return r.client.RecordActivityHeartbeat(ctx, taskToken, doing.Details()...)
}
