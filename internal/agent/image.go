package agent

// Image is a picture that the result of a tool has: small enough for a model, and kept in
// the store once, by its hash.
type Image struct {
	Ref    string `json:"ref"`  // the hash of its bytes in the store
	Type   string `json:"type"` // image/png or image/jpeg
	Width  int    `json:"width"`
	Height int    `json:"height"`
	// Data are its bytes, for a model that sees; nil everywhere but in a request to one.
	Data []byte `json:"-"`
}
