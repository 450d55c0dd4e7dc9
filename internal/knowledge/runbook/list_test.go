package runbook_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/inquest-dev/inquest/internal/knowledge/runbook"
	"github.com/inquest-dev/inquest/internal/knowledge/runbook/runbooktest"
)

const (
	tree     = "https://github.com/acme/ops/tree/main/runbooks"
	contents = "api.github.com/repos/acme/ops/contents/"
)

// contentsAPI answers like GitHub for the folders in testdata/contents.txtar.
func contentsAPI(t *testing.T) map[string]http.HandlerFunc {
	t.Helper()
	archive, err := txtar.ParseFile("testdata/contents.txtar")
	if err != nil {
		t.Fatal(err)
	}
	answers := map[string]http.HandlerFunc{}
	for _, f := range archive.Files {
		answers[contents+f.Name] = func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json; charset=utf-8")
			if f.Name == "limited" {
				w.WriteHeader(http.StatusForbidden)
			}
			_, _ = w.Write(f.Data)
		}
	}
	return answers
}

func listing(repository string) runbook.Settings {
	s := settings()
	s.Repository = repository
	return s
}

func TestList(t *testing.T) {
	t.Parallel()
	all := []string{"runbooks/HighCPU.md", "runbooks/databases/Disk full.md", "runbooks/kube-pod-crash-looping.MD"}
	for name, tt := range map[string]struct {
		labels, want []string
	}{
		"all":                   {nil, all},
		"by the alert's name":   {[]string{"alertname=KubePodCrashLooping", "severity=page"}, all[2:]},
		"by words":              {[]string{"alertname=NodeFilesystemFull", "disk=sda", "team=databases"}, all[1:2]},
		"the best first":        {[]string{"alertname=DiskFull", "component=kube_pod_crash"}, []string{all[1], all[2]}},
		"more words first":      {[]string{"full cpu disk"}, []string{all[1], all[0]}},
		"keys are not searched": {[]string{"disk=sda"}, nil},
		"no word":               {[]string{"alertname=Watchdog", ""}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := &recorder{answers: contentsAPI(t)}
			world := &runbooktest.World{Handler: server}
			found, err := world.Fetcher(t, func() runbook.Settings { return listing(tree) }).List(t.Context(), "", tt.labels)
			if err != nil {
				t.Fatal(err)
			}
			var paths []string
			for _, f := range found {
				paths = append(paths, f.Path)
			}
			if diff := cmp.Diff(tt.want, paths); diff != "" {
				t.Errorf("runbooks (-want +got):\n%s", diff)
			}
			bearer := "Bearer " + token
			if diff := cmp.Diff([]seen{
				{"api.github.com", "/repos/acme/ops/contents/runbooks?ref=main", bearer},
				{"api.github.com", "/repos/acme/ops/contents/runbooks/databases?ref=main", bearer},
				{"api.github.com", "/repos/acme/ops/contents/runbooks/databases/empty?ref=main", bearer},
			}, server.seen); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}

// TestListed checks that what List returns can be fetched, with and without a branch.
func TestListed(t *testing.T) {
	t.Parallel()
	answers := contentsAPI(t)
	answers[contents] = answers[contents+"runbooks/databases"]
	answers[contents+"empty"] = says("[]")
	answers["raw.githubusercontent.com/acme/ops/main/runbooks/databases/Disk full.md"] = says("of main")
	answers["raw.githubusercontent.com/acme/ops/HEAD/Disk full.md"] = says("of the default branch")
	for repository, want := range map[string]string{
		tree + "/databases/": "of main", "https://www.github.com/acme/ops.git": "of the default branch",
	} {
		world := &runbooktest.World{Handler: &recorder{answers: answers}}
		fetcher := world.Fetcher(t, func() runbook.Settings { return listing(repository) })
		found, err := fetcher.List(t.Context(), "", nil)
		if err != nil || len(found) != 1 {
			t.Fatalf("%s: %v, %v", repository, found, err)
		}
		if text, err := fetcher.Fetch(t.Context(), "", found[0].URL); err != nil || text != want {
			t.Errorf("%s: %q, %v", found[0].URL, text, err)
		}
	}
}

func TestListErrors(t *testing.T) {
	t.Parallel()
	deep := `[{"name":"a","type":"dir"},{"name":"b","type":"dir"}]`
	for name, tt := range map[string]struct {
		repository string
		settings   func(*runbook.Settings)
		answer     http.HandlerFunc // of all folders; nil means those of GitHub
		want       string
	}{
		"no repository":    {"", nil, nil, runbook.ErrNoRepository.Error()},
		"another host":     {"https://docs.example.com/acme/ops", nil, nil, "must be that of a repository"},
		"an owner":         {"https://github.com/acme", nil, nil, "must be that of a repository"},
		"an issue":         {"https://github.com/acme/ops/issues/1", nil, nil, "must be that of a repository"},
		"outside":          {tree + "/../../../../user/repos", nil, nil, "must be that of a repository"},
		"outside, escaped": {tree + "/%2e%2e/%2e%2e", nil, nil, "must be that of a repository"},
		"no https":         {"http://github.com/acme/ops", nil, nil, "only https"},
		"a forbidden host": {tree, func(s *runbook.Settings) { s.Domains = []string{"docs.example.com"} }, nil, `"github.com" is not in`},
		"only raw files": {"https://github.com/acme/ops", func(s *runbook.Settings) { s.Domains = []string{"raw.githubusercontent.com"} }, nil,
			`"github.com" is not in`},
		"a file":      {"https://github.com/acme/ops/blob/main/file", nil, nil, "not a list of files"},
		"unknown":     {tree + "/none", func(s *runbook.Settings) { s.Token = "" }, nil, "404 Not Found. Private files need"},
		"too often":   {"https://github.com/acme/ops/tree/main/limited", func(s *runbook.Settings) { s.Token = "" }, nil, "60 requests an hour"},
		"with token":  {"https://github.com/acme/ops/tree/main/limited", nil, nil, "403 Forbidden"},
		"no end":      {tree, nil, says(deep), "more than 50 folders"},
		"large":       {tree, nil, says("[" + strings.Repeat(" ", 4<<20) + "]"), "larger than 4096 KB"},
		"elsewhere":   {tree, nil, redirects("https://evil.example/"), "redirects to an address that is not allowed"},
		"no list":     {tree, nil, says("{}"), "not a list of files"},
		"a page":      {tree, nil, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Type", "text/html") }, "HTML page"},
		"compression": {tree, nil, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Encoding", "gzip") }, "compressed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := listing(tt.repository)
			if tt.settings != nil {
				tt.settings(&s)
			}
			var handler http.Handler = tt.answer
			if tt.answer == nil {
				handler = &recorder{answers: contentsAPI(t)}
			}
			world := &runbooktest.World{Handler: handler}
			found, err := world.Fetcher(t, func() runbook.Settings { return s }).List(t.Context(), "", nil)
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), token) {
				t.Errorf("List returned %v, %v; want %q", found, err, tt.want)
			}
		})
	}
}

