package doctor

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/circuit"
	"github.com/inquest-dev/inquest/internal/knowledge/pack"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/tool"
)

// An open circuit is reported, unless its model has been unused for long.
func TestOpenCircuits(t *testing.T) {
	t.Parallel()
	opts := store.Options{Path: filepath.Join(t.TempDir(), "inquest.db")}
	s, err := store.Open(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	for model, opened := range map[string]time.Time{"gone": time.Now().Add(-2 * time.Hour), "dead": time.Now(), "well": {}} {
		key := circuit.Key{Provider: "p", Model: model}
		opens := func(s *circuit.State, _ time.Time) {
			for range 3 {
				s.Failed(opened, circuit.Failure{Error: "p: HTTP 503"})
			}
			if model == "well" {
				s.Answered(opened, circuit.Conversation{})
			}
		}
		if err := s.ChangeCircuit(t.Context(), key, opens); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	found := Examination{Store: opts}.database(t.Context()).findings
	if last := found[len(found)-1]; len(found) != 2 || last.What != "circuit of p (dead)" || !strings.HasSuffix(last.Found, "p: HTTP 503") {
		t.Errorf("found %+v", found)
	}
}

func TestSkewed(t *testing.T) {
	t.Parallel()
	for ahead, want := range map[time.Duration]string{
		7 * time.Second:  "the clock of the database is 7s ahead of the clock here",
		-7 * time.Second: "the clock of the database is 7s behind the clock here",
	} {
		if got := skewed("the database", ahead).Found; got != want {
			t.Errorf("%s: %q, want %q", ahead, got, want)
		}
	}
}

// A health check passes only with the expected answer, because some servers do not mark errors.
func TestFailureOf(t *testing.T) {
	t.Parallel()
	check := pack.Check{Begins: "Found"}
	for _, tt := range []struct {
		result tool.Result
		want   string
	}{
		{tool.Result{Status: tool.StatusSuccess, Content: "Found 2 shards"}, ""},
		{tool.Result{Status: tool.StatusSuccess, Content: "Error: ECONNREFUSED"}, "unexpected answer: Error: ECONNREFUSED"},
		{tool.Result{Status: tool.StatusError, Content: "Found no route"}, "Found no route"},
	} {
		if got := failureOf(check, tt.result); got != tt.want {
			t.Errorf("%+v: got %q, want %q", tt.result, got, tt.want)
		}
	}
}
