// Package memory holds what agents learn across runs: blocks, which are in the system prompt; archival entries, which can be
// searched; and past messages. It contains the rules without a database; internal/store provides the Tx.
//
// A memory belongs to an agent's definition, in whichever investigation it works. It is never an argument of a tool, so nothing
// leaks from one agent to another.
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
	// MaxArchival is the maximum number of an agent's archival entries.
	MaxArchival = 100_000
	// PageSize is the number of search results on a page.
	PageSize = 10
)

// Block is a part of the memory that is in the system prompt.
type Block = agent.MemoryBlock

// Entry is an archival entry. Its ID is unique within the agent.
type Entry struct {
	ID      int64     `json:"id"` // from 1
	Content string    `json:"content"`
	At      time.Time `json:"at"`
}

// Message is a message in a conversation or an execution of the agent.
type Message struct {
	Role    agent.Role
	Content string
}

// Tx is one agent's memory within a transaction. Searches return one page (pages count from 0), best matches first, and newest
// first among equals. A match contains at least one of the query's words (Query).
type Tx interface {
	Block(ctx context.Context, label string) (b Block, found bool, err error)
	// Blocks returns all blocks, oldest first.
	Blocks(ctx context.Context) ([]Block, error)
	// PutBlock writes a block and replaces the one with the same label, if any.
	PutBlock(ctx context.Context, b Block) error
	// DeleteBlock and DeleteArchival report whether the item existed.
	DeleteBlock(ctx context.Context, label string) (bool, error)
	DeleteArchival(ctx context.Context, id int64) (bool, error)
	CountArchival(ctx context.Context) (int, error)
	InsertArchival(ctx context.Context, content string) (id int64, err error)
	SearchArchival(ctx context.Context, query string, page int) ([]Entry, error)
	SearchConversation(ctx context.Context, query string, page int) ([]Message, error)
}

// Batch is the calls of one reply that work on a memory. Each call is a step of the journal.
type Batch struct {
	transcript.Scope
	transcript.Writer
	// Requires: see transcript.Step.
	Requires []transcript.Mark
	// Agent is the memory's owner: the definition in the plan (AgentPlan.Definition).
	Agent string
	// Keys are the keys of the results (transcript.ResultKey), in the order of the calls.
	Keys []transcript.Key
}

// Render returns the blocks as they appear in the system prompt (spec: agents, "Memory"). Values appear unchanged, so that a model
// can quote them to core_memory_replace. Only a tag that would close an enclosing element gets "&lt;" for its "<". So no value can
// pass for a block with another label, or for text after the memory.
func Render(blocks []Block) string {
	var out strings.Builder
	out.WriteString("<memory_blocks>\n")
	closing := closingTags(blocks)
	for _, b := range blocks {
		show := func(text string) string { return closing.ReplaceAllString(text, "&lt;$1") }
		metadata := fmt.Sprintf("- chars_current=%d\n- chars_limit=%d", b.Size(), b.Limit)
		if b.ReadOnly { // the wording of Letta
			metadata = "- read_only=true\n" + metadata
		}
		fmt.Fprintf(&out, "<%s><description>%s</description><metadata>%s</metadata><value>%s</value></%s>\n",
			b.Label, show(b.Description), metadata, show(b.Value), b.Label)
	}
	out.WriteString("</memory_blocks>")
	return out.String()
}

// closingTags matches closing tags of the rendered elements in any spelling, because models read </ Value > as </value>.
func closingTags(blocks []Block) *regexp.Regexp {
	names := []string{"memory_blocks", "description", "metadata", "value"}
	for _, b := range blocks {
		names = append(names, regexp.QuoteMeta(b.Label))
	}
	return regexp.MustCompile(`(?i)<(\s*/\s*(?:` + strings.Join(names, "|") + `)\s*>)`)
}
