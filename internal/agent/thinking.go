package agent

// Thinking is how much a model thinks before it answers. The zero value leaves that to the provider.
type Thinking struct {
	Mode ThinkingMode `json:"mode,omitempty"`
	// Budget is how many tokens the model may think, with ThinkingOn. Zero means the provider's default.
	Budget int `json:"budget,omitempty"`
	// Effort is one of the provider's levels: low, medium, high …
	Effort string `json:"effort,omitempty"`
}

// ThinkingMode says whether a model thinks.
type ThinkingMode string

// The modes. Empty means the provider's default.
const (
	ThinkingOff      ThinkingMode = "off"
	ThinkingOn       ThinkingMode = "on"
	ThinkingAdaptive ThinkingMode = "adaptive" // the model decides when, and how much
)
