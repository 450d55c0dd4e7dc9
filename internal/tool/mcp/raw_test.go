package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/plan"
)

// randomNumber returns a JSON number that a float64 may not hold exactly, or may write differently.
func randomNumber(r *rand.Rand) string {
	digits := func(n int) string {
		text := []byte{byte('1' + r.IntN(9))}
		for range r.IntN(n) {
			text = append(text, byte('0'+r.IntN(10)))
		}
		return string(text)
	}
	number := []string{"", "-"}[r.IntN(2)] + []string{"0", digits(1), digits(25)}[r.IntN(3)]
	if r.IntN(3) == 0 {
		number += "." + []string{"0", "10", digits(25)}[r.IntN(3)]
	}
	if r.IntN(3) == 0 {
		number += []string{"e", "E"}[r.IntN(2)] + []string{"", "+", "-"}[r.IntN(3)]
		number += []string{"0", "007", "400", "999999999999999999999"}[r.IntN(4)]
	}
	return number
}

// randomJSON returns a value with such numbers, written with random white space.
func randomJSON(r *rand.Rand, depth int) string {
	space := []string{"", " ", "\n", "\t\r\n"}[r.IntN(4)]
	var parts []string
	switch kind := r.IntN(6); {
	case kind == 0 && depth > 0:
		for n := range r.IntN(4) {
			parts = append(parts, fmt.Sprintf("%s\"k%d\\n\\\"<\"%s:%s", space, n, space, randomJSON(r, depth-1)))
		}
		return "{" + strings.Join(parts, ",") + space + "}"
	case kind == 1 && depth > 0:
		for range r.IntN(4) {
			parts = append(parts, space+randomJSON(r, depth-1))
		}
		return "[" + strings.Join(parts, ",") + space + "]"
	case kind == 2:
		return `"a\u0000 é <b> 12.0 \\ \""`
	}
	return randomNumber(r)
}

// numbers returns the literals of a JSON text, in order of an object's sorted keys.
func numbers(t *testing.T, text []byte) (literals []string) {
	t.Helper()
	value, err := decode(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	sorted, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(sorted))
	decoder.UseNumber()
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return literals
		}
		if number, ok := token.(json.Number); ok {
			literals = append(literals, number.String())
		}
	}
}

// TestNumbersKeepTheirDigits checks that the model and the artifact have all digits of a server's numbers.
func TestNumbersKeepTheirDigits(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 1))
		structured := fmt.Sprintf(`{"first":%s,"more":%s}`, randomNumber(r), randomJSON(r, 3))
		got := converted(t, `{"content":[{"type":"text","text":"1 row"}],"structuredContent":`+structured+`}`)
		if len(got.Artifacts) != 1 {
			t.Fatalf("seed %d: %s became %+v", seed, structured, got)
		}
		want := numbers(t, []byte(structured))
		shown, _ := strings.CutPrefix(got.Content, "1 row\n")
		for what, text := range map[string][]byte{"text": []byte(shown), "artifact": got.Artifacts[0].JSON} {
			if diff := cmp.Diff(want, numbers(t, text)); diff != "" {
				t.Fatalf("seed %d, %s of %s:\n%s", seed, what, structured, diff)
			}
		}
	}
}

// TestSchemasKeepTheirDigits checks the same for the schemas of tools.
func TestSchemasKeepTheirDigits(t *testing.T) {
	t.Parallel()
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 2))
		schema := fmt.Sprintf(`{"type":"object","properties":{"id":{"const":%s,"enum":[%s]}}}`, randomNumber(r), randomJSON(r, 2))
		spec := specOf(plan.Server{Name: "s"}, json.RawMessage(`{"name":"t","inputSchema":`+schema+`}`))
		if diff := cmp.Diff(numbers(t, []byte(schema)), numbers(t, spec.Schema)); diff != "" || spec.Unusable != "" {
			t.Fatalf("seed %d, %s: %s\n%s", seed, schema, spec.Unusable, diff)
		}
	}
}

