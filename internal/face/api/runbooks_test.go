package api

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/face/remote"
	"github.com/inquest-dev/inquest/internal/knowledge/runbook"
	"github.com/inquest-dev/inquest/internal/knowledge/runbook/runbooktest"
)

// TestRunbooks: the runbooks of the repository are listed and searched over HTTP, by everyone with a token for the project.
func TestRunbooks(t *testing.T) {
	t.Parallel()
	s := runbook.Settings{Domains: runbook.DefaultDomains(), Repository: "https://github.com/acme/ops"}
	status := http.StatusOK
	github := &runbooktest.World{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(`[{"name":"high-cpu.md","type":"file"},{"name":"disk.md","type":"file"},{"name":"a.txt","type":"file"}]`))
	})}
	w := newWorld(t)
	opts := *w.api.opts
	opts.Runbooks = github.Fetcher(t, func() runbook.Settings { return s })
	served, err := New(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(served.Handler())
	t.Cleanup(server.Close)
	for _, tt := range []struct {
		labels []string
		want   []runbook.Found
	}{
		{nil, []runbook.Found{
			{URL: "https://github.com/acme/ops/blob/HEAD/disk.md", Path: "disk.md"},
			{URL: "https://github.com/acme/ops/blob/HEAD/high-cpu.md", Path: "high-cpu.md"},
		}},
		{[]string{"severity=page", "alertname=HighCPU"}, []runbook.Found{
			{URL: "https://github.com/acme/ops/blob/HEAD/high-cpu.md", Path: "high-cpu.md"},
		}},
		{[]string{"alertname=Watchdog"}, []runbook.Found{}},
	} {
		got, err := remote.New(server.URL, secret("viewer"), false).Runbooks(t.Context(), "", tt.labels)
		if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
			t.Errorf("%v: %v\n%s", tt.labels, err, diff)
		}
	}
	_, err = remote.New(server.URL, "", false).Runbooks(t.Context(), "", nil)
	if err == nil || !strings.Contains(err.Error(), "requires a token") {
		t.Errorf("without a token: %v", err)
	}
	s.Projects = []string{"shop"}
	_, err = remote.New(server.URL, secret("viewer"), false).Runbooks(t.Context(), "", nil)
	if err == nil || !strings.Contains(err.Error(), "project payments "+runbook.ErrNoRepository.Error()) {
		t.Errorf("another project's repository: %v", err)
	}
	s.Projects, status = nil, http.StatusForbidden
	_, err = remote.New(server.URL, secret("viewer"), false).Runbooks(t.Context(), "", nil)
	if err == nil || !strings.Contains(err.Error(), "GitHub allows 60 requests an hour") {
		t.Errorf("after too many requests: %v", err)
	}
	s.Repository = ""
	_, err = remote.New(server.URL, secret("viewer"), false).Runbooks(t.Context(), "", nil)
	if err == nil || !strings.Contains(err.Error(), runbook.ErrNoRepository.Error()) {
		t.Errorf("without a repository: %v", err)
	}
}
