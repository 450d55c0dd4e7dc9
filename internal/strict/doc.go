// Package strict reads YAML into tagged structs, strictly, and writes it again. It notes
// where every value was written, says everything that is wrong at once, expands
// variables, lays levels over each other, and tells of every value where it comes from.
// What the structs are about, it does not know: their tags are all that it goes by (see
// Schema).
package strict
