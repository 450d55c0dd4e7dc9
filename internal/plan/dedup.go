package plan

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
)

// Dedup says which requests are duplicates. A duplicate gets the investigation of the first request.
type Dedup struct {
	// By are the parts of a request to compare. If there are none, only requests with the same fingerprint are
	// duplicates.
	By []string `json:"by,omitempty"`
	// Within is how long after its end a completed investigation is used for duplicates. Zero means only while it runs.
	Within Duration `json:"within,omitempty"`
}

// maxFingerprint is the length, in bytes, above which a fingerprint is replaced by its hash.
const maxFingerprint = 200

// Fingerprint returns the request's own fingerprint, or one from its parts by the chain's rule. If a part is missing
// there is none, because two alerts without a field need not be the same. The same applies to a masked part.
func (d Dedup) Fingerprint(chain string, req agent.Request, data string) (fingerprint, missing string) {
	const unmasked = " without masked text"
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

// partOf returns a part of a request by name. Empty means that the request does not have it.
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
