package gemini_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
)

// TestSources checks that the pages that Gemini has found and fetched are listed, each once. The format is that of
// ai.google.dev/gemini-api/docs/google-search and …/url-context.
func TestSources(t *testing.T) {
	t.Parallel()
	srv := llmtest.Start(t, llmtest.Always(llmtest.Raw(
		`{"candidates":[{"content":{"role":"model","parts":[{"text":"Spain won."}]},`+
			`"groundingMetadata":{"webSearchQueries":["UEFA Euro 2024 winner"],`+
			`"searchEntryPoint":{"renderedContent":"<!-- HTML -->"},"groundingChunks":[{"web":{"uri":"https://vertexaisearch.cloud.google.com/a",`+
			`"title":"aljazeera.com"}},{"web":{"uri":"https://vertexaisearch.cloud.google.com/b","title":"uefa.com"}},{}],`+
			`"groundingSupports":[{"segment":{"startIndex":0,"endIndex":10,"text":"Spain won."},"groundingChunkIndices":[0]}]}}]}`,
		`{"candidates":[{"groundingMetadata":{"groundingChunks":[`+
			`{"web":{"uri":"https://vertexaisearch.cloud.google.com/b","title":"uefa.com"}}]},`+
			`"urlContextMetadata":{"urlMetadata":[{"retrievedUrl":"https://a.example/x","urlRetrievalStatus":"URL_RETRIEVAL_STATUS_SUCCESS"},`+
			`{"retrievedUrl":"https://a.example/y","urlRetrievalStatus":"URL_RETRIEVAL_STATUS_ERROR"}]},"finishReason":"STOP"}]}`)))
	got, err := open(t, srv.GeminiURL).Generate(t.Context(), ask("who won?"), nil)
	want := []llm.Source{
		{Title: "aljazeera.com", URL: "https://vertexaisearch.cloud.google.com/a"},
		{Title: "uefa.com", URL: "https://vertexaisearch.cloud.google.com/b"}, {URL: "https://a.example/x"},
	}
	if diff := cmp.Diff(want, got.Sources); err != nil || diff != "" || got.Content != "Spain won." {
		t.Errorf("%q, %v\n%s", got.Content, err, diff)
	}
}
