package agent

// Image is an image in a tool's result. It is small enough for a model, and stored once under its hash.
type Image struct {
	Ref    string `json:"ref"`  // the hash of its bytes in the store
	Type   string `json:"type"` // image/png or image/jpeg
	Width  int    `json:"width"`
	Height int    `json:"height"`
	// Data is set only in a request to a model that can see images.
	Data []byte `json:"-"`
}
