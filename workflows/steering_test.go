package workflows_test

import (
	"slices"
	"testing"

	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/workflows"
)

// People can send every signal that steers, except those that only workflows send to each other.
func TestPeopleCanSendAllSignals(t *testing.T) {
	t.Parallel()
	var offered []string
	for _, signal := range system.Signals {
		offered = append(offered, signal.Name)
	}
	want := slices.DeleteFunc(workflows.SteeringSignals(), func(name string) bool { return name == workflows.SignalLimits })
	slices.Sort(offered)
	slices.Sort(want)
	if !slices.Equal(offered, want) {
		t.Errorf("people can send %v, and workflows take %v", offered, want)
	}
}
