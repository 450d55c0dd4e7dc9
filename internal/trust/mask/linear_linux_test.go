package mask

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/inquest-dev/inquest/internal/kit/processtest"
)

// Time is linear in the text: sixteen times the text takes about sixteen times as long, and 256 times if a scanner is quadratic.
// The test measures this thread's CPU time, so other load does not matter.
func TestLinear(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	m := masker(t, "all")
	const small, factor, tries = 4 << 10, 16, 4
	took := func(text string) time.Duration {
		start := processtest.ThreadTime(t)
		if _, err := m.Text(context.Background(), text); err != nil {
			t.Errorf("%q: %v", text[:min(len(text), 40)], err)
		}
		return processtest.ThreadTime(t) - start
	}
	slowest, most := "", time.Duration(0)
	check := func(t rapid.TB, before, unit string) {
		fastest := [2]time.Duration{time.Hour, time.Hour}
		for range tries {
			fastest[0] = min(fastest[0], took(before+strings.Repeat(unit, small/len(unit))))
			fastest[1] = min(fastest[1], took(before+strings.Repeat(unit, factor*small/len(unit))))
			if fastest[1] > most {
				slowest, most = before+unit, fastest[1]
			}
			if fastest[1] < 4*factor*fastest[0] {
				return
			}
		}
		t.Errorf("%q + %q …: %v, of %d times the text %v", before, unit, fastest[0], factor, fastest[1])
	}
	all := slices.Concat(units, parts())
	for _, unit := range all {
		check(t, "", unit)
	}
	for _, unit := range units {
		check(t, "kind: Secret data {\n", unit)
	}
	rapid.Check(t, func(r *rapid.T) {
		check(r, "", strings.Join(rapid.SliceOfN(rapid.SampledFrom(all), 2, 5).Draw(r, "unit"), ""))
	})
	t.Logf("slowest: %q, %v for %d KB", slowest, most, factor*small>>10)
}
