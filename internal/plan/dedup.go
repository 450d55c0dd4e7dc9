package plan

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
)

// Dedup says which requests ask for the same: the second of them is given the investigation
// of the first.
type Dedup struct {
	// By are the parts of a request that are compared; none = only requests that bring a
	// fingerprint ask for the same.
	By []string `json:"by,omitempty"`
	// Within is how long, from its end, an investigation that has completed stands for
	// others; 0 = it stands for them only while it runs.
	Within Duration `json:"within,omitempty"`
}

// maxFingerprint is from where on a hash stands for a fingerprint, in bytes.
const maxFingerprint = 200

// Fingerprint is that which a request brings, or what the chain makes of its parts. A request
// that lacks one of them has none: two alerts that both lack a field need not be the same. Nor need
// two in which the same mask hides it.
func (d Dedup) Fingerprint(chain string, req agent.Request, data string) (fingerprint, missing string) {
	const unmasked = " that is not masked"
	switch {
	case strings.Contains(req.Fingerprint, Mask):
		return "", "fingerprint" + unmasked
	case req.Fingerprint != "" || len(d.By) == 0:
		return req.Fingerprint, ""
	}
	text := chain
	for _, by := range d.By {
		part := partOf(req, data, by)
		switch {
		case part == "":
			return "", by
		case strings.Contains(part, Mask):
			return "", by + unmasked
		}
		text += fmt.Sprintf(" %q", part)
	}
	if len(text) > maxFingerprint {
		return fmt.Sprintf("%s %x", chain, sha256.Sum256([]byte(text)))[:len(chain)+1+32], ""
	}
	return text, ""
}

// partOf is a part of a request by its name; "" = it has none.
func partOf(req agent.Request, data, name string) string {
	first, rest, _ := strings.Cut(name, ".")
	switch {
	case name == "alert_type":
		return req.AlertType
	case name == "tenant":
		return req.Tenant
	case name == "session":
		return req.Session
	case name == "data":
		return data
	case first == "metadata":
		return req.Metadata[rest]
	}
	value := json.RawMessage(data)
	for key := range strings.SplitSeq(rest, ".") {
		var object map[string]json.RawMessage
		if json.Unmarshal(value, &object) != nil {
			return ""
		}
		value = object[key]
	}
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	var compact bytes.Buffer
	if json.Compact(&compact, value) != nil {
		return ""
	}
	return compact.String()
}
