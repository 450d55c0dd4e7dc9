package inquesttest

import (
	"reflect"
	"testing"

	"github.com/inquest-dev/inquest"
)

// TestStartedForgetsNothing checks that every field of a request changes the workflow's input.
func TestStartedForgetsNothing(t *testing.T) {
	t.Parallel()
	none, err := started(inquest.Request{Chain: "x"})
	if err != nil || none.Data != nil {
		t.Fatalf("data %s of a request without, %v", none.Data, err)
	}
	some := inquest.Request{
		Chain: "y", AlertType: "y", Data: "y", AllowEmpty: true, Attach: true, Provider: "y", Runbook: "y", UseMock: true, RequestedBy: "y",
		Servers: []inquest.ServerTools{{Name: "y"}}, NativeTools: map[string]bool{"google_search": true},
		Budgets: inquest.RequestBudgets{MaxPasses: 2}, Priority: 2, Tenant: "y", Session: "y", Metadata: map[string]string{"y": "y"},
		Fingerprint: "y", Again: true,
	}
	for i := range reflect.ValueOf(some).NumField() {
		name := reflect.TypeOf(some).Field(i).Name
		req := inquest.Request{Chain: "x"}
		reflect.ValueOf(&req).Elem().Field(i).Set(reflect.ValueOf(some).Field(i))
		made, err := started(req)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if name != "WorkflowID" && reflect.DeepEqual(made, none) {
			t.Errorf("%s is forgotten, or this test does not set it", name)
		}
	}
}
