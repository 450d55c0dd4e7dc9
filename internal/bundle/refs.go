package bundle

import (
	"encoding/json"
	"regexp"
	"slices"

	"github.com/inquest-dev/inquest/internal/kit/walk"
	"github.com/inquest-dev/inquest/internal/record"
)

// blobName is the form of the names of blobs.
var blobName = regexp.MustCompile(`^[0-9a-f]{32}$`)

// prose are the keys of texts that models, tools and people wrote: they refer to nothing.
var prose = []string{"text", "thinking", "arguments", "report", "error", "judgement"}

// Refs returns the names of blobs that rows refer to.
func Refs(rows []record.Row) []string {
	var names []string
	for _, row := range rows {
		for column, value := range row.Values {
			text, ok := value.(string)
			switch {
			case !ok || slices.Contains(prose, column):
			case blobName.MatchString(text):
				names = append(names, text)
			default:
				names = append(names, RefsIn([]byte(text))...)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// RefsIn returns the names of blobs in a JSON document, such as a plan. It returns nil if the text is not JSON.
func RefsIn(document []byte) (names []string) {
	var root any
	if json.Unmarshal(document, &root) != nil {
		return nil
	}
	walk.Texts(root, func(text string) {
		if blobName.MatchString(text) {
			names = append(names, text)
		}
	}, prose...)
	return names
}
