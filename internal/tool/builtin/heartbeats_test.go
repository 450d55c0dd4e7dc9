package builtin_test

import (
	"testing"

	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/tool/builtin"
)

func TestPauseHeartbeats(t *testing.T) {
	t.Parallel()
	for arguments, want := range map[string]int{
		`{}`: 2, ``: 2, `{"minutes":7}`: 7, `{"minutes":0}`: 1, `{"minutes":-3}`: 1, `{"minutes":61}`: 60, `{"minutes":1e3}`: 2,
		`{"minutes":2.5}`: 2, `{"minutes":"ten"}`: 2, `{"minutes":"9"}`: 9, `{"minutes":null}`: 2, `{"minutes":99999999999999999999}`: 2, `[]`: 2,
	} {
		result := builtin.PauseHeartbeats().Run(t.Context(), tool.Call{Arguments: []byte(arguments)})
		if result.Pause != want || result.Status != tool.StatusSuccess {
			t.Errorf("%s: %+v, want %d minutes", arguments, result, want)
		}
	}
	result := builtin.PauseHeartbeats().Run(t.Context(), tool.Call{Arguments: []byte(`{"minutes":5}`)})
	if want := "Heartbeats paused for 5 minute(s). I'll stop thinking for now."; result.Content != want {
		t.Errorf("the model is told %q, want %q", result.Content, want)
	}
}
