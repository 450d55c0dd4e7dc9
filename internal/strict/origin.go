package strict

import (
	"fmt"
	"strings"
)

// Origin says where a value comes from: from a rule if Rule is set, or else from a place in the files.
type Origin struct {
	At   Path
	Rule string
}

// From says where a value comes from.
type From struct {
	// Path is where the value was written: defaults.timeout. It is empty if the value was not written.
	Path string `json:"path,omitempty"`
	// File and Line locate Path; built-in files begin with "builtin/".
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	BuiltIn bool   `json:"built_in,omitempty"`
	// DefaultOf is the type or the rule that the value is a default of, if it was not written.
	DefaultOf string `json:"default_of,omitempty"`
}

// String returns "file:line", "built-in", "default of the type" or "default (rule)".
func (f From) String() string {
	switch {
	case strings.Contains(f.DefaultOf, " "): // a rule in words
		return "default (" + f.DefaultOf + ")"
	case f.DefaultOf != "":
		return "default of the type " + f.DefaultOf
	case f.BuiltIn:
		return "built-in"
	case f.Line == 0:
		return f.File
	}
	return fmt.Sprintf("%s:%d", f.File, f.Line)
}

// Where resolves an origin for display.
func (r *Report) Where(o Origin) From {
	if o.Rule != "" {
		return From{DefaultOf: o.Rule}
	}
	at := r.position(o.At)
	return From{Path: o.At.Text, File: at.file, Line: at.line, BuiltIn: at.builtIn}
}
