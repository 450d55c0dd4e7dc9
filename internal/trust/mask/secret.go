package mask

import "strings"

// manifest holds the known facts about a mapping that may be a Kubernetes object.
type manifest struct {
	kind, apiVersion, typ string
	stringData            bool
	// pending is the index of the mapping's first span in its scanner's list of
	// values that are masked if the mapping turns out to be a Secret.
	pending int
}

// identifies reports whether a key identifies the mapping.
func identifies(key string) bool {
	return key == "kind" || key == "apiVersion" || key == "type" || key == "stringData"
}

// set records a key that identifies the mapping.
func (m *manifest) set(key, value string) {
	switch key {
	case "kind":
		if !isSecretKind(m.kind) { // of two kinds, Secret wins
			m.kind = scalar(value)
		}
	case "apiVersion":
		m.apiVersion = scalar(value)
	case "type":
		m.typ = scalar(value)
	case "stringData":
		m.stringData = true
	}
}

// isSecret reports whether the mapping is a Secret, or looks like one without its kind: an item of a list of Secrets, or a
// truncated text.
func (m *manifest) isSecret() bool {
	if m.kind != "" {
		return isSecretKind(m.kind)
	}
	return m.stringData || m.apiVersion == "v1" || secretType(m.typ)
}

// judged holds the data values that a scanner has found.
type judged struct {
	pending []span // of mappings that may turn out to be a Secret or part of a list of Secrets
	found   []span // of Secrets
}

// judge decides on the data of a mapping that ends.
func (j *judged) judge(m *manifest) {
	switch {
	case m.isSecret(), strings.EqualFold(m.kind, "SecretList"):
		j.found = append(j.found, j.pending[m.pending:]...)
	case m.kind == "":
		return // the enclosing mapping may be a list of Secrets
	}
	j.pending = j.pending[:m.pending]
}

func isSecretKind(kind string) bool {
	return strings.EqualFold(kind, "Secret") || strings.HasPrefix(kind, "*") // an alias may stand for it
}

func secretType(name string) bool {
	return name == "Opaque" || strings.HasPrefix(name, "kubernetes.io/") ||
		strings.HasPrefix(name, "helm.sh/release") || name == "bootstrap.kubernetes.io/token"
}

func isData(key string) bool { return key == "data" || key == "stringData" }

// scalar returns the text of a scalar without quotes, comments, tags and anchors.
func scalar(text string) string {
	text, _, _ = strings.Cut(text, " #")
	text = strings.Trim(text, " \t\r,")
	for strings.HasPrefix(text, "!") || strings.HasPrefix(text, "&") {
		_, rest, found := strings.Cut(text, " ")
		if !found {
			return ""
		}
		text = strings.TrimLeft(rest, " ")
	}
	return strings.Trim(text, `"'\`)
}

// mentionsSecret reports whether a text may contain a Secret. For most texts, only this check runs.
func mentionsSecret(text string) bool {
	if !strings.Contains(text, "data") && !strings.Contains(text, "stringData") {
		return false
	}
	for _, word := range []string{"ecret", "SECRET", "stringData", "apiVersion", "Opaque", "kubernetes.io/"} {
		if strings.Contains(text, word) {
			return true
		}
	}
	return strings.Contains(text, "kind") && strings.Contains(text, "*")
}

const maxEscapes = 8 // nesting depth of quoted text in quoted text

// secretsInText masks the data of Kubernetes Secrets in a text: in YAML, in JSON, and in both within quotes.
func secretsInText(text string, depth int) string {
	if !mentionsSecret(text) {
		return text
	}
	text = secretsInQuotes(text, depth)
	text = secretsInFlow(text)
	return secretsInBlocks(text)
}

// secretsInQuotes examines quoted text whose own quotes or line ends are escaped.
func secretsInQuotes(text string, depth int) string {
	if !strings.Contains(text, `\"`) && !strings.Contains(text, `\n`) {
		return text
	}
	out := rewrite{text: text}
	start, run, escaped := 0, 0, false // escaped: since start
	for i := 0; i <= len(text); i++ {
		if i < len(text) && text[i] == '\\' {
			run, escaped = run+1, true
			continue
		}
		if i == len(text) || text[i] == '\n' || text[i] == '"' && run%2 == 0 {
			if part := text[start:i]; escaped && mentionsSecret(part) {
				if masked := secretsInPart(part, depth); masked != part {
					out.replace(start, i, masked)
				}
			}
			start, escaped = i+1, false
		}
		run = 0
	}
	return out.String()
}

func secretsInPart(part string, depth int) string {
	if depth == maxEscapes {
		return kubernetesSecret.marker()
	}
	inner := unescape(part)
	masked := secretsInText(inner, depth+1)
	if masked == inner {
		return part
	}
	return escape(masked)
}
