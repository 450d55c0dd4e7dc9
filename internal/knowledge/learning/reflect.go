package learning

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/knowledge/memory"
)

// The limits of a reflection.
const (
	MaxNew  = 10 // new learnings
	MaxRows = 10 // rows that show a learning
)

// Schema is the JSON schema of a reflection. Parse checks what it cannot express.
var Schema = json.RawMessage(`{"type":"object","additionalProperties":false,"required":["new","confirmed","contradicted"],"properties":{
"new":{"type":"array","maxItems":10,"items":{"type":"object","additionalProperties":false,"required":["kind","polarity","text","rows"],
"properties":{"kind":{"type":"string","enum":["semantic","episodic","procedural"]},
"polarity":{"type":"string","enum":["positive","negative","neutral"]},
"text":{"type":"string","minLength":1,"maxLength":500},
"rows":{"type":"array","minItems":1,"maxItems":10,"items":{"type":"integer","minimum":1}}}}},
"confirmed":{"type":"array","items":{"type":"string"}},
"contradicted":{"type":"array","items":{"type":"string"}}}}`)

// Reflection holds the learnings that an agent found in an investigation.
type Reflection struct {
	New                     []New
	Confirmed, Contradicted []int64 // earlier learnings
}

// New is a learning that is not stored yet.
type New struct {
	Kind     Kind     `json:"kind"`
	Polarity Polarity `json:"polarity"`
	Text     string   `json:"text"`
	Rows     []int64  `json:"rows"`
}

// Parse reads a reflection strictly. known are the learnings that the agent was shown: it can confirm or contradict no others.
// The error lists everything that is wrong. Repetitions are dropped.
func Parse(object []byte, known []int64) (out Reflection, err error) {
	var said struct {
		New          []New    `json:"new"`
		Confirmed    []string `json:"confirmed"`
		Contradicted []string `json:"contradicted"`
	}
	decoder := json.NewDecoder(bytes.NewReader(object))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&said); err != nil {
		return out, fmt.Errorf("read the reflection: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return out, errors.New("read the reflection: there is text after the JSON object")
	}
	var problems []error
	if len(said.New) > MaxNew {
		problems = append(problems, fmt.Errorf("%d new learnings are too many: at most %d are allowed", len(said.New), MaxNew))
	}
	digests := map[string]bool{}
	for n, one := range said.New {
		one.Text = strings.TrimSpace(one.Text)
		if problem := one.problem(); problem != nil {
			problems = append(problems, fmt.Errorf("new[%d]: %w", n, problem))
		}
		if digest := Digest(one.Text); !digests[digest] {
			digests[digest] = true
			slices.Sort(one.Rows)
			one.Rows = slices.Compact(one.Rows)
			out.New = append(out.New, one)
		}
	}
	out.Confirmed, problems = named(said.Confirmed, known, problems)
	out.Contradicted, problems = named(said.Contradicted, known, problems)
	for _, id := range out.Confirmed {
		if slices.Contains(out.Contradicted, id) {
			problems = append(problems, fmt.Errorf("%s is both confirmed and contradicted", Name(id)))
		}
	}
	return out, errors.Join(problems...)
}

func (n New) problem() error {
	switch {
	case !slices.Contains(Kinds(), n.Kind):
		return fmt.Errorf("kind %q is not one of %v", n.Kind, Kinds())
	case !slices.Contains(Polarities(), n.Polarity):
		return fmt.Errorf("polarity %q is not one of %v", n.Polarity, Polarities())
	case len(n.Rows) == 0 || len(n.Rows) > MaxRows:
		return fmt.Errorf("%d rows given, 1 to %d required", len(n.Rows), MaxRows)
	}
	return textProblem(n.Text)
}

func named(names []string, known []int64, problems []error) ([]int64, []error) {
	var ids []int64
	for _, name := range names {
		id, err := ParseName(name)
		switch {
		case err != nil:
			problems = append(problems, err)
		case !slices.Contains(known, id):
			problems = append(problems, fmt.Errorf("%s is not one of the learnings that were shown", Name(id)))
		case !slices.Contains(ids, id):
			ids = append(ids, id)
		}
	}
	return ids, problems
}

// Digest is the same for texts with the same words in the same order.
func Digest(text string) string { return strings.Join(memory.Words(text), " ") }

// Taught holds the learnings from an investigation. New learnings need no ID, investigation or times.
type Taught struct {
	Investigation           string
	At                      time.Time
	New                     []Learning
	Confirmed, Contradicted []int64
}

// Outcome lists the learnings that an investigation has changed.
type Outcome struct {
	Created      []int64 `json:"created,omitempty"`
	Confirmed    []int64 `json:"confirmed,omitempty"`
	Contradicted []int64 `json:"contradicted,omitempty"`
}
