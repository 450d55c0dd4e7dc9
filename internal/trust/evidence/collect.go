package evidence

import (
	"cmp"
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/toolresult"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// Blob reads content that is too large for an entry.
type Blob func(ctx context.Context, hash string) ([]byte, error)

// Collect reads the journal of an investigation. Later entries add to the result and do not change its numbers.
func Collect(ctx context.Context, entries []transcript.Entry, blob Blob) (Evidence, error) {
	c := newCollection(blob)
	for _, e := range slices.SortedFunc(slices.Values(entries), func(a, b transcript.Entry) int { return cmp.Compare(a.Seq, b.Seq) }) {
		if err := c.row(ctx, e); err != nil {
			return Evidence{}, err
		}
		if e.Kind == transcript.KindReply && len(e.Calls) == 0 {
			c.reply(e)
		}
	}
	return c.Evidence, nil
}

// row adds an entry that can be quoted.
func (c *collection) row(ctx context.Context, e transcript.Entry) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	switch {
	case e.Kind == transcript.KindResult && e.Call != nil && !slices.Contains(hearsay, e.Call.Name):
		return c.result(ctx, e)
	case e.Kind == transcript.KindUser && e.Mail == 0:
		c.task(e)
	}
	return nil
}

func newCollection(blob Blob) *collection {
	return &collection{
		Evidence: Evidence{Items: []Item{}, names: map[string]bool{}, quoted: map[string]map[string]int{}},
		numbers:  map[piece]int{}, given: map[int64]string{}, rows: map[string][]*row{}, blob: blob,
	}
}

// hearsay lists tools whose results are statements of agents, also in earlier investigations, or general knowledge.
var hearsay = append(slices.Concat(agent.OrchestrationTools(), agent.SkillTools(), agent.RecallTools()),
	agent.ToolCoreMemoryAppend, agent.ToolCoreMemoryReplace, agent.ToolArchivalMemoryInsert, agent.ToolArchivalMemorySearch,
	agent.ToolConversationSearch, agent.ToolPauseHeartbeats, agent.ToolSearchTools)

type collection struct {
	Evidence
	numbers map[piece]int     // of the pieces that are not superseded
	given   map[int64]string  // who gave a result, instead of the tool, by its number
	rows    map[string][]*row // by execution, in the order of the journal
	blob    Blob
}

// piece is the identity of a piece of evidence.
type piece struct {
	by string
	toolresult.Citation
	Source
	problem string
}

// row is a text that can be quoted: a tool's result, or the alert in an execution's task.
type row struct {
	Source
	text   string
	asked  string  // the arguments of the call
	folded *folded // nil means not folded yet
}

// alert matches the beginning of the alert in a task. Only our own text may precede it.
var alert = regexp.MustCompile(`(?s)^# Alert\n[^\n]*\n<(alert-[0-9a-f]{16})>\n`)

// task adds the alert, which is in an execution's first message.
func (c *collection) task(e transcript.Entry) {
	m := alert.FindStringSubmatchIndex(e.Text)
	if m == nil || e.Superseded || len(c.rows[e.Execution]) > 0 {
		return
	}
	text, _, _ := strings.Cut(e.Text[m[1]:], "\n</"+e.Text[m[2]:m[3]]+">")
	c.quotable(e.Execution, &row{Source: Source{Execution: e.Execution, Seq: e.Seq, Tool: "alert", From: m[1]}, text: text})
}

// quotable adds a text that an execution has read.
func (c *collection) quotable(execution string, r *row) {
	c.rows[execution], c.results = append(c.rows[execution], r), append(c.results, r)
}

// result adds a tool's result, and the pieces that the result itself names as evidence.
func (c *collection) result(ctx context.Context, e transcript.Entry) error {
	text, err := e.Whole(ctx, c.blob)
	if err != nil {
		return err
	}
	source := Source{Execution: e.Execution, Seq: e.Seq, Tool: e.Call.Name}
	if e.Given != "" {
		c.given[e.Seq] = e.Given
	}
	if !e.Superseded {
		c.quotable(e.Execution, &row{Source: source, text: text, asked: e.Call.Arguments})
		c.learn(e.Call.Arguments)
	}
	view, spans := structured(text, len(e.Artifacts) > 0)
	for n, found := range view.Evidence {
		from, to := spans["evidence"][n].from, spans["evidence"][n].to
		item := Item{Citation: found, By: e.Execution, Source: source, asked: e.Call.Arguments}
		item.From, item.To = from, to
		item.text = strings.Join([]string{found.Location, found.Content}, "\n")
		c.add(item, e.Superseded)
	}
	for n, found := range view.Discoveries {
		source.From, source.To = spans["discoveries"][n].from, spans["discoveries"][n].to
		c.discover(Discovery{found, e.Execution, source}, e.Superseded)
	}
	if !e.Superseded {
		c.leave(view.ItemsPending)
	}
	return nil
}

