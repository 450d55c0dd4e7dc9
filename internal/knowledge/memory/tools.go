package memory

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/tool"
)

// Names of parameters.
const (
	paramLabel   = "label"
	paramContent = "content"
	paramOld     = "old_content"
	paramNew     = "new_content"
	paramQuery   = "query"
)

// memoryTool is a tool with its specification and its implementation.
type memoryTool struct {
	spec     tool.Spec
	required []string // names of required text parameters
	run      func(ctx context.Context, tx Tx, a args) (tool.Result, error)
}

// Specs returns the memory tools. They are safe to repeat because of the journal: a call whose result is stored is not made again.
func Specs() (specs []tool.Spec) {
	for _, t := range tools() {
		specs = append(specs, t.spec)
	}
	return specs
}

// tools is computed once, because every step of every agent lists the tools.
var tools = sync.OnceValue(func() []memoryTool {
	return []memoryTool{
		write(agent.ToolCoreMemoryAppend, appendToBlock,
			"Appends a line to a block of your core memory, which is always in your context and persists after this run. "+
				"Creates the block if it does not exist.",
			paramLabel, "Which block, such as persona, human, facts, goals or scratch", paramContent, "The text to append"),
		write(agent.ToolCoreMemoryReplace, replaceInBlock,
			"Replaces every occurrence of a text in a block of your core memory.",
			paramLabel, "Which block", paramOld, "The exact text to replace", paramNew, "The replacement; empty to delete the text"),
		write(agent.ToolArchivalMemoryInsert, insertArchival,
			"Adds an entry to your archival memory, which is large and only accessible with archival_memory_search, "+
				"in this run and later ones.",
			paramContent, "The text to store; it must be self-contained"),
		search(agent.ToolArchivalMemorySearch, searchArchival,
			"Searches your archival memory for entries with any of the words, best match first."),
		search(agent.ToolConversationSearch, searchConversation,
			"Searches your current and earlier conversations and investigations "+
				"for any of the words, best match first. Tool results are not searched."),
	}
})

// write and search create a tool. params are pairs of a name and a description.
func write(name string, run func(context.Context, Tx, args) (tool.Result, error), description string, params ...string) memoryTool {
	t := memoryTool{run: run}
	t.spec = tool.Spec{Name: name, Description: description, Risk: agent.RiskWrite, Idempotent: true, Own: true}
	t.spec.Schema, t.required = schema("", params)
	return t
}

func search(name string, run func(context.Context, Tx, args) (tool.Result, error), description string) memoryTool {
	t := memoryTool{run: run}
	t.spec = tool.Spec{Name: name, Description: description, Risk: agent.RiskReadOnly, Idempotent: true, Own: true}
	page := fmt.Sprintf(`,"page":{"type":"integer","minimum":0,`+
		`"description":"Number of the page to return, from 0 (default 0); a page has at most %d results"}`, PageSize)
	t.spec.Schema, t.required = schema(page, []string{paramQuery, "The words to search for"})
	return t
}

func schema(more string, params []string) (body json.RawMessage, required []string) {
	var properties []string
	for pair := range slices.Chunk(params, 2) {
		required = append(required, pair[0])
		properties = append(properties, fmt.Sprintf(`%q:{"type":"string","description":%q}`, pair[0], pair[1]))
	}
	text := fmt.Sprintf(`{"type":"object","properties":{%s%s},"required":["%s"],"additionalProperties":false}`,
		strings.Join(properties, ","), more, strings.Join(required, `","`))
	return json.RawMessage(text), required
}
