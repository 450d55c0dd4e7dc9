// Package history reads histories of workflows, for tests and the benchmark.
package history

import (
	"strings"

	historypb "go.temporal.io/api/history/v1"
)

// IsMarker reports whether the event is the marker of a call that was made within a workflow
// task, with a summary that contains the given text.
func IsMarker(e *historypb.HistoryEvent, summary string) bool {
	return e.GetMarkerRecordedEventAttributes() != nil && strings.Contains(string(e.GetUserMetadata().GetSummary().GetData()), summary)
}

// AsksModel reports whether a model call begins with the event, or was made within the workflow
// task that recorded it. A local call that failed and continued as a regular activity counts once, with that activity.
func AsksModel(e *historypb.HistoryEvent) bool {
	return e.GetActivityTaskScheduledEventAttributes().GetActivityType().GetName() == "Generate" ||
		IsMarker(e, " · iteration ") && e.GetMarkerRecordedEventAttributes().GetFailure() == nil
}
