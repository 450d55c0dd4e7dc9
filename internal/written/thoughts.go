package written

import "strings"

// pair is how a model marks its thoughts.
type pair struct{ open, end string }

// pairs are the marks of known models. The servers of most of them take the marks away.
var pairs = []pair{
	{"<think>", "</think>"}, // DeepSeek R1, Qwen, GLM, MiniMax and many others
	{"<thinking>", "</thinking>"},
	{"<thought>", "</thought>"},
	{"<thoughts>", "</thoughts>"},
	{"<reasoning>", "</reasoning>"},
	{"<seed:think>", "</seed:think>"},              // Seed-OSS
	{"[THINK]", "[/THINK]"},                        // Magistral
	{"◁think▷", "◁/think▷"},                        // Kimi
	{"<|START_THINKING|>", "<|END_THINKING|>"},     // Command A
	{"<|begin_of_thought|>", "<|end_of_thought|>"}, // Sky-T1
	{"<|channel|>analysis<|message|>", "<|end|>"},  // gpt-oss
	{"<|channel>thought\n", "<channel|>"},          // Gemma 4
	{"<|inner_prefix|>", "<|inner_suffix|>"},       // Apertus
	{"<|thinking|>", "<|/thinking|>"},
}

// The marks that gpt-oss puts around the text itself.
const (
	harmonyStart = "<|start|>assistant"
	harmonyFinal = "<|channel|>final<|message|>"
)

var harmonyEnds = []string{"<|return|>", "<|end|>"}

// thoughts takes the thoughts out of a text: those before it, and blocks of their own within it. Thoughts
// whose end is missing reach to the end of the text, those whose beginning is missing (templates that
// write it for the model) from its start.
func thoughts(text string) (rest, thinking string) {
	var all []string
	rest = text
	for {
		trimmed := strings.TrimLeft(rest, " \t\r\n")
		trimmed = strings.TrimPrefix(trimmed, harmonyStart)
		p, ok := opened(trimmed)
		if !ok {
			break
		}
		inner, after, _ := strings.Cut(trimmed[len(p.open):], p.end)
		all, rest = append(all, inner), strings.TrimLeft(after, " \t\r\n")
	}
	if len(all) == 0 {
		if inner, after, ok := unopened(rest); ok {
			all, rest = append(all, inner), strings.TrimLeft(after, " \t\r\n")
		}
	}
	for {
		before, inner, after, ok := block(rest)
		if !ok {
			break
		}
		all, rest = append(all, inner), before+after
	}
	if final := strings.TrimPrefix(strings.TrimLeft(rest, " \t\r\n"), harmonyStart); strings.HasPrefix(final, harmonyFinal) {
		final = final[len(harmonyFinal):]
		rest = final
		for _, end := range harmonyEnds {
			rest = strings.TrimSuffix(rest, end)
		}
	}
	for n := range all {
		all[n] = strings.TrimSpace(all[n])
	}
	return rest, strings.TrimSpace(strings.Join(all, "\n\n"))
}

// opened returns the marks that a text begins with.
func opened(text string) (pair, bool) {
	for _, p := range pairs {
		if strings.HasPrefix(text, p.open) {
			return p, true
		}
	}
	return pair{}, false
}

// unopened splits a text at a mark that ends thoughts and has no beginning. It must be the only one, and
// begin or end its line: models also write about it.
func unopened(text string) (inner, after string, ok bool) {
	for _, p := range pairs {
		at := strings.Index(text, p.end)
		if at < 0 || p.end == "<|end|>" || strings.Contains(text, p.open) || strings.Count(text, p.end) > 1 || inCode(text, at) {
			continue
		}
		inner, after = text[:at], text[at+len(p.end):]
		if inner == "" || strings.HasSuffix(inner, "\n") || after == "" || after[0] == '\n' || after[0] == '\r' {
			return inner, after, true
		}
	}
	return "", "", false
}

// block finds thoughts within a text: their marks begin a line and end one.
func block(text string) (before, inner, after string, ok bool) {
	for _, p := range pairs {
		for from := 0; ; {
			at := strings.Index(text[from:], "\n"+p.open)
			if at < 0 {
				break
			}
			at += from + 1
			from = at
			inner, after, found := strings.Cut(text[at+len(p.open):], p.end)
			if !found {
				break
			}
			if (strings.TrimSpace(after) == "" || strings.HasPrefix(strings.TrimLeft(after, " \t\r"), "\n")) && !inCode(text, at) {
				return text[:at], inner, strings.TrimLeft(after, " \t\r\n"), true
			}
		}
	}
	return "", "", "", false
}
