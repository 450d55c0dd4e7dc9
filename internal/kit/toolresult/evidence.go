package toolresult

import "encoding/json"

// View is the evidence in the data of a tool.
type View struct {
	ItemsExplored []string       `json:"items_explored"`
	ItemsPending  []string       `json:"items_pending"`
	Discoveries   []Discovery    `json:"discoveries"`
	Evidence      []Citation     `json:"evidence"`
	Raw           map[string]any `json:"raw"` // all of the data, not copied
}

// Discovery is a resource that a tool found.
type Discovery struct {
	Identifier string         `json:"identifier"`
	ItemType   string         `json:"item_type"` // "item" if the tool does not say
	Location   string         `json:"location,omitempty"`
	Metadata   map[string]any `json:"metadata,omitempty"`
}

// Citation is a piece of evidence that a report can refer to.
type Citation struct {
	Location  string `json:"location"`
	Content   string `json:"content"`
	Relevance string `json:"relevance"`
	// Confidence is from 0 to 1; it is 0.9 if the tool gives no valid number.
	Confidence float64 `json:"confidence"`
	// Assumed means that the tool did not give a confidence.
	Assumed bool `json:"confidence_assumed,omitempty"`
}

const (
	defaultItemType   = "item"
	defaultConfidence = 0.9
)

// Evidence reads the view from a result's data, and shares its maps. It is lenient: it accepts one item in place of a list, a text
// in place of a discovery (its identifier) or of a citation (its content), and any value in place of a text. Items that name
// nothing are left out.
func Evidence(data map[string]any) View {
	v := View{ItemsExplored: texts(data["items_explored"]), ItemsPending: texts(data["items_pending"]), Raw: data}
	for _, found := range list(data["discoveries"]) {
		if d := discovery(found); d.Identifier != "" {
			v.Discoveries = append(v.Discoveries, d)
		}
	}
	for _, found := range list(data["evidence"]) {
		if c := citation(found); c.Location != "" || c.Content != "" {
			v.Evidence = append(v.Evidence, c)
		}
	}
	return v
}

func discovery(found any) Discovery {
	fields, ok := asMap(found)
	if !ok {
		return Discovery{Identifier: printed(found), ItemType: defaultItemType}
	}
	d := Discovery{Identifier: printed(fields["identifier"]), ItemType: defaultItemType, Location: printed(fields["location"])}
	if itemType, ok := fields["item_type"].(string); ok && itemType != "" {
		d.ItemType = itemType
	}
	d.Metadata, _ = fields["metadata"].(map[string]any)
	return d
}

func citation(found any) Citation {
	fields, ok := asMap(found)
	if !ok {
		return Citation{Content: printed(found), Confidence: defaultConfidence, Assumed: true}
	}
	sure, said := confidence(fields["confidence"])
	return Citation{
		Location:   printed(fields["location"]),
		Content:    printed(fields["content"]),
		Relevance:  printed(fields["relevance"]),
		Confidence: sure,
		Assumed:    !said,
	}
}

func confidence(v any) (sure float64, said bool) {
	var number float64
	switch v := v.(type) {
	case float64:
		number = v
	case int:
		number = float64(v)
	case json.Number:
		var err error
		if number, err = v.Float64(); err != nil {
			return defaultConfidence, false
		}
	default:
		return defaultConfidence, false
	}
	if number >= 0 && number <= 1 { // false for NaN
		return number, true
	}
	return defaultConfidence, false
}

func texts(v any) []string {
	var out []string
	for _, one := range list(v) {
		if text := printed(one); text != "" {
			out = append(out, text)
		}
	}
	return out
}

// list returns the elements of a list, or a single value as a list.
func list(v any) []any {
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		return v
	case []string:
		return anys(v)
	case []map[string]any:
		return anys(v)
	}
	return []any{v}
}

func anys[T any](all []T) []any {
	out := make([]any, len(all))
	for i, one := range all {
		out[i] = one
	}
	return out
}
