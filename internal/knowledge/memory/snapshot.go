package memory

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/inquest-dev/inquest/internal/agent"
)

// ErrExists means that an agent already has a memory, and replacing it was not requested.
var ErrExists = errors.New("the agent already has a memory")

// Format is the format of snapshots. Later formats have a higher number.
const Format = "inquest.memory/1"

// maxID leaves room for further IDs after an import.
const maxID = 1 << 31

// Snapshot is an agent's memory as a file. It does not contain past messages, which belong to the investigations and conversations.
type Snapshot struct {
	Format   string  `json:"format"`
	Agent    string  `json:"agent"`
	Blocks   []Block `json:"blocks"`
	Archival []Entry `json:"archival"`
}

// ReadSnapshot reads a snapshot and validates it.
func ReadSnapshot(r io.Reader) (Snapshot, error) {
	var s Snapshot
	decoder := json.NewDecoder(r)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&s); err != nil {
		return s, fmt.Errorf("read a memory: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return s, errors.New("read a memory: unexpected text after the JSON object")
	}
	return s, s.Validate()
}

// Validate returns all problems of the snapshot.
func (s Snapshot) Validate() error {
	var problems []error
	problem := func(format string, values ...any) { problems = append(problems, fmt.Errorf(format, values...)) }
	if s.Format != Format {
		problem("the format is %q, and must be %q", s.Format, Format)
	}
	if n := len(s.Blocks); n > agent.MaxMemoryBlocks {
		problem("%d memory blocks; the limit is %d", n, agent.MaxMemoryBlocks)
	}
	labels := map[string]bool{}
	for _, b := range s.Blocks {
		problems = append(problems, b.Validate())
		if labels[b.Label] {
			problem("memory block %q: another block has this label", b.Label)
		}
		labels[b.Label] = true
	}
	return errors.Join(errors.Join(problems...), s.validateArchival())
}

func (s Snapshot) validateArchival() error {
	var problems []error
	if n := len(s.Archival); n > MaxArchival {
		problems = append(problems, fmt.Errorf("%d archival entries; the limit is %d", n, MaxArchival))
	}
	ids := map[int64]bool{}
	for i, e := range s.Archival {
		switch {
		case e.ID < 1 || e.ID > maxID:
			problems = append(problems, fmt.Errorf("archival[%d]: the ID %d is not between 1 and %d", i, e.ID, maxID))
		case ids[e.ID]:
			problems = append(problems, fmt.Errorf("archival[%d]: another entry has the ID %d", i, e.ID))
		case e.Content == "":
			problems = append(problems, fmt.Errorf("archival[%d]: the content is missing", i))
		}
		ids[e.ID] = true
	}
	return errors.Join(problems...)
}
