//go:build unix

package packs

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/inquest-dev/inquest/internal/knowledge/pack"
	"github.com/inquest-dev/inquest/internal/store/postgrestest"
)

// system is what a pack's server reads from.
type system struct {
	address string
	env     map[string]string // additional variables of the server
	stop    func()
	replace func() // puts another system at its address; nil if that cannot be
}

// nowhere is a system that refuses connections.
var nowhere = system{address: "http://127.0.0.1:1"}

// answers are what the systems answer to the health checks, by the ends of paths. Each answer has the form of the system's own API.
var answers = map[string]string{
	// prometheus.io/docs/prometheus/latest/querying/api
	"/api/v1/query": `{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1795860000,"1"]}]}}`,
	// elastic.co/docs/api/doc/elasticsearch/operation/operation-cat-shards
	"/_cat/shards": `[{"index":"logs","shard":"0","prirep":"p","state":"STARTED","docs":"1","store":"4kb","ip":"127.0.0.1","node":"n"}]`,
	// docs.gitlab.com/api/projects
	"/projects": `[]`,
	// grafana.com/docs/grafana/latest/developers/http_api/data_source
	"/api/datasources": `[{"id":1,"uid":"loki1","orgId":1,"name":"Loki","type":"loki","access":"proxy","url":"http://loki","isDefault":true}]`,
	// kubernetes.io/docs/reference/kubernetes-api
	"/api":  `{"kind":"APIVersions","versions":["v1"]}`,
	"/apis": `{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`,
	"/api/v1": `{"kind":"APIResourceList","groupVersion":"v1",
		"resources":[{"name":"pods","namespaced":true,"kind":"Pod","verbs":["list"]}]}`,
	"/api/v1/namespaces/default/pods": `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}`,
	// docs.slack.dev/reference/methods
	"/client.userBoot": `{"ok":true}`,
	"/auth.test":       `{"ok":true,"url":"https://example.slack.com/","team":"example","user":"ada","team_id":"T1","user_id":"U1"}`,
	"/users.list": `{"ok":true,"members":[{"id":"U02ADA","name":"ada","real_name":"Ada Park"},
		{"id":"U03BEN","name":"ben","real_name":"Ben Roy"}],"response_metadata":{"next_cursor":""}}`,
	"/conversations.list": `{"ok":true,"channels":[
		{"id":"C0INC","name":"incidents","name_normalized":"incidents","is_channel":true,"is_member":true}],
		"response_metadata":{"next_cursor":""}}`,
	"/search.all": `{"ok":true,"query":"checkout","files":{"total":0,"matches":[]},"messages":{"total":1,
		"pagination":{"total_count":1,"page":1,"per_page":10,"page_count":1,"first":1,"last":1},
		"paging":{"count":10,"total":1,"page":1,"pages":1},"matches":[{"type":"message","user":"U02ADA","username":"ada",
		"ts":"1795859220.000100","text":"checkout returns 502 for some customers","channel":{"id":"C0INC","name":"incidents"},
		"permalink":"https://example.slack.com/archives/C0INC/p1795859220000100"}]}}`,
	"/conversations.replies": `{"ok":true,"has_more":false,"messages":[
		{"type":"message","user":"U02ADA","ts":"1795859220.000100","thread_ts":"1795859220.000100","reply_count":1,
		"text":"checkout returns 502 for some customers"},
		{"type":"message","user":"U03BEN","ts":"1795859400.000200","thread_ts":"1795859220.000100",
		"reactions":[{"name":"eyes","count":1,"users":["U02ADA"]}],
		"text":"I rotated the certificate of payments at 09:44. The new chain lacks the intermediate"}]}`,
}

// answer answers as all systems.
func answer(t *testing.T) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Elastic-Product", "Elasticsearch") // its client refuses other products
		longest := ""
		for path := range answers {
			if strings.HasSuffix(r.URL.Path, path) && len(path) > len(longest) {
				longest = path
			}
		}
		if longest == "" {
			t.Logf("no answer for %s %s", r.Method, r.URL)
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = io.WriteString(w, answers[longest])
	})
}

// startSystem starts the system of a pack.
func startSystem(t *testing.T, p pack.Pack) system {
	t.Helper()
	switch p.Name {
	case "slack":
		return startSlack(t, p.Variables[0].About)
	case "postgresql":
		server := postgrestest.Start(t)
		return system{address: server.Database(t, "shop") + "?sslmode=disable", stop: func() { server.Kill(t) }}
	}
	var other atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if other.Load() { // as nginx answers
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, "<html><head><title>404 Not Found</title></head></html>")
			return
		}
		answer(t).ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return system{address: server.URL, stop: server.Close, replace: func() { other.Store(true) }}
}

// startSlack starts a proxy that leads every connection to a server that answers as Slack, because the address of Slack is fixed. The
// token has the scopes that a text names.
func startSlack(t *testing.T, scopes string) system {
	t.Helper()
	slack := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		needed := strings.NewReplacer("public_channel", "channels:read", "private_channel", "groups:read", "mpim", "mpim:read", "im", "im:read")
		for scope := range strings.SplitSeq(needed.Replace(r.PostFormValue("types")), ",") {
			if !strings.Contains(scopes, scope) { // as reported in github.com/getsentry/sentry/pull/18317
				fmt.Fprintf(w, `{"ok":false,"error":"missing_scope","needed":%q}`, scope)
				return
			}
		}
		answer(t).ServeHTTP(w, r)
	}))
	t.Cleanup(slack.Close)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { tunnel(w, slack.Listener.Addr()) }))
	t.Cleanup(proxy.Close)
	env := map[string]string{"SLACK_MCP_PROXY": proxy.URL, "SLACK_MCP_SERVER_CA_INSECURE": "true", "XDG_CACHE_HOME": t.TempDir()}
	return system{env: env, stop: proxy.Close}
}

// tunnel answers the request CONNECT.
func tunnel(w http.ResponseWriter, to net.Addr) {
	there, err := net.Dial(to.Network(), to.String())
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	defer there.Close()
	w.WriteHeader(http.StatusOK)
	here, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer here.Close()
	go func() { _, _ = io.Copy(there, buffered) }()
	_, _ = io.Copy(here, there)
}
