package hostile

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"go.temporal.io/sdk/client"

	"go.temporal.io/api/workflowservice/v1"

	"github.com/inquest-dev/inquest/internal/devserver"
	"github.com/inquest-dev/inquest/internal/kit/browsertest"
)

// rebound is a web page's host name that resolves to this host. ours is a host name that the operator has allowed.
const (
	rebound = "evil.example"
	ours    = "inquest.test"
)

// attack is the script of a malicious page, for its own origin or another one: it lists workflows, starts one, and opens
// a socket. It returns what succeeded.
const attack = `async (base, id) => {
	const tried = async what => { try { return await what() } catch (e) { return "refused: " + e.name } };
	const api = base + "/api/v1/namespaces/default/workflows";
	const out = {};
	out.page = await tried(async () => (await fetch(base + "/")).status);
	out.list = await tried(async () => (await fetch(api)).status);
	out.cookie = /_csrf=([^;]+)/.exec(document.cookie)?.[1] ?? "";
	const body = JSON.stringify({workflowType: {name: "Nothing"}, taskQueue: {name: "none"}});
	const headers = {"Content-Type": "application/json", "X-CSRF-Token": out.cookie};
	out.start = await tried(async () => (await fetch(api + "/" + id, {method: "POST", headers, body})).status);
	await tried(() => fetch(api + "/" + id + "-blind", {method: "POST", mode: "no-cors", credentials: "include", body}));
	out.socket = await new Promise(done => {
		const socket = new WebSocket(base.replace("http", "ws") + "/api/v1/namespaces");
		socket.onopen = () => done("open");
		socket.onerror = () => done("refused");
	});
	return out;
}`

type loot struct {
	Page, List, Start any // a status, or the error
	Cookie, Socket    string
}

// TestForeignPages: only the UI's own page reaches the Temporal UI, by any host name, and no page at all reaches
// Temporal.
func TestForeignPages(t *testing.T) {
	server, err := devserver.Start(t.Context(), devserver.Options{Dir: t.TempDir(), Listen: "127.0.0.1:0", UI: "127.0.0.1:0",
		UINames: []string{ours}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	_, port, _ := net.SplitHostPort(server.UIAddress())
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<title>evil</title>") }))
	t.Cleanup(page.Close)
	_, pagePort, _ := net.SplitHostPort(page.Listener.Addr().String())
	ctx := newChromium(t, "MAP "+rebound+" 127.0.0.1, MAP "+ours+" 127.0.0.1")

	for _, tc := range []struct{ name, at, base string }{
		{"rebound", "http://" + rebound + ":" + port, ""},
		{"foreign", "http://" + rebound + ":" + pagePort, "http://127.0.0.1:" + port},
		{"neighbour", "http://127.0.0.1:" + pagePort, "http://127.0.0.1:" + port},
		{"Temporal", "http://" + rebound + ":" + pagePort, "http://" + server.Address()},
	} {
		got := tryFrom(t, ctx, tc.at, tc.base, tc.name)
		if got.List == 200.0 || got.Cookie != "" && tc.name == "rebound" || got.Start == 200.0 || got.Socket == "open" || got.Page == 200.0 {
			t.Errorf("%s got %+v", tc.name, got)
		}
	}
	for name, at := range map[string]string{"localhost": "http://localhost:" + port, "address": "http://127.0.0.1:" + port,
		"named": "http://" + ours + ":" + port} {
		if got := tryFrom(t, ctx, at, "", "control-"+name); got.Page != 200.0 || got.List != 200.0 || got.Cookie == "" || got.Start != 200.0 {
			t.Errorf("control: %s got %+v", name, got)
		}
	}
	for id, started := range workflowsOf(t, server.Address()) {
		if !strings.HasPrefix(id, "control-") {
			t.Errorf("a foreign page started %s (%v)", id, started)
		}
	}
}

// tryFrom runs the attack in a page, at its own origin if base is "".
func tryFrom(t *testing.T, ctx context.Context, at, base, id string) (got loot) {
	t.Helper()
	if base == "" {
		base = at
	}
	ctx, cancel := context.WithTimeout(ctx, 60*time.Second)
	defer cancel()
	arguments, err := json.Marshal([]string{base, id})
	if err != nil {
		t.Fatal(err)
	}
	var text string
	script := fmt.Sprintf("(%s)(...%s).then(JSON.stringify)", attack, arguments)
	await := func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }
	if err := chromedp.Run(ctx, chromedp.Navigate(at), chromedp.Evaluate(script, &text, await)); err != nil {
		t.Fatalf("%s: %v", at, err)
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	t.Logf("%s at %s: %s", id, at, text)
	return got
}

// workflowsOf returns the ids of all workflows of a Temporal server.
func workflowsOf(t *testing.T, address string) map[string]time.Time {
	t.Helper()
	c, err := client.Dial(client.Options{HostPort: address})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ids := map[string]time.Time{}
	for deadline := time.Now().Add(2 * time.Minute); len(ids) < 3; time.Sleep(50 * time.Millisecond) { // the index lags behind
		response, err := c.ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range response.GetExecutions() {
			ids[e.GetExecution().GetWorkflowId()] = e.GetStartTime().AsTime()
		}
		if time.Now().After(deadline) {
			t.Fatalf("only %v are listed", ids)
		}
	}
	return ids
}

// newChromium starts a Chromium that resolves names by rules.
func newChromium(t *testing.T, rules string) context.Context {
	t.Helper()
	return browsertest.Start(t, chromedp.Flag("host-resolver-rules", rules),
		// Disable the browser's own protections: they differ between browsers, and ours must work without them.
		chromedp.Flag("disable-features", "LocalNetworkAccessChecks,BlockInsecurePrivateNetworkRequests,PrivateNetworkAccessChecks"))
}