// TestCanonicalNumbers compares canonical with exact arithmetic.
func TestCanonicalNumbers(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 3))
	var spelled []string
	for len(spelled) < 300 {
		if number := randomNumber(r); !strings.Contains(number, "99999999") {
			spelled = append(spelled, number)
		}
	}
	spelled = append(spelled, "1", "1.0", "10e-1", "0.1e1", "-0", "0e5", "0.00", "100", "1E+2", "9007199254740992", "9007199254740993")
	for _, a := range spelled {
		for _, b := range spelled {
			x, _ := new(big.Rat).SetString(a)
			y, _ := new(big.Rat).SetString(b)
			if got, want := canonical(a) == canonical(b), x.Cmp(y) == 0; got != want {
				t.Fatalf("%s and %s are the same: %t, want %t", a, b, got, want)
			}
		}
	}
}

// TestStreamIsRewritten checks that only the messages of a stream are rewritten, however its bytes are split.
func TestStreamIsRewritten(t *testing.T) {
	t.Parallel()
	const before = ": a comment\n\nevent: message\nid: 7\nretry: 5\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}\n\n"
	const answer = "event: message\r\nid: 8\r\ndata: {\"jsonrpc\":\"2.0\",\"id\":4,\r\ndata:\"result\":{\"n\":9007199254740993}}\r\n\r\n"
	const after = "id: 9\ndata: not JSON, though it says \"result\"\n\n"
	const dropped = "id: 9\n\n"
	for name, reader := range map[string]func(io.Reader) io.Reader{
		"whole": func(r io.Reader) io.Reader { return r }, "in bytes": iotest.OneByteReader, "with its end": iotest.DataErrReader,
	} {
		var results answers
		results.expect(4, true)
		var broken []error
		s := newStream(io.NopCloser(reader(strings.NewReader(before+answer+after))), streamOptions{
			limit: 1000, read: func(message []byte) [][]byte { return results.read(message, nil) }, bare: true,
			broken: func(err error) { broken = append(broken, err) }, release: func() {},
		})
		got, err := io.ReadAll(s)
		const rewritten = "data: {\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{\"content\":[],\"tools\":[],\"_meta\":{\"inquest/raw\":\"4e0\"}}}\n" +
			"event: message\nid: 8\n\n"
		ended := len(broken) == 1 && errors.Is(broken[0], errCut)
		if diff := cmp.Diff(before+rewritten+dropped, string(got)); diff != "" || err != nil || !ended {
			t.Errorf("%s: %v, broken %v\n%s", name, err, broken, diff)
		}
		if raw := results.take(map[string]any{rawKey: "4e0"}); string(raw) != `{"n":9007199254740993}` {
			t.Errorf("%s: kept %s", name, raw)
		}
	}
}

// TestResultsForNobodyAreDropped checks that only the first result of a request that waits is kept, in each spelling of its id.
func TestResultsForNobodyAreDropped(t *testing.T) {
	t.Parallel()
	var results answers
	keeps := func(id string) bool {
		message := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{"n":1}}`, id)
		out := results.read(message, nil)
		return len(out) == 1 && bytes.Contains(out[0], []byte(rawKey))
	}
	for _, id := range []any{int64(4), int64(5), json.RawMessage("6")} {
		results.expect(id, true)
	}
	for _, tc := range []struct {
		id   string
		keep bool
	}{{"3", false}, {"4.0", true}, {"4", false}, {`"4"`, false}, {`"5"`, true}, {`"05"`, false}, {"null", false}, {"6", true}} {
		if keeps(tc.id) != tc.keep {
			t.Errorf("the result for %s: kept %t", tc.id, !tc.keep)
		}
	}
	results.forget(int64(4))
	results.forget(int64(5))
	if keeps("4") || len(results.requests) != 1 {
		t.Errorf("%d results kept for one request", len(results.requests))
	}
	if raw := results.take(map[string]any{rawKey: idKey(6)}); string(raw) != `{"n":1}` || len(results.requests) != 0 {
		t.Errorf("took %s, %d remain", raw, len(results.requests))
	}
}
