// Package examples contains examples for trying out Inquest.
package examples

import "embed"

// SampleIncident holds the folder sample-incident: logs, metrics and Kubernetes
// objects of one incident (see its README.md).
//
//go:embed sample-incident
var SampleIncident embed.FS
