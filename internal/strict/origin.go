package strict

import "fmt"

// Origin says where a value comes from: from a place in the files or, if Rule is not "",
// from a rule.
type Origin struct {
	At   Path
	Rule string
}

// From says where a value comes from.
type From struct {
	// Path is where the value was written: defaults.timeout. "" if it was not.
	Path string `json:"path,omitempty"`
	// File and Line are where that is; built-in files begin with "builtin/".
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	BuiltIn bool   `json:"built_in,omitempty"`
	// DefaultOf is the type whose default it is, where it was not written.
	DefaultOf string `json:"default_of,omitempty"`
}

// String is "file:line", "built-in" or "default of the type".
func (f From) String() string {
	switch {
	case f.DefaultOf != "":
		return "default of the type " + f.DefaultOf
	case f.BuiltIn:
		return "built-in"
	case f.Line == 0:
		return f.File
	}
	return fmt.Sprintf("%s:%d", f.File, f.Line)
}

// Where says for people where a value comes from.
func (r *Report) Where(o Origin) From {
	if o.Rule != "" {
		return From{DefaultOf: o.Rule}
	}
	at := r.position(o.At)
	return From{Path: o.At.Text, File: at.file, Line: at.line, BuiltIn: at.builtIn}
}