// add numbers a piece of evidence; 0 means that it is left out. A piece that the same execution has named before keeps its number.
func (c *collection) add(item Item, superseded bool) int {
	item.Location, item.Content, item.Relevance = kept(item.Location), kept(item.Content), kept(item.Relevance)
	item.text, item.asked = kept(item.text), kept(item.asked)
	if by := c.given[item.Seq]; by != "" && item.Problem == "" {
		item.Problem = by + " gave this result instead of the tool"
	}
	if superseded {
		item.Problem = undone
	}
	same := piece{item.By, item.Citation, item.Source, item.Problem}
	switch n := c.numbers[same]; {
	case n > 0:
		return n
	case len(c.Items) >= maxItems:
		c.LeftOut++
		return 0
	}
	item.N = len(c.Items) + 1
	c.Items = append(c.Items, item)
	if !superseded {
		c.numbers[same] = item.N
	}
	return item.N
}

const undone = "a workflow reset discarded it"

func (c *collection) discover(d Discovery, superseded bool) {
	switch {
	case superseded:
		return
	case len(c.Discoveries) >= maxItems:
		c.LeftOut++
		return
	}
	c.name(d.Identifier)
	d.Identifier, d.ItemType, d.Location = kept(d.Identifier), kept(d.ItemType), kept(d.Location)
	if body, err := json.Marshal(d.Metadata); err != nil || len(body) > maxText {
		d.Metadata = nil
	}
	c.Discoveries = append(c.Discoveries, d)
}

// leave records items that were left to check.
func (c *collection) leave(pending []string) {
	for _, one := range pending {
		if one = kept(one); !slices.Contains(c.Pending, one) && len(c.Pending) < maxPending {
			c.Pending = append(c.Pending, one)
		}
	}
}

const maxPending = 100

// named matches arguments whose values are names, although they look like any other word.
var named = regexp.MustCompile(`(?i)^(?:.*_)?(?:service|app|application|pod|namespace|ns|deployment|container|node|host|cluster|instance|` +
	`job|name|component|database|topic|queue)$`)

// learn finds names in the arguments of a call.
func (c *collection) learn(arguments string) {
	fields, _ := decoded(arguments).(map[string]any)
	for key, v := range fields {
		if text, ok := v.(string); ok && named.MatchString(key) {
			c.name(text)
		}
	}
}

// plainName matches a name of one word.
var plainName = regexp.MustCompile(`^\pL[\pL\d]{2,63}$`)

func (c *collection) name(text string) {
	if plainName.MatchString(text) {
		c.names[strings.ToLower(text)] = true
	}
}

// span is a part of a text, in bytes.
type span struct{ from, to int }

// structured reads the structure in a result and the position of each of its elements. The result is such JSON itself or, if its
// server has structured content, ends with it. JSON within other text is data, whoever wrote it.
func structured(text string, content bool) (toolresult.View, map[string][]span) {
	from := 0
	if content && !json.Valid([]byte(text)) {
		from = strings.LastIndexByte(text, '\n') + 1
	}
	spans := map[string][]span{}
	if rest := strings.TrimSpace(text[from:]); !strings.HasPrefix(rest, "{") || !json.Valid([]byte(rest)) {
		return toolresult.View{}, spans
	}
	data := map[string]any{}
	members(text[from:], from, func(key string, raw string, at int) {
		if key != "data" {
			elements(key, raw, at, data, spans)
			return
		}
		members(raw, at, func(key, raw string, at int) { elements(key, raw, at, data, spans) })
	})
	return toolresult.Evidence(data), spans
}

// members calls fn with each member of a JSON object and the position of its value.
func members(object string, base int, fn func(key, raw string, at int)) {
	decoder := json.NewDecoder(strings.NewReader(object))
	if open, err := decoder.Token(); err != nil || open != json.Delim('{') {
		return
	}
	for decoder.More() {
		key, err := decoder.Token()
		var raw json.RawMessage
		if name, ok := key.(string); ok && err == nil && decoder.Decode(&raw) == nil {
			fn(name, string(raw), base+int(decoder.InputOffset())-len(raw))
			continue
		}
		return
	}
}

// elements adds the lists of the structure, without empty elements.
func elements(key, raw string, base int, data map[string]any, spans map[string][]span) {
	if key != "evidence" && key != "discoveries" && key != "items_pending" || data[key] != nil {
		return
	}
	var kept []any
	take := func(raw string, at int) {
		one := decoded(raw)
		view := toolresult.Evidence(map[string]any{key: []any{one}})
		if len(view.Evidence)+len(view.Discoveries)+len(view.ItemsPending) > 0 {
			kept, spans[key] = append(kept, one), append(spans[key], span{at, at + len(raw)})
		}
	}
	if !strings.HasPrefix(raw, "[") {
		take(raw, base)
	} else {
		items(raw, base, take)
	}
	data[key] = kept
}

// items calls fn with each item of a JSON list and its position.
func items(list string, base int, fn func(raw string, at int)) {
	decoder := json.NewDecoder(strings.NewReader(list))
	if open, err := decoder.Token(); err != nil || open != json.Delim('[') {
		return
	}
	for decoder.More() {
		var one json.RawMessage
		if decoder.Decode(&one) != nil {
			return
		}
		fn(string(one), base+int(decoder.InputOffset())-len(one))
	}
}
