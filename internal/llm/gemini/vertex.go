package gemini

import (
	"context"
	"fmt"

	"google.golang.org/genai"

	"github.com/inquest-dev/inquest/internal/kit/googlecloud"
	"github.com/inquest-dev/inquest/internal/llm"
)

// vertexVersion is the version with all features of the Gemini API.
const vertexVersion = "v1beta1"

// NewVertex is New for Vertex AI, which has no keys. The base URL is that of the location, unless the options have
// another.
func NewVertex(opts llm.Options, at *googlecloud.Place) (*Client, error) {
	guard, err := llm.NewGuard(llm.Driver{Name: "vertexai", BaseURL: at.BaseURL()}, opts)
	if err == nil && at.Project == "" {
		err = fmt.Errorf("vertexai client %s: the project is missing", opts.Name)
	}
	return &Client{guard: guard, vertex: at}, err
}

// toVertex directs the requests of a call to Vertex AI, with a token.
func (c *Client) toVertex(ctx context.Context, to *genai.ClientConfig, tap *tap) (err error) {
	if tap.headers, tap.token, err = c.vertex.Headers(ctx); err != nil {
		return err
	}
	to.Backend, to.APIKey, to.Project, to.Location = genai.BackendVertexAI, "", c.vertex.Project, c.vertex.Location
	to.HTTPOptions.APIVersion = vertexVersion
	return nil
}
