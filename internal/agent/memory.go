package agent

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// DefaultMemoryLimit is the default limit on the value of a block, in characters.
const DefaultMemoryLimit = 20_000

// MaxMemoryBlocks is how many blocks an agent may have. More would dominate its system prompt.
const MaxMemoryBlocks = 64

const maxMemoryLabel = 64 // characters

// MemoryBlock is a part of an agent's memory that is included in its system prompt.
type MemoryBlock struct {
	Label       string `json:"label"`
	Value       string `json:"value"`
	Description string `json:"description,omitempty"`
	Limit       int    `json:"limit"`               // of the value, in characters
	ReadOnly    bool   `json:"read_only,omitempty"` // for the agent
}

// Size returns the length of the value, in characters.
func (b MemoryBlock) Size() int { return utf8.RuneCountInString(b.Value) }

// LabelProblem says why the label is invalid, or returns an empty string. The label becomes the name of an XML element.
func (b MemoryBlock) LabelProblem() string {
	switch {
	case b.Label == "":
		return "a label is required"
	case utf8.RuneCountInString(b.Label) > maxMemoryLabel:
		return fmt.Sprintf("a label has at most %d characters", maxMemoryLabel)
	}
	for i, r := range b.Label {
		letter := unicode.IsLetter(r) || r == '_'
		if !letter && (i == 0 || !unicode.IsDigit(r) && !strings.ContainsRune("-.", r)) {
			return "a label must begin with a letter or _ and contain only letters, digits, _, - and ."
		}
	}
	return ""
}

// SizeProblem says why the value is too long, or returns an empty string.
func (b MemoryBlock) SizeProblem() string {
	if b.Limit < 1 {
		return "the limit must be at least 1 character"
	}
	if n := b.Size(); n > b.Limit {
		return fmt.Sprintf("the value has %d characters, more than its limit of %d", n, b.Limit)
	}
	return ""
}

// Validate returns all problems with the block.
func (b MemoryBlock) Validate() error {
	var problems []error
	for _, problem := range []string{b.LabelProblem(), b.SizeProblem()} {
		if problem != "" {
			problems = append(problems, fmt.Errorf("memory block %q: %s", b.Label, problem))
		}
	}
	return errors.Join(problems...)
}
