package webhook

import (
	"maps"
	"slices"
)

// A Format describes the alerts of a known system.
type Format struct {
	Mapping Mapping
	Scheme  string // signature scheme; empty means that it does not sign
}

// severities maps common severity names to priorities.
var severities = map[string]int{
	"critical": 1, "page": 1, "disaster": 1, "p1": 1, "high": 2, "error": 2, "p2": 2, "warning": 3, "medium": 3, "p3": 3,
	"low": 4, "p4": 4, "info": 5, "none": 5, "p5": 5,
}

// prometheus maps the format of Alertmanager (version "4"), which Grafana has adopted.
var prometheus = Mapping{
	Alerts: "alerts", AlertType: []string{"labels.alertname"}, Fingerprint: []string{"fingerprint", "labels"},
	Group: []string{"$.groupKey"}, GroupName: []string{"$.groupLabels.alertname", "$.groupKey"},
	Status: []string{"status"}, StartsAt: []string{"startsAt"}, Resolved: []string{"resolved"},
	Title: []string{"annotations.summary", "annotations.description", "labels.alertname"}, Severity: []string{"labels.severity"},
	Priorities: severities,
}

// formats holds the senders whose webhooks need no mapping.
var formats = map[string]Format{
	"alertmanager": {Mapping: prometheus},
	"grafana":      {Mapping: prometheus, Scheme: "grafana"},
	// V3 webhooks. Each event is about one incident.
	"pagerduty": {Scheme: "pagerduty", Mapping: Mapping{
		AlertType: []string{"event.data.service.summary"}, Fingerprint: []string{"event.data.id"},
		Group: []string{"event.data.service.id"}, GroupName: []string{"event.data.service.summary"},
		Status: []string{"event.event_type"}, StartsAt: []string{"event.occurred_at"},
		Firing: []string{"incident.triggered", "incident.reopened"}, Resolved: []string{"incident.resolved"}, Ignored: []string{"*"},
		Title: []string{"event.data.title"}, Severity: []string{"event.data.urgency"}, Priority: []string{"event.data.priority.summary"},
		Data: "event.data", Priorities: severities,
	}},
	// CloudWatch alarms through Amazon SNS, whose message is the alarm as JSON text. The second paths are for EventBridge's "CloudWatch
	// Alarm State Change".
	"sns": {Mapping: Mapping{
		AlertType:   []string{"AlarmName", "detail.alarmName"},
		Fingerprint: []string{"AlarmArn", "resources[0]", "AlarmName"},
		Group:       []string{"Trigger.Namespace", "AlarmName", "detail.alarmName"},
		Status:      []string{"NewStateValue", "detail.state.value"},
		StartsAt:    []string{"StateChangeTime", "detail.state.timestamp"},
		Firing:      []string{"ALARM"}, Resolved: []string{"OK"}, Ignored: []string{"INSUFFICIENT_DATA"},
		Title: []string{"AlarmDescription", "NewStateReason", "detail.state.reason", "AlarmName"}, Priorities: severities,
	}},
}

// FormatOf returns the format with a name.
func FormatOf(name string) (Format, bool) {
	f, ok := formats[name]
	return f, ok
}

// FormatNames returns the names of all formats.
func FormatNames() []string { return slices.Sorted(maps.Keys(formats)) }
