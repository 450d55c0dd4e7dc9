package evidence

import "testing"

// TestFind: a quotation begins and ends at boundaries of words and numbers.
func TestFind(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text, quotation string
		found           bool
	}{
		{"the disk is full", "disk is full", true},
		{"the disk is fuller", "disk is full", false},
		// The beginning of a number is missing.
		{"1.5 GB of memory", "5 GB of memory", false},
		{"1.5 GB of memory", ".5 GB of memory", false},
		{"10,500 errors in the last hour", "500 errors in the last hour", false},
		{"10’500 errors", "500 errors", false},
		{"10_500 errors", "500 errors", false},
		{"12:14:02 it broke", "14:02 it broke", false},
		{"2026-11-22 it broke", "22 it broke", false},
		{"0/1 CrashLoopBackOff", "1 CrashLoopBackOff", false},
		{"delta -5 points", "5 points", false},
		{"delta −5 points", "5 points", false},
		{`{"delta":-5,"of":1}`, `5,"of":1`, false},
		{"-5 points", "5 points", false},
		// Its end is missing.
		{"error rate 1.5%", "error rate 1", false},
		{"error rate 1.5%", "error rate 1.", false},
		{"errors: 10,500", "errors: 10", false},
		{"broke at 12:14:02", "broke at 12:14", false},
		{"broke on 2026-11-22", "broke on 2026", false},
		// It is complete.
		{"It used 1.5 GB of memory.", "1.5 GB of memory", true},
		{"delta -5 points", "-5 points", true},
		{"The error rate was 1. Then it rose", "error rate was 1", true},
		{"It was 1. 5 GB of memory", "5 GB of memory", true},
		{"shards 1, 2 and 3 failed", "2 and 3 failed", true},
		{"shards 1, 2 and 3 failed", "shards 1", true},
		{"web-1 is down", "1 is down", true},
		{`{"errors":500,"of":"web"}`, `500,"of":"web"`, true},
		{"main.go:12: undefined", "12: undefined", true},
		{"2026-11-22 12:14:02 it broke", "12:14:02 it broke", true},
		// First a partial match, then a complete one.
		{"1.5 GB of memory, then 5 GB of memory", "5 GB of memory", true},
	} {
		if _, _, found := fold(tt.text).find(tt.quotation); found != tt.found {
			t.Errorf("%q in %q: found %t", tt.quotation, tt.text, found)
		}
	}
}
