package agent

// Dialect describes the requests that a model's server accepts, and its replies. It is resolved once, into the plan, so
// that later code never compares provider names. The zero value means an unknown server.
type Dialect struct {
	// Schemas is the form of tool schemas that the server accepts.
	Schemas SchemaForm `json:"schemas,omitempty"`
	// Alternates means that a role must not have two messages in a row, and that no user message may directly follow a
	// tool message.
	Alternates bool `json:"alternates,omitempty"`
	// RefusesNone means that the server refuses the tool choice "none".
	RefusesNone bool `json:"refuses_none,omitempty"`
	// PlainBesideTools means that the server refuses a request that asks for JSON, without a schema, and declares tools.
	PlainBesideTools bool `json:"plain_beside_tools,omitempty"`
	// RefusesSchema means that the server refuses the schema of the reply as a parameter.
	RefusesSchema bool `json:"refuses_schema,omitempty"`
	// RefusesTemperature means that the server refuses a temperature.
	RefusesTemperature bool `json:"refuses_temperature,omitempty"`
	// RefusesThinking means that the server refuses all parameters about thinking.
	RefusesThinking bool `json:"refuses_thinking,omitempty"`
	// WantsThoughts means that every reply must be sent back with its thinking, which may be empty.
	WantsThoughts bool `json:"wants_thoughts,omitempty"`
	// MaxTools is how many tools a request may declare; zero means any number.
	MaxTools int `json:"max_tools,omitempty"`
	// MaxDescription is how long the description of a tool may be, in characters; zero means any length.
	MaxDescription int `json:"max_description,omitempty"`
	// MaxTokens is how many tokens a request may ask for in the reply; zero means any number.
	MaxTokens int `json:"max_tokens,omitempty"`
	// Structured is how the server makes a final text follow a JSON schema.
	Structured Structured `json:"structured,omitempty"`
	// WrittenCalls means that the server may leave calls in the text of a reply, in the notation of its model, so they
	// are parsed from there. Vendors' own services parse the notations of their models, so a call in the text of their
	// replies is only a quotation.
	WrittenCalls bool `json:"written_calls,omitempty"`
}

// SchemaForm says how much of JSON Schema a server understands in the schemas of tools.
type SchemaForm string

// The forms, from the richest to the poorest.
const (
	// SchemaJSON is self-contained JSON Schema: no references, one type for each part, and unions only by anyOf.
	SchemaJSON SchemaForm = ""
	// SchemaGemini is SchemaJSON with the keywords that Gemini documents for parametersJsonSchema.
	SchemaGemini SchemaForm = "gemini"
	// SchemaOpenAPI is Google's Schema message: every part has a type, objects have properties, and enums are texts.
	SchemaOpenAPI SchemaForm = "openapi"
)

// Structured is a way to make a model's final text follow a JSON schema.
type Structured string

// The ways. An empty value means that there is only the prompt.
const (
	StructuredNone           Structured = "none"
	StructuredResponseFormat Structured = "response_format"
	StructuredResponseSchema Structured = "response_schema"
	StructuredOutputFormat   Structured = "output_format" // output_config.format, or a tool that the model must fill in
	StructuredForm           Structured = "form"          // only a tool that the model must fill in
)
