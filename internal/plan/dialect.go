package plan

import (
	"regexp"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
)

// Dialect returns the features that the provider's server accepts in a request. Plans of earlier versions do not name the dialect,
// so it is derived from the provider's other fields.
func (p Provider) Dialect() agent.Dialect {
	if p.Accepts != (agent.Dialect{}) {
		return p.Accepts
	}
	out := dialects[p.wire()]
	if mistral.MatchString(p.Model) || strings.Contains(p.BaseURL, "mistral.ai") {
		out.Alternates = true
	}
	if p.Type == "openai" && strings.Contains(p.BaseURL, "googleapis.com") {
		out.Schemas = agent.SchemaOpenAPI // Gemini with OpenAI's protocol
	}
	if p.Type == "openai" {
		for _, c := range ceilings {
			if c.address.MatchString(p.BaseURL) {
				out.MaxTools = c.tools
			}
		}
	}
	ownAddress := p.BaseURL != "" && p.Type != "azure" && p.Vertex == (Vertex{})
	out.WrittenCalls = ownAddress && !vendors.MatchString(p.BaseURL)
	return out
}

// vendors matches the addresses of services that parse the call notations of their models themselves.
var vendors = regexp.MustCompile(`(?i)^https?://(?:[^/?#]*[.@])?` +
	`(?:openai\.com|openai\.azure\.com|anthropic\.com|googleapis\.com|google\.com|x\.ai)(?::\d+)?(?:[/?#]|$)`)

// ceilings are how many tools the services with OpenAI's protocol accept, beside OpenAI's own.
var ceilings = []struct {
	address *regexp.Regexp
	tools   int
}{
	{regexp.MustCompile(`(?i)^https?://(?:[^/?#]*\.)?googleapis\.com(?::\d+)?(?:[/?#]|$)`), 512},
	// "Maximum tools limit reached. 219 tools have been provided but the maximum is 200." (anomalyco/opencode#28911)
	{regexp.MustCompile(`(?i)^https?://(?:[^/?#]*\.)?x\.ai(?::\d+)?(?:[/?#]|$)`), 200},
	// "'tools' : maximum number of items is 128" (HunorLaczko/ha-groq-cloud-api#25)
	{regexp.MustCompile(`(?i)^https?://(?:[^/?#]*\.)?groq\.com(?::\d+)?(?:[/?#]|$)`), 128},
}

// wire returns the row of the table. A server with OpenAI's protocol at a custom address may be any server.
func (p Provider) wire() string {
	switch {
	case p.Driver == "generative-ai-go":
		return "google, old SDK"
	case p.Type == "anthropic" && p.Vertex != (Vertex{}):
		return "anthropic, Vertex AI"
	case p.Type == "openai" && p.BaseURL != "" && !strings.HasPrefix(p.BaseURL, "https://api.openai.com/"):
		return "openai, compatible"
	}
	return p.Type
}

// mistral matches models whose servers require alternating roles:
// https://github.com/mistralai/mistral-common/issues/169
var mistral = regexp.MustCompile(`(?i)^(?:.*/)?(?:open-)?(?:mistral|mixtral|ministral|magistral|codestral|devstral|pixtral|voxtral)`)

// dialects are those of known providers. The limits come from these errors: "Invalid 'tools': array too long. Expected
// an array with maximum length 128", "'tools[0].function.description': string too long. Expected a string with
// maximum length 1024", and "tools[0].function_declarations: [FIELD_INVALID] At most 512 function declarations can be
// specified" (google-gemini/gemini-cli#19083). Anthropic has no limit for tools that are not strict, and ours are not.
var dialects = map[string]agent.Dialect{
	"openai":             {MaxTools: 128, MaxDescription: 1024, Structured: agent.StructuredResponseFormat},
	"openai, compatible": {Structured: agent.StructuredResponseFormat},
	"azure":              {MaxTools: 128, MaxDescription: 1024, Structured: agent.StructuredResponseFormat},
	"google":             {MaxTools: 512, Schemas: agent.SchemaGemini, Structured: agent.StructuredResponseSchema},
	"google, old SDK":    {MaxTools: 512, Schemas: agent.SchemaOpenAPI, Structured: agent.StructuredNone},
	"anthropic":          {Structured: agent.StructuredOutputFormat},
	// On Vertex AI, an organisation has to allow structured output first.
	// https://docs.cloud.google.com/vertex-ai/generative-ai/docs/partner-models/claude/structured_outputs (read 2026-11-23)
	"anthropic, Vertex AI": {Structured: agent.StructuredForm},
}
