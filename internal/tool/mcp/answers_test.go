package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/inquest-dev/inquest/internal/tool"
)

// play sends requests and notices, and reads the server's messages, on a connection that all requests share:
//
//	>1   request 1 is sent
//	>    a notice is sent
//	x1   request 1 is abandoned
//
// Any other step is a message of the server. It returns what the SDK reads.
func play(t *testing.T, steps ...string) (got []string) {
	t.Helper()
	a := answers{shared: true}
	for _, step := range steps {
		id, err := strconv.ParseInt(strings.TrimLeft(step, ">x"), 10, 64)
		switch {
		case step == ">":
			a.noticed()
		case err == nil && step[0] == '>':
			a.expect(id, false)
		case err == nil:
			a.forget(id)
		default:
			for _, message := range a.read([]byte(step), nil) {
				got = append(got, shownMessage(t, message))
			}
		}
	}
	return got
}

func shownMessage(t *testing.T, message []byte) string {
	t.Helper()
	msg, err := jsonrpc.DecodeMessage(message)
	if err != nil {
		t.Fatalf("%s: %v", message, err)
	}
	switch msg := msg.(type) {
	case *jsonrpc.Request:
		return msg.Method
	case *jsonrpc.Response:
		if msg.Error != nil {
			return fmt.Sprintf("%v: error %v", msg.ID.Raw(), msg.Error)
		}
		return fmt.Sprintf("%v: %s", msg.ID.Raw(), msg.Result)
	}
	return ""
}

