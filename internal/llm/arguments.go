package llm

import (
	"bytes"
	"encoding/json"
)

// MaxArguments limits the arguments of a call while they stream, in bytes. Package tool refuses longer ones, so more
// text can never become a call.
const MaxArguments = 1 << 20

// Arguments collects the streamed arguments of a call. It takes time in proportion to their length and keeps hardly
// more than MaxArguments. The zero value is ready.
//
// It detects repetition like Text does, but only if the repetition fills the whole window: arguments hold data, such as
// encoded files, that may repeat itself for a while.
type Arguments struct{ text Text }

// Add appends a piece. It reports whether the arguments are over: too long, or repeating themselves.
func (a *Arguments) Add(piece string) (over bool) {
	a.text.patient = true
	if room := max(MaxArguments+1-a.Len(), 0); len(piece) > room {
		piece = piece[:room]
	}
	a.text.Add(piece)
	return a.TooLong() || a.Repeating()
}

// Len returns how many bytes have been kept.
func (a *Arguments) Len() int { return a.text.all.Len() }

// TooLong reports whether the arguments are longer than MaxArguments.
func (a *Arguments) TooLong() bool { return a.Len() > MaxArguments }

// Repeating reports whether the arguments repeat themselves.
func (a *Arguments) Repeating() bool { return a.text.stuck }

// String returns the arguments.
func (a *Arguments) String() string { return a.text.all.String() }

// Whole reports whether the arguments are complete JSON.
func (a *Arguments) Whole() bool { return json.Valid([]byte(a.String())) }

// Piece is a piece of a call's arguments. It decodes a string as its text, null as nothing, and any other JSON value,
// which some servers send instead of a string, as its JSON.
type Piece string

// UnmarshalJSON implements json.Unmarshaler. It never fails.
func (p *Piece) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil { // also null
		*p = Piece(text)
		return nil
	}
	var out bytes.Buffer
	if json.Compact(&out, data) == nil {
		*p = Piece(out.String())
	}
	return nil
}
