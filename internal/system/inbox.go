package system

import (
	"encoding/base64"
	"strings"
)

// ShortDigest is the number of characters of a digest that identify the call.
const ShortDigest = 12

// Place is the sort key of an item in the inbox. The text "paused" sorts after all dates.
func (t Thing) Place() string {
	until := "paused"
	if !t.Expires.IsZero() {
		until = t.Expires.UTC().Format("2006-01-02T15:04:05.000000000")
	}
	return strings.Join([]string{until, t.Investigation, t.Name}, " ")
}

// Cursor is the cursor of the page after the item.
func (t Thing) Cursor() string { return base64.RawURLEncoding.EncodeToString([]byte(t.Place())) }