// TestAnswersOnASharedConnection checks which requests a server's messages answer.
func TestAnswersOnASharedConnection(t *testing.T) {
	t.Parallel()
	const (
		noID    = `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"cannot parse it"}}`
		refusal = `{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"no such method"}}`
		noValue = `{"jsonrpc":"2.0","id":1,"result":{"n":NaN}}`
		unknown = "error " + unmatched
		first   = `{"jsonrpc":"2.0","id":1,"result":"one"}`
		second  = `{"jsonrpc":"2.0","id":2,"result":"two"}`
	)
	const (
		cut     = `{"jsonrpc":"2.0","id":1,"result":{"n":"Na`
		cutID   = `{"jsonrpc":"2.0","result":{},"id":1`
		idLast  = `{"jsonrpc":"2.0","result":{"a":Infinity,"id":7},"id":1}`
		noIDNaN = `{"jsonrpc":"2.0","result":{"n":NaN}}`
		empty   = `{"jsonrpc":"2.0","id":1}`
	)
	notJSON := func(text string) []string { return []string{"1: error it is not valid JSON: " + text} }
	one := []string{`1: "one"`}
	for name, tc := range map[string]struct{ steps, want []string }{
		"as it should be":          {[]string{">1", ">2", second, first}, []string{`2: "two"`, `1: "one"`}},
		"id as a text":             {[]string{">1", `{"jsonrpc":"2.0","id":"1","result":"one"}`}, one},
		"another id":               {[]string{">1", `{"jsonrpc":"2.0","id":"1.5","result":"x"}`, first}, one},
		"an id that is no integer": {[]string{">1", `{"jsonrpc":"2.0","id":1.5,"result":"x"}`, first}, one}, // the SDK reads it as 1
		"a batch": {
			[]string{">1", ">2", `[` + second + `,{"jsonrpc":"2.0","method":"ping","id":9},[1],7,` + first + `]`},
			[]string{`2: "two"`, "ping", `1: "one"`},
		},
		"a batch of none":       {[]string{">1", "[]", first}, one},
		"no version":            {[]string{">1", `{"id":1,"result":"one"}`}, one},
		"version 1.0":           {[]string{">1", `{"id":1,"result":"one","error":null}`}, one},
		"error as a text":       {[]string{">1", `{"jsonrpc":"2.0","id":1,"error":"disk full"}`}, []string{"1: error disk full"}},
		"error of another form": {[]string{">1", `{"jsonrpc":"2.0","id":1,"error":{"reason":7}}`}, []string{`1: error {"reason":7}`}},
		"error code as a text": {
			[]string{">1", `{"jsonrpc":"2.0","id":1,"error":{"code":"E7","message":"no"}}`}, []string{"1: error no"},
		},
		"no error and no result": {[]string{">1", empty}, []string{"1: error it has neither a result nor an error: " + empty}},
		"not JSON in one field":  {[]string{">1", noValue}, notJSON(noValue)},
		"cut":                    {[]string{">1", cut}, notJSON(cut)},
		"cut in the id":          {[]string{">1", cutID}, notJSON(cutID)},
		"cut in the id, of two": {
			[]string{">1", ">12", cutID, first}, []string{`1: "one"`, "12: error it is not valid JSON: " + cutID},
		},
		"not JSON, id at the end": {[]string{">1", idLast}, notJSON(idLast)},
		"not JSON and no id":      {[]string{">1", noIDNaN}, notJSON(noIDNaN)},
		"noise": {
			[]string{">1", "", "Starting …", `{"level":"error","error":"x"}`, `{"level":`, "[1]", "\xff", first}, one,
		},
		"answered twice": {
			[]string{">1", first, ">2", `{"jsonrpc":"2.0","id":"1","result":"again"}`, second},
			[]string{`1: "one"`, `2: "two"`},
		},
		"no id":                        {[]string{">1", noID}, []string{"1: error cannot parse it"}},
		"no id, for nobody":            {[]string{noID, ">1", first}, []string{`1: "one"`}},
		"no id, a result":              {[]string{">1", `{"jsonrpc":"2.0","result":"one"}`}, []string{`1: "one"`}},
		"id of a wrong kind":           {[]string{">1", `{"jsonrpc":"2.0","id":[1],"result":"one"}`}, []string{`1: "one"`}},
		"no id, of two":                {[]string{">1", ">2", noID}, nil},
		"no id, of two, then one":      {[]string{">1", ">2", noID, second}, []string{`2: "two"`, "1: error cannot parse it"}},
		"no id, then another":          {[]string{">1", ">2", noID, ">3", second}, []string{`2: "two"`, "1: error cannot parse it"}},
		"no id, twice, of two":         {[]string{">1", ">2", noID, noID}, []string{"1: " + unknown, "2: " + unknown}},
		"no id, twice, of three":       {[]string{">1", ">2", ">3", noID, noID, first}, []string{`1: "one"`, "2: " + unknown, "3: " + unknown}},
		"no id, after an abandoned":    {[]string{">1", "x1", ">2", noID}, []string{"2: " + unknown}},
		"no id, after a late one":      {[]string{">1", "x1", first, ">2", noID}, []string{`1: "one"`, "2: error cannot parse it"}},
		"no id, about a notice":        {[]string{">1", first, ">", ">2", refusal, second}, []string{`1: "one"`, `2: "two"`}},
		"no id, a result for a notice": {[]string{">", ">2", `{"jsonrpc":"2.0","id":null,"result":{}}`, second}, []string{`2: "two"`}},
		"no id, not about a notice":    {[]string{">", ">1", noID}, []string{"1: error cannot parse it"}},
		"no id, after a notice":        {[]string{">", ">1", first, ">2", refusal}, []string{`1: "one"`, "2: error no such method"}},
		"no id, before a notice":       {[]string{">1", ">2", noID, ">", second}, []string{`2: "two"`, "1: error cannot parse it"}},
		"requests of the server":       {[]string{">1", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, first}, []string{"ping", `1: "one"`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, play(t, tc.steps...)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestMembers checks that the members of each object are found, whole or cut.
func TestMembers(t *testing.T) {
	t.Parallel()
	const text = ` {"jsonrpc" : "2.0", "a\"}{,:" : [{"id":7},"]"],"id": "4","result":{"text":"a\\","list":[1,{}]} } {"id":5}`
	for cut := range len(text) {
		for name, value := range members([]byte(text[:cut])) {
			if !strings.Contains(`jsonrpc a"}{,: id result`, name) || !strings.Contains(text, string(value)) {
				t.Errorf("%s has the member %q: %s", text[:cut], name, value)
			}
		}
	}
	want := map[string]json.RawMessage{
		"jsonrpc": []byte(`"2.0"`), `a"}{,:`: []byte(`[{"id":7},"]"]`), "id": []byte(`"4"`), "result": []byte(`{"text":"a\\","list":[1,{}]}`),
	}
	if diff := cmp.Diff(want, members([]byte(text))); diff != "" {
		t.Error(diff)
	}
	if got := members([]byte(`["id":1]`)); len(got) > 0 {
		t.Errorf("an array has members: %v", got)
	}
}

// TestResponsesInTheirOwnStream checks whose answer a response in a request's own stream is, and that none is taken once the SDK no
// longer reads that stream.
func TestResponsesInTheirOwnStream(t *testing.T) {
	t.Parallel()
	const first, second = `{"jsonrpc":"2.0","id":1,"result":"one"}`, `{"jsonrpc":"2.0","id":2,"result":"two"}`
	for name, tc := range map[string]struct {
		messages, want []string // in the stream of request 1, and what the SDK reads
		waits          bool     // request 2 waits
	}{
		"of both":                     {[]string{second, first}, []string{`2: "two"`, `1: "one"`}, false},
		"of the other, too late":      {[]string{first, second}, []string{`1: "one"`}, true},
		"a batch, the other too late": {[]string{"[" + first + "," + second + "]"}, []string{`1: "one"`}, true},
		"bare, twice":                 {[]string{`{"error":"down"}`, `{"error":"again"}`}, []string{"1: error down"}, true},
		"noise":                       {[]string{`{"result":null}`, `{"error":null}`, "{}", `{"method":"","x":1}`}, nil, true},
	} {
		var a answers
		var got []string
		for id := range int64(2) {
			a.expect(id+1, true)
		}
		for _, message := range tc.messages {
			for _, out := range a.read([]byte(message), int64(1)) {
				shown := shownMessage(t, out)
				for id := range 3 {
					if strings.HasPrefix(shown, fmt.Sprintf("%d: {", id)) {
						shown = fmt.Sprintf("%d: %s", id, a.take(map[string]any{rawKey: idKey(id)}))
					}
				}
				got = append(got, shown)
			}
		}
		if diff := cmp.Diff(tc.want, got); diff != "" || a.awaits(int64(2)) != tc.waits {
			t.Errorf("%s: request 2 waits %t\n%s", name, a.awaits(int64(2)), diff)
		}
	}
}

// TestAnsweredOnTwoStreams checks that an answer stands if its request's own stream repeats it, or ends without it.
func TestAnsweredOnTwoStreams(t *testing.T) {
	t.Parallel()
	var a answers
	a.expect(int64(1), true)
	answer := []byte(`{"jsonrpc":"2.0","id":1,"result":"one"}`)
	first, again := a.read(answer, nil), a.read(answer, int64(1))
	if len(first) != 1 || !slices.EqualFunc(first, again, bytes.Equal) || !bytes.Equal(a.refuse(int64(1), "cut"), first[0]) {
		t.Errorf("first %s, then %s", first, again)
	}
	if got := a.take(map[string]any{rawKey: idKey(int64(1))}); string(got) != `"one"` {
		t.Errorf("the answer is %s", got)
	}
}

// TestQuestionInABatch checks that a question in a batch belongs to the call whose stream contains it.
func TestQuestionInABatch(t *testing.T) {
	t.Parallel()
	r, a := &receipt{asker: asker{Call: tool.Call{Key: "k"}}}, answers{}
	const ping, question = `{"jsonrpc":"2.0","method":"ping","id":1}`, `{"jsonrpc":"2.0","id":2,"method":"elicitation/create","params":{}}`
	got := a.readMarked([]byte("["+ping+","+question+"]"), int64(1), r.mark)
	if len(got) != 2 || string(got[0]) != ping || !strings.Contains(string(got[1]), metaKey) {
		t.Errorf("got %q", got)
	}
}

// TestAbandonedRequestsAreLimited checks that a server that answers no cancelled request fills no memory, and that a request that
// was given up before it was sent is not sent later.
func TestAbandonedRequestsAreLimited(t *testing.T) {
	t.Parallel()
	a := answers{shared: true}
	for id := range int64(10 * maxGone) {
		a.expect(id, true)
		a.forget(id)
	}
	if n := len(a.requests); n != maxGone || a.requests[idKey(10*maxGone-1)] == nil {
		t.Errorf("%d requests are remembered, want the last %d", n, maxGone)
	}
	var own answers
	_, r := withReceipt(t.Context(), &own)
	r.forget()
	if err := r.begin(sentRequest{id: int64(1)}); err == nil || len(own.requests) > 0 {
		t.Errorf("sent (%v), %d requests are remembered", err, len(own.requests))
	}
	if err := r.begin(sentRequest{}); err != nil {
		t.Errorf("its cancellation is not sent: %v", err)
	}
}

// TestIDsThatAreHuge checks that a server's id takes little time, in each form.
func TestIDsThatAreHuge(t *testing.T) {
	t.Parallel()
	digits := strings.Repeat("9", 1<<20)
	a := answers{shared: true}
	a.expect(1, false)
	began := time.Now()
	for _, id := range []string{digits, "-" + digits, "1e" + digits, "1e-" + digits, "0." + digits, `"` + digits + `"`} {
		if got := a.read([]byte(`{"jsonrpc":"2.0","id":`+id+`,"result":{}}`), nil); len(got) > 0 {
			t.Errorf("the id %.5s is that of a request", id)
		}
	}
	if took := time.Since(began); took > 10*time.Second { // the exponent alone took longer
		t.Errorf("it took %s", took)
	}
}

// TestUnclaimedAnswersAreLimited checks that a server that sends nothing but responses without an id fills no memory.
func TestUnclaimedAnswersAreLimited(t *testing.T) {
	t.Parallel()
	a := answers{shared: true}
	a.expect(1, false)
	a.noticed()
	a.expect(2, false)
	for range 10 * maxUnclaimed {
		a.read([]byte(`{"jsonrpc":"2.0","result":{}}`), nil)
	}
	if n := len(a.unclaimed); n != maxUnclaimed {
		t.Errorf("%d responses are kept, want %d", n, maxUnclaimed)
	}
}
