package record

// Row is a row of one of the store's tables about an investigation, for bundles.
type Row struct {
	Table string `json:"table"`
	// Values are those of the columns, by name: a text, an int64, a bool, or nil.
	Values map[string]any `json:"values"`
}
