package llmtest

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/tools/txtar"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
)

// bookkeeping are fields of the wire formats that do not affect a reply. Everything below them does not matter either.
var bookkeeping = []string{
	"id", "object", "created", "created_at", "model", "system_fingerprint", "service_tier", "index", "logprobs", "role", "usage", "x_groq",
	"content_filter_results", "prompt_filter_results", "provider", "native_finish_reason", "annotations", // chat completions
	"item_id", "sequence_number", "output_index", "content_index", "summary_index", "obfuscation", "metadata", "tools", // Responses
	"stop_sequence", "cache_creation", "container", // Anthropic
	"usageMetadata", "modelVersion", "responseId", "safetyRatings", "avgLogprobs", "citationMetadata", "logprobsResult", "tokenCount",
	"createTime", "thoughtSignature", // Gemini
}

// oddities are values that servers use instead of the expected ones.
var oddities = []any{
	nil, "", "x", "NaN", bareNaN, true, 1.5, 1e300, -1.5, map[string]any{}, map[string]any{"a": 1}, []any{}, []any{1, "a"},
}

// bareNaN stands for NaN outside a string, which is not JSON.
const bareNaN = "\x00NaN"

// mutations is how many variants of a fixture are tried.
const mutations = 20

// RunMutations lets a client read the replies of a folder of fixtures with odd values in bookkeeping fields and with
// unknown fields. It must read the same replies.
func RunMutations(t *testing.T, folder string, open func(baseURL string) llm.Client) {
	t.Helper()
	files, err := fs.Glob(documented, "fixtures/"+folder+"/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	tried := 0
	for _, file := range files {
		data, err := documented.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		answer := parseFixture(t, txtar.Parse(data))
		read := func(body []byte) (llm.Response, error) {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				answer.body = body
				answer.serve(w, sendWhole)
			}))
			defer srv.Close()
			return open(srv.URL).Generate(t.Context(), plain, nil)
		}
		want, err := read(answer.body)
		if answer.status != http.StatusOK || err != nil {
			continue
		}
		tried++
		original := answer.body
		same := 0 // variants whose body could not be changed
		for seed := range uint64(mutations) {
			random := rand.New(rand.NewPCG(seed, 1)) // #nosec G404 -- the same variants each time
			body := mutated(original, random)
			if bytes.Equal(body, original) {
				same++
			}
			got, err := read(body)
			if err != nil {
				t.Errorf("%s, variant %d: %v\n%s", path.Base(file), seed, err, body)
				continue
			}
			if diff := cmp.Diff(saying(want), saying(got), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s, variant %d (-want +got):\n%s\n%s", path.Base(file), seed, diff, body)
			}
		}
		if same > 0 {
			t.Errorf("%s: %d of %d variants are the fixture itself", path.Base(file), same, mutations)
		}
	}
	if tried == 0 {
		t.Error("no fixture is a reply")
	}
}

// saying returns a reply without its bookkeeping.
func saying(r llm.Response) llm.Response {
	out := llm.Response{Content: r.Content, Finish: r.Finish}
	out.Thinking = strings.Join(strings.Fields(r.Thinking), " ") // the separator of two thoughts depends on their indexes
	for _, call := range r.ToolCalls {
		out.ToolCalls = append(out.ToolCalls, agent.ToolCall{Name: call.Name, Arguments: call.Arguments})
	}
	return out
}

// mutated returns an answer, which is JSON or has events, with odd values in its bookkeeping.
func mutated(body []byte, random *rand.Rand) []byte {
	if changed, ok := mutatedJSON(body, random); ok {
		return changed
	}
	var out bytes.Buffer
	for line := range bytes.Lines(body) {
		data, isData := bytes.CutPrefix(bytes.TrimRight(line, "\r\n"), []byte("data:"))
		changed, ok := mutatedJSON(data, random)
		if !isData || !ok {
			out.Write(line)
			continue
		}
		out.WriteString("data: ")
		out.Write(changed)
		out.WriteString(strings.TrimPrefix(string(line), strings.TrimRight(string(line), "\r\n")))
	}
	return out.Bytes()
}

// mutatedJSON returns a JSON value with odd values in its bookkeeping. ok is false for anything else.
func mutatedJSON(data []byte, random *rand.Rand) (changed []byte, ok bool) {
	var value any
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if !json.Valid(data) || decoder.Decode(&value) != nil {
		return nil, false
	}
	mutate(value, random)
	changed, _ = json.Marshal(value) // cannot fail: it came from JSON
	return bytes.ReplaceAll(changed, []byte(`"\u0000NaN"`), []byte("NaN")), true
}

func mutate(value any, random *rand.Rand) {
	switch v := value.(type) {
	case []any:
		for _, element := range v {
			mutate(element, random)
		}
	case map[string]any:
		fields := make([]string, 0, len(v))
		for field := range v {
			fields = append(fields, field)
		}
		slices.Sort(fields) // a seed must always give the same variant
		for _, field := range fields {
			known := slices.Contains(bookkeeping, field)
			switch {
			case field == "id" && random.IntN(3) == 0: // two equal ids would have a meaning
				v[field] = []any{nil, "", map[string]any{}, []any{}}[random.IntN(4)]
			case field == "id":
			case known && random.IntN(3) == 0:
				v[field] = oddities[random.IntN(len(oddities))]
			case known && random.IntN(3) == 0:
				scramble(v[field], random)
			case !known && field != "args" && field != "input" && field != "arguments":
				mutate(v[field], random)
			}
		}
		if random.IntN(8) == 0 && v["type"] == nil && v["name"] == nil && v["text"] == nil && v["q"] == nil {
			v["x_unknown"] = oddities[random.IntN(len(oddities))]
		}
	}
}

// scramble puts odd values below a field.
func scramble(value any, random *rand.Rand) {
	if object, ok := value.(map[string]any); ok {
		for field := range object {
			object[field] = oddities[random.IntN(len(oddities))]
		}
	}
}
