package agent

import "regexp"

// mixing matches the Gemini models that take native tools and functions in one
// request, if it says so. Others answer 400: Tool use with function calling is unsupported.
// https://ai.google.dev/gemini-api/docs/tool-combination
var mixing = regexp.MustCompile(`^(?:models/)?gemini-(?:[3-9]|\d\d|.*latest)`)

// MixesTools reports whether a model can have native tools beside functions. Of
// one that cannot, the native tools stand back.
func MixesTools(model string) bool { return mixing.MatchString(model) }
