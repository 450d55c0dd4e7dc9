package anthropic

import (
	"context"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/inquest-dev/inquest/internal/kit/googlecloud"
	"github.com/inquest-dev/inquest/internal/llm"
)

// vertexVersion is sent in the body, in place of the model, which is in the path.
const vertexVersion = "vertex-2023-10-16"

// NewVertex is New for Claude on Vertex AI, which has no keys: the model is in the path, and the version in the body.
// The SDK's own package for Vertex would add another Google library for credentials besides the one for Gemini, and it
// ends the process if it has none.
// https://platform.claude.com/docs/en/build-with-claude/claude-on-vertex-ai (read 2026-11-23)
func NewVertex(opts llm.Options, at *googlecloud.Place) (*Client, error) {
	client, err := open(llm.Driver{Name: "vertexai", BaseURL: at.BaseURL()}, opts)
	if err == nil && at.Project == "" {
		err = fmt.Errorf("vertexai client %s: the project is missing", opts.Name)
	}
	if err != nil {
		return nil, err
	}
	client.vertex = at
	return client, nil
}

// toVertex directs the request of a call to Vertex AI, with a token.
func (c *Client) toVertex(ctx context.Context, model string, tap *tap) (settings []option.RequestOption, err error) {
	if tap.headers, tap.token, err = c.vertex.Headers(ctx); err != nil {
		return nil, err
	}
	tap.path = fmt.Sprintf("/v1/projects/%s/locations/%s/publishers/anthropic/models/%s:streamRawPredict",
		c.vertex.Project, c.vertex.Location, model)
	return []option.RequestOption{option.WithJSONSet("anthropic_version", vertexVersion), option.WithJSONDel("model")}, nil
}
