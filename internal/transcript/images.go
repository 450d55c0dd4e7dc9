package transcript

import "regexp"

// ImageNote is the line after the text of a result that describes one of its images to the model. about begins with "image of" or
// "image:".
func ImageNote(about string) string { return "\n[" + about + "]" }

// imageNotes matches the notes at the end of a text. A server's own mention of an image, which package mcp writes, has another form.
var imageNotes = regexp.MustCompile(`(\n\[image( of|:) [^\n]*\])+$`)

// WithoutImageNotes returns the text of a result as its tool has returned it.
func WithoutImageNotes(text string) string { return imageNotes.ReplaceAllString(text, "") }
