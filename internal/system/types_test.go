package system

import (
	"reflect"
	"strconv"
	"testing"

	"github.com/inquest-dev/inquest/workflows"
)

// The schemas promise what the workflows accept.
func TestTextLimits(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		body  any
		field string
		want  int
	}{
		{DecideBody{}, "Ask", workflows.MaxReason},
		{DecideBody{}, "Reason", workflows.MaxReason},
		{AnswerBody{}, "Text", workflows.MaxAnswer},
		{GuideBody{}, "Text", workflows.MaxGuide},
	} {
		of := reflect.TypeOf(test.body)
		field, _ := of.FieldByName(test.field)
		if got := field.Tag.Get("maxLength"); got != strconv.Itoa(test.want) {
			t.Errorf("%s.%s: maxLength %s, want %d", of.Name(), test.field, got, test.want)
		}
	}
}
