package remote

import (
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/system"
)

// Every signal is sent with each field of its body.
func TestSteerSendsTheBody(t *testing.T) {
	t.Parallel()
	for _, signal := range system.Signals {
		t.Run(signal.Name, func(t *testing.T) {
			t.Parallel()
			want := filled(signal.Body)
			var sent string
			r := New("http://127.0.0.1", "", false)
			r.HTTP.Transport = wire(func(asked *http.Request) *http.Response {
				if asked.Body != nil {
					body, err := io.ReadAll(asked.Body)
					if err != nil {
						t.Error(err)
					}
					sent = string(body)
				}
				return &http.Response{
					StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
					Body: io.NopCloser(strings.NewReader(anything)),
				}
			})
			if _, err := r.Steer(t.Context(), "i", signal.Name, want); err != nil {
				t.Fatal(err)
			}
			if signal.Body == nil {
				if sent != "" && sent != "{}" {
					t.Errorf("sent %s without having a body", sent)
				}
				return
			}
			got := reflect.New(reflect.TypeOf(signal.Body))
			if err := json.Unmarshal([]byte(sent), got.Interface()); err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(want, got.Elem().Interface()); diff != "" {
				t.Errorf("-given +sent:\n%s", diff)
			}
		})
	}
}

// A request to start an investigation is sent with each field, apart from what it takes from elsewhere.
func TestStartSendsTheRequest(t *testing.T) {
	t.Parallel()
	want := filled(agent.Request{}).(agent.Request)
	want.Data, want.DataRef, want.By, want.RequestedBy, want.Schedule = nil, "", "", "", nil
	body, err := json.Marshal(bodyOf(system.Start{Request: want}))
	var sent system.StartBody
	if err = cmp.Or(err, json.Unmarshal(body, &sent)); err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(want, sent.Request()); diff != "" {
		t.Errorf("-given +sent:\n%s", diff)
	}
}

// filled returns a body of the same type with a value in each field.
func filled(body any) any {
	if body == nil {
		return nil
	}
	out := reflect.New(reflect.TypeOf(body)).Elem()
	var fill func(reflect.Value)
	fill = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Struct:
			for n := range v.NumField() {
				fill(v.Field(n))
			}
		case reflect.Pointer:
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem())
		case reflect.String:
			v.SetString("x")
		case reflect.Bool:
			v.SetBool(true)
		case reflect.Int, reflect.Int64:
			v.SetInt(7)
		case reflect.Float64:
			v.SetFloat(7)
		case reflect.Slice:
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			fill(v.Index(0))
		case reflect.Map:
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fill(key)
			fill(value)
			v.Set(reflect.MakeMap(v.Type()))
			v.SetMapIndex(key, value)
		case reflect.Uint8: // of JSON
			v.SetUint('7')
		default:
			panic("no value for a field of the type " + v.Type().String())
		}
	}
	fill(out)
	return out.Interface()
}
