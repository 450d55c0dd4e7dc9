package inquesttest

import (
	"reflect"
	"testing"

	"github.com/inquest-dev/inquest"
)

// Every field of a request reaches the workflow: there is a field of that name, and it is set.
func TestStartedForgetsNothing(t *testing.T) {
	t.Parallel()
	var req inquest.Request
	all := reflect.ValueOf(&req).Elem()
	for i := range all.NumField() {
		switch field := all.Field(i); field.Kind() {
		case reflect.String:
			field.SetString("x")
		case reflect.Bool:
			field.SetBool(true)
		default:
			t.Fatalf("%s is of a kind that this test does not know", all.Type().Field(i).Name)
		}
	}
	made, err := started(req)
	if err != nil {
		t.Fatal(err)
	}
	for i := range all.NumField() {
		name := all.Type().Field(i).Name
		if field := reflect.ValueOf(made).FieldByName(name); name != "WorkflowID" && (!field.IsValid() || field.IsZero()) {
			t.Errorf("%s is forgotten", name)
		}
	}
	if made, err = started(inquest.Request{Chain: "x"}); err != nil || made.Data != nil {
		t.Errorf("data %s of a request without, %v", made.Data, err)
	}
}
