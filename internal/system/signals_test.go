package system

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/workflows"
)

// A payload survives the way through the API: it becomes a request, and the request becomes the payload again.
func TestSignalsTravel(t *testing.T) {
	t.Parallel()
	for _, signal := range Signals {
		want := signal.Payload("look at the deploy", Target{Stage: "dig", Agent: "A"}, "ada")
		request, err := signal.Request("w:1", want)
		if err != nil {
			t.Fatal(err)
		}
		got := any(workflows.By{By: "ada"})
		switch in := request.(type) {
		case Steer[GuideBody]:
			got = in.Body.Payload("ada")
		case Steer[Target]:
			got = in.Body.Payload("ada")
		case Steer[SleepBody]:
			got = in.Body.Payload("ada")
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-sent +received):\n%s", signal.Name, diff)
		}
		if signal.HasText() != (cmp.Diff(want, signal.Payload("", Target{Stage: "dig", Agent: "A"}, "ada")) != "") ||
			signal.HasTarget() != (cmp.Diff(want, signal.Payload("look at the deploy", Target{}, "ada")) != "") {
			t.Errorf("%s: has a text %t, has a target %t, sends %+v", signal.Name, signal.HasText(), signal.HasTarget(), want)
		}
	}
}
