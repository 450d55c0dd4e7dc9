package store

import (
	"reflect"
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// A field added to a record needs a column.
func TestColumnsAreComplete(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		record  any
		columns string
		fields  []any
	}{
		"investigation": {record.Investigation{}, investigationColumns, investigationFields(&record.Investigation{})},
		"stage":         {record.Stage{}, stageColumns, stageFields(&record.Stage{})},
		"execution":     {record.Execution{}, executionColumns, executionFields(&record.Execution{})},
		"live":          {transcript.Live{}, liveColumns, liveFields(&transcript.Live{})},
		"entry":         {transcript.Entry{}, entryColumns, entryFields(&transcript.Entry{})},
	}
	inOneColumn := map[reflect.Type]bool{reflect.TypeFor[transcript.Body](): true}
	for name, test := range tests {
		want := leaves(reflect.TypeOf(test.record), inOneColumn)
		if n := strings.Count(test.columns, ",") + 1; n != want || len(test.fields) != want {
			t.Errorf("%s: %d fields, %d columns, %d pointers", name, want, n, len(test.fields))
		}
	}
}

// leaves counts the fields of a struct, including those of embedded structs and writers.
func leaves(of reflect.Type, whole map[reflect.Type]bool) (n int) {
	for i := range of.NumField() {
		field := of.Field(i)
		if of == reflect.TypeFor[record.Execution]() && field.Name == "ID" {
			continue // readers set it
		}
		if field.Name == "Requires" {
			continue // a condition of the write
		}
		spread := field.Anonymous || field.Type == reflect.TypeFor[transcript.Writer]()
		if spread && !whole[field.Type] {
			n += leaves(field.Type, whole)
		} else {
			n++
		}
	}
	return n
}
