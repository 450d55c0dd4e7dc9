// Package memory keeps what agents learned between runs: blocks, which stand in
// the system prompt, archival entries, which are searched, and what was said. The
// rules are here, without a database: one lends a Tx to them (internal/store).
//
// A memory belongs to an agent's definition, whichever investigation it works in,
// and is never an argument of a tool: nothing leaks from one agent to another.
package memory

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/transcript"
)

const (
	// MaxArchival is how many archival entries an agent may have.
	MaxArchival = 100_000
	// PageSize is how many results a search returns at a time.
	PageSize = 10
)

// Block is a part of the memory that stands in the system prompt.
type Block = agent.MemoryBlock

// Entry is an archival entry. Its ID is unique within the agent.
type Entry struct {
	ID      int64     `json:"id"` // from 1
	Content string    `json:"content"`
	At      time.Time `json:"at"`
}

// Message is something that was said in a conversation or an execution of the agent.
type Message struct {
	Role    agent.Role
	Content string
}

// Tx is one agent's memory, within a transaction. Searches return one page, from
// 0, best first and the newest among equals; what is found has at least one of
// the query's words (Query) in it.
type Tx interface {
	Block(ctx context.Context, label string) (b Block, found bool, err error)
	// Blocks returns all blocks, the oldest first.
	Blocks(ctx context.Context) ([]Block, error)
	// PutBlock writes a block in place of the one with its label, or as a new one.
	PutBlock(ctx context.Context, b Block) error
	// DeleteBlock and DeleteArchival tell whether there was such a thing.
	DeleteBlock(ctx context.Context, label string) (bool, error)
	DeleteArchival(ctx context.Context, id int64) (bool, error)
	CountArchival(ctx context.Context) (int, error)
	InsertArchival(ctx context.Context, content string) (id int64, err error)
	SearchArchival(ctx context.Context, query string, page int) ([]Entry, error)
	SearchConversation(ctx context.Context, query string, page int) ([]Message, error)
}

// Batch is calls of one reply that work on a memory, each a step of the journal.
type Batch struct {
	transcript.Scope
	transcript.Writer
	// Agent is whose memory it is: the definition in the plan (AgentPlan.Definition).
	Agent string
	// Keys are those of the results (transcript.ResultKey), in the order of the calls.
	Keys []transcript.Key
}

// Render writes the blocks as they stand in the system prompt (spec: agents,
// "Memory"). Values are shown as they are, so that a model can quote them to
// core_memory_replace; only what would close one of the elements around them is
// defused, its "<" as "&lt;". So no value passes for a block of another label,
// or for what stands behind the memory.
func Render(blocks []Block) string {
	var out strings.Builder
	out.WriteString("<memory_blocks>\n")
	closing := closingTags(blocks)
	for _, b := range blocks {
		show := func(text string) string { return closing.ReplaceAllString(text, "&lt;$1") }
		metadata := fmt.Sprintf("- chars_current=%d\n- chars_limit=%d", b.Size(), b.Limit)
		if b.ReadOnly { // in Letta's words
			metadata = "- read_only=true\n" + metadata
		}
		fmt.Fprintf(&out, "<%s><description>%s</description><metadata>%s</metadata><value>%s</value></%s>\n",
			b.Label, show(b.Description), metadata, show(b.Value), b.Label)
	}
	out.WriteString("</memory_blocks>")
	return out.String()
}

// closingTags matches what ends an element of the rendering, however it is
// spelled: models read </ Value > as </value>.
func closingTags(blocks []Block) *regexp.Regexp {
	names := []string{"memory_blocks", "description", "metadata", "value"}
	for _, b := range blocks {
		names = append(names, regexp.QuoteMeta(b.Label))
	}
	return regexp.MustCompile(`(?i)<(\s*/\s*(?:` + strings.Join(names, "|") + `)\s*>)`)
}
