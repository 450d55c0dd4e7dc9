package decide

import (
	"bytes"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/face/cli/local"
	"github.com/inquest-dev/inquest/internal/face/clitest"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
)

// Expired questions no longer need people. Questions of a paused investigation do and are the least urgent.
func TestQuestionsThatHaveExpired(t *testing.T) {
	t.Parallel()
	open, expired, paused := clitest.Asking()[0], clitest.Asking()[1], clitest.Asking()[1]
	expired.Expires, paused.ID, paused.Expires = time.Now().Add(-time.Second), "q3", time.Time{}
	waits := record.Waits{Questions: []record.Question{expired, paused, open}}
	got := urgent([]record.Waiting{{WorkflowID: "w", Waits: waits}})
	if len(got) != 2 || got[0].Name != open.ID || got[1].Name != "q3" || expiresIn(got[1].Expires) != "paused" {
		t.Errorf("%+v", got)
	}
}

// If the store lacks the arguments of a call, there is an error, but no call is hidden.
func TestApprovalsWithoutTheirArguments(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "inquest.db")
	st, err := store.Open(t.Context(), store.Options{Path: path})
	if err == nil {
		err = st.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, asJSON := range []bool{false, true} {
		var out bytes.Buffer
		c := &base.CLI{
			Out: &out, Err: io.Discard, Getenv: func(string) string { return "" }, Full: local.Full(), Flags: base.Flags{Store: path},
			JSON: asJSON,
		}
		c.Client = sync.OnceValue(c.Connect)
		calls := thingsIn(record.Waiting{Waits: record.Waits{Approvals: clitest.Risky("w")}})
		calls[0].ArgumentsRef = "absent"
		err := printThings(t.Context(), c, calls)
		if err == nil || !strings.Contains(err.Error(), "the arguments of collect/LogAgent/c1_0") ||
			!strings.Contains(out.String(), "k8s.scale") {
			t.Errorf("JSON: %t, error %v, printed %s", asJSON, err, out.String())
		}
		if err := c.Client().Close(); err != nil {
			t.Error(err)
		}
	}
}