// TestListOnPrivateNetwork checks that addresses are checked as for a fetch.
func TestListOnPrivateNetwork(t *testing.T) {
	t.Parallel()
	world := &runbooktest.World{
		Handler: &recorder{answers: contentsAPI(t)}, Addresses: func(string, int) []string { return []string{"10.0.0.1"} },
	}
	_, err := world.Fetcher(t, func() runbook.Settings { return listing(tree) }).List(t.Context(), "", nil)
	if err == nil || !strings.Contains(err.Error(), "private or local") || len(world.Dialed()) > 0 {
		t.Errorf("List returned %v after %v", err, world.Dialed())
	}
}

// TestListSlowly checks that a server that never ends its answers is given up, and that the caller can give up earlier.
func TestListSlowly(t *testing.T) {
	t.Parallel()
	drip := func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			_, _ = w.Write([]byte(" "))
			_ = http.NewResponseController(w).Flush()
			select {
			case <-r.Context().Done():
			case <-time.After(time.Millisecond):
			}
		}
	}
	world := &runbooktest.World{Handler: http.HandlerFunc(drip), Within: 20 * time.Millisecond}
	_, err := world.Fetcher(t, func() runbook.Settings { return listing(tree) }).List(t.Context(), "", nil)
	if err == nil || !strings.Contains(err.Error(), "did not arrive within 80ms") {
		t.Errorf("List returned %v", err)
	}
	patient := &runbooktest.World{Handler: http.HandlerFunc(drip)}
	errEnough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errEnough)
	if _, err = patient.Fetcher(t, func() runbook.Settings { return listing(tree) }).List(ctx, "", nil); !errors.Is(err, errEnough) {
		t.Errorf("List returned %v", err)
	}
}

// TestListIsCached checks that a list is kept for the time to live, apart from runbooks, and an empty one as well.
func TestListIsCached(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 17, 14, 0, 0, 0, time.UTC)
	answers := contentsAPI(t)
	answers["github.com/acme/ops/tree/main/runbooks/databases/empty"] = says("a page")
	server := &recorder{answers: answers}
	world := &runbooktest.World{Handler: server, Now: func() time.Time { return now }}
	s := listing(tree + "/databases/empty")
	s.CacheTTL = time.Minute
	fetcher := world.Fetcher(t, func() runbook.Settings { return s })
	for _, step := range []struct {
		after time.Duration
		want  int // requests so far
	}{{0, 1}, {59 * time.Second, 1}, {2 * time.Second, 2}} {
		now = now.Add(step.after)
		if found, err := fetcher.List(t.Context(), "", nil); err != nil || len(found) != 0 || len(server.seen) != step.want {
			t.Errorf("%v, %v after %d requests, want %d", found, err, len(server.seen), step.want)
		}
	}
	if text, err := fetcher.Fetch(t.Context(), "", s.Repository); err != nil || text != "a page" {
		t.Errorf("Fetch returned %q, %v", text, err)
	}
}
