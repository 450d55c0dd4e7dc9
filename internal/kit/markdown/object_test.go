package markdown_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/kit/markdown"
)

// TestReadable reads the cases that the page's readable is tested with too.
func TestReadable(t *testing.T) {
	t.Parallel()
	var tests []struct{ Name, Text, Want string }
	file, err := os.ReadFile("testdata/readable.json")
	if err == nil {
		err = json.Unmarshal(file, &tests)
	}
	if err != nil || len(tests) == 0 {
		t.Fatal(len(tests), err)
	}
	for _, test := range tests {
		t.Run(test.Name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.Want, markdown.Readable(test.Text)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestReadableKeepsNumbers checks numbers that are too large for a float. Browsers keep them too, but not every Node that runs the
// page's tests.
func TestReadableKeepsNumbers(t *testing.T) {
	t.Parallel()
	if got := markdown.Readable(`{"trace_id":1915883588174806058}`); got != "## Trace id\n\n1915883588174806058\n" {
		t.Error(got)
	}
}
