// Package embed turns texts into vectors with models behind the APIs of OpenAI, in servers that are compatible with it too, and of
// Gemini.
package embed

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/plan"
)

// Client calls embedding models. It is safe for concurrent use.
type Client struct {
	env  func(name string) (string, bool)
	http *http.Client
}

// New returns a client that reads keys from the environment for each call.
func New(env func(name string) (string, bool)) *Client {
	// net/http would send the key's header to any host that a server redirects to.
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{env, &http.Client{CheckRedirect: stay}}
}

const (
	maxBatch  = 100      // texts in a request; Gemini allows no more
	maxAnswer = 16 << 20 // bytes
)

// format is one kind of API.
type format struct {
	base string
	// request returns the path and the body for some texts.
	request func(model plan.Embedding, query bool, texts []string) (path string, body any)
	header  func(h http.Header, key string)
	// vectors reads the answer. Missing ones are nil.
	vectors func(body []byte, n int) ([][]float32, error)
}

var formats = map[string]format{
	"openai": {"https://api.openai.com/v1", openAIRequest, bearer, openAIVectors},
	"google": {"https://generativelanguage.googleapis.com/v1beta", googleRequest, googleKey, googleVectors},
}

// Embed returns a vector for each text. query means that the texts are compared with others that were embedded without it. Errors
// contain no key and no text.
func (c *Client) Embed(ctx context.Context, model plan.Embedding, query bool, texts []string) (all [][]float32, err error) {
	f, ok := formats[model.Provider]
	if !ok {
		return nil, fmt.Errorf("unknown embedding provider %q", model.Provider)
	}
	if model.BaseURL == "" {
		model.BaseURL = f.base
	}
	for batch := range slices.Chunk(texts, maxBatch) {
		vectors, err := c.embed(ctx, f, model, query, batch)
		if err != nil {
			return nil, fmt.Errorf("embed texts: %w", err)
		}
		all = append(all, vectors...)
	}
	return all, nil
}

func (c *Client) embed(ctx context.Context, f format, model plan.Embedding, query bool, texts []string) ([][]float32, error) {
	path, body := f.request(model, query, texts)
	content, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, model.BaseURL+path, bytes.NewReader(content))
	if err != nil {
		return nil, errors.New("the base_url is not a URL") // which may contain a credential
	}
	req.Header.Set("Content-Type", "application/json")
	if model.APIKeyEnv != "" {
		key, _ := c.env(model.APIKeyEnv)
		if key == "" {
			return nil, fmt.Errorf("variable %s is not set on this worker, or is empty", model.APIKeyEnv)
		}
		f.header(req.Header, key)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, errors.New(llm.TransportText(err))
	}
	if resp.StatusCode != http.StatusOK {
		said := llm.ErrorWords(llm.ReadRefusal(resp))
		return nil, fmt.Errorf("the server answered %d: %s", resp.StatusCode, strings.Join(strings.Fields(said), " "))
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, errors.New(llm.TransportText(err))
	case len(answer) > maxAnswer:
		return nil, fmt.Errorf("the response is larger than %d bytes", maxAnswer)
	}
	vectors, err := f.vectors(answer, len(texts))
	if err != nil {
		return nil, err
	}
	return vectors, check(vectors, model.Dimensions)
}

// check refuses vectors that cannot be compared with each other.
func check(vectors [][]float32, dimensions int) error {
	for _, v := range vectors {
		switch {
		case len(v) == 0:
			return errors.New("the response contains an empty vector")
		case len(v) != len(vectors[0]) || dimensions > 0 && len(v) != dimensions:
			return fmt.Errorf("a vector has %d dimensions, expected %d", len(v), cmp.Or(dimensions, len(vectors[0])))
		case slices.ContainsFunc(v, func(x float32) bool { return math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) }):
			return errors.New("a vector contains a number that is not finite")
		}
	}
	return nil
}

// https://platform.openai.com/docs/api-reference/embeddings/create
func openAIRequest(model plan.Embedding, _ bool, texts []string) (string, any) {
	return "/embeddings", struct {
		Model      string   `json:"model"`
		Input      []string `json:"input"`
		Format     string   `json:"encoding_format"`
		Dimensions int      `json:"dimensions,omitempty"`
	}{model.Model, texts, "float", model.Dimensions}
}

func bearer(h http.Header, key string) { h.Set("Authorization", "Bearer "+key) }

func openAIVectors(body []byte, n int) ([][]float32, error) {
	var answer struct {
		Data []struct {
			Index     int       `json:"index"`
			Embedding []float32 `json:"embedding"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, fmt.Errorf("read the response: %w", err)
	}
	out := make([][]float32, n)
	for _, d := range answer.Data { // in any order
		if d.Index < 0 || d.Index >= n {
			return nil, fmt.Errorf("the response has a vector with the index %d; texts sent: %d", d.Index, n)
		}
		out[d.Index] = d.Embedding
	}
	return out, nil
}

// https://ai.google.dev/api/embeddings
func googleRequest(model plan.Embedding, query bool, texts []string) (string, any) {
	type part struct {
		Text string `json:"text"`
	}
	type one struct {
		Model   string `json:"model"`
		Content struct {
			Parts []part `json:"parts"`
		} `json:"content"`
		TaskType   string `json:"taskType"`
		Dimensions int    `json:"outputDimensionality,omitempty"`
	}
	name := "models/" + strings.TrimPrefix(model.Model, "models/")
	all := make([]one, len(texts))
	for n, text := range texts {
		all[n] = one{Model: name, TaskType: "RETRIEVAL_DOCUMENT", Dimensions: model.Dimensions}
		if query {
			all[n].TaskType = "RETRIEVAL_QUERY"
		}
		all[n].Content.Parts = []part{{text}}
	}
	path := "/models/" + url.PathEscape(strings.TrimPrefix(name, "models/")) + ":batchEmbedContents"
	return path, map[string]any{"requests": all}
}

func googleKey(h http.Header, key string) { h.Set("X-Goog-Api-Key", key) }

func googleVectors(body []byte, n int) ([][]float32, error) {
	var answer struct {
		Embeddings []struct {
			Values []float32 `json:"values"`
		} `json:"embeddings"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, fmt.Errorf("read the response: %w", err)
	}
	if len(answer.Embeddings) != n {
		return nil, fmt.Errorf("vectors in the response: %d, expected: %d", len(answer.Embeddings), n)
	}
	out := make([][]float32, n)
	for i, e := range answer.Embeddings {
		out[i] = e.Values
	}
	return out, nil
}
