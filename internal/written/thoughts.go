package written

import "strings"

// pair is a pair of marks around a model's thoughts.
type pair struct{ open, end string }

// pairs are the marks of known models. The servers of most of these models remove the marks.
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

// thoughts separates the thoughts from a text: those before it, and separate blocks within it. Thoughts without an end
// mark extend to the end of the text. Thoughts without a begin mark, which some templates write for the model, extend
// from its start.
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
	rest, inner := blocks(rest)
	all = append(all, inner...)
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

// unopened splits a text at an end mark of thoughts without a begin mark. It must be the only one, and begin or end its
// line, because models also write about such marks.
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

// blocks removes thoughts from the middle of a text. Their marks must begin and end a line, outside of code.
func blocks(text string) (rest string, thoughts []string) {
	var out strings.Builder
	var here place
	missing := map[pair]bool{}
	ends := map[pair]int{} // the position of the next end mark of a pair
	at := strings.IndexByte(text, '\n') + 1
	if at == 0 {
		return text, nil
	}
	from := 0 // the text from here on is not in out yet
	here.read(text[:at])
	for at < len(text) {
		p, ok := opened(text[at:])
		if ok && !missing[p] && !here.inCode() {
			if ends[p] < at+len(p.open) {
				end := strings.Index(text[at+len(p.open):], p.end)
				missing[p], ends[p] = end < 0, at+len(p.open)+end
			}
			after := text[min(ends[p]+len(p.end), len(text)):]
			if blank := strings.TrimLeft(after, " \t\r"); !missing[p] && (blank == "" || blank[0] == '\n') {
				thoughts = append(thoughts, text[at+len(p.open):ends[p]])
				out.WriteString(text[from:at])
				at = len(text) - len(strings.TrimLeft(after, " \t\r\n"))
				from = at
				continue
			}
		}
		end := strings.IndexByte(text[at:], '\n') + 1
		if end == 0 {
			break
		}
		here.read(text[at : at+end])
		at += end
	}
	out.WriteString(text[from:])
	return out.String(), thoughts
}
