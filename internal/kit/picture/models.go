package picture

import (
	"math"
	"regexp"
	"strings"
)

// seers and blind match the names of models with vision and, among those, the ones without it. Sources (read 2026-11-22):
// platform.openai.com/docs/models, ai.google.dev/gemini-api/docs/models, docs.claude.com/en/docs/about-claude/models,
// docs.x.ai/docs/models, ollama.com/search?c=vision.
var (
	seers = regexp.MustCompile(`^(?:.*/)?(?:gpt-4o|chatgpt-|gpt-4\.[15]|gpt-4-turbo|gpt-(?:[5-9]|[12]\d)|o[1-9]` +
		`|gemini-(?:[2-9]|\d\d|1\.5|flash|pro)|(?:[a-z.]*anthropic\.)?claude-|grok-(?:[4-9]|2-vision|vision)` +
		`|llama-?4|gemma-?3|pixtral|llava|minicpm-v|mistral-(?:small-?3\.[12]|medium))|vision|[-.\d]vl`)
	blind = regexp.MustCompile(`^(?:.*/)?(?:o1-mini|o1-preview|o3-mini|gpt-4o.*-(?:audio|realtime|transcribe|tts)` +
		`|claude-(?:2|instant)|gemini-.*(?:embedding|tts))|^gpt-4-turbo-preview`)
)

// Seen reports whether a model is known to have vision, by its name.
func Seen(model string) bool {
	model = strings.ToLower(model)
	return seers.MatchString(model) && !blind.MatchString(model)
}

// many matches models whose services accept 20 or more images per request. Claude also accepts larger images, up to 20.
// https://platform.claude.com/docs/en/build-with-claude/vision (read 2026-11-23)
var many = regexp.MustCompile(`^(?:.*/)?(?:gpt-|chatgpt-|o[1-9]|gemini-|(?:[a-z.]*anthropic\.)?claude-|grok-)`)

// Most is how many images a request to a model may have. Services for open models allow fewer: Groq 5
// (https://console.groq.com/docs/vision), Scaleway 12 (read 2026-11-23).
func Most(model string) int {
	if many.MatchString(strings.ToLower(model)) {
		return 20
	}
	return 5
}

// Tokens estimates how many tokens a model uses for an image, whose size is in pixels.
//   - OpenAI: the image is scaled to fit 2,048 × 2,048, then to 768 for the shorter edge. The image and each tile of 512 × 512
//     have a cost. The small models of newer families count patches of 32 × 32, at most 1,536.
//     https://platform.openai.com/docs/guides/images-vision
//   - Gemini: 258, or 258 per tile of 768 × 768. From version 3, 1,120 for any image.
//     https://ai.google.dev/gemini-api/docs/tokens, …/media-resolution
//   - Claude and unknown models: width × height / 750.
//     https://docs.claude.com/en/docs/build-with-claude/vision
//
// All read 2026-11-22.
func Tokens(model string, width, height int) int {
	model = strings.ToLower(model[strings.LastIndex(model, "/")+1:])
	w, h := float64(width), float64(height)
	for _, row := range []struct {
		prefix           string
		whole, each, max float64
	}{ // the longest name first; max means that it counts patches
		{"gpt-4.1-mini", 0, 1.62, 1536}, {"gpt-4.1-nano", 0, 2.46, 1536}, {"o4-mini", 0, 1.72, 1536},
		{"gpt-5-mini", 0, 1.62, 1536}, {"gpt-5-nano", 0, 2.46, 1536},
		{"gpt-4o-mini", 2833, 5667, 0}, {"gpt-5", 70, 140, 0}, {"gpt-", 85, 170, 0}, {"chatgpt-", 85, 170, 0},
		{"o1", 75, 150, 0}, {"o3", 75, 150, 0},
	} {
		switch {
		case !strings.HasPrefix(model, row.prefix):
		case row.max > 0:
			return int(math.Ceil(min(tiles(w, h, 32), row.max) * row.each))
		default:
			by := min(1, 2048/max(w, h))
			by = min(by, 768/min(w, h))
			return int(row.whole + row.each*tiles(w*by, h*by, 512))
		}
	}
	switch {
	case strings.HasPrefix(model, "gemini-3"):
		return 1120
	case strings.HasPrefix(model, "gemini-") && max(w, h) <= 384:
		return 258
	case strings.HasPrefix(model, "gemini-"):
		return int(258 * tiles(w, h, 768))
	}
	return int(math.Ceil(w * h / 750))
}

func tiles(w, h, edge float64) float64 { return math.Ceil(w/edge) * math.Ceil(h/edge) }
