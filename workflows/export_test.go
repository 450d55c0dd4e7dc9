package workflows

import "slices"

// SteeringSignals returns the names of the signals that workflows take from people and from each other.
func SteeringSignals() []string { return slices.Clone(steerNames) }
