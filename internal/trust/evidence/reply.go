package evidence

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/kit/toolresult"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// fence begins the block in which a reply names its evidence.
const fence = "```evidence"

// block finds the last block of a reply: the text before it, its JSON, and the text after it. A reply that is a JSON object is its
// own block.
func block(text string) (before, body, after string, ok bool) {
	if isObject(text) {
		return "", text, "", true
	}
	start := strings.LastIndex("\n"+text, "\n"+fence)
	if start < 0 {
		return text, "", "", false
	}
	line, rest, _ := strings.Cut(text[start:], "\n")
	if strings.TrimSpace(line) != fence {
		return text, "", "", false
	}
	body, after, _ = strings.Cut("\n"+rest, "\n```")
	return text[:start], body, after, true
}

// own matches a citation of a reply's own evidence, and the character directly before it.
var own = regexp.MustCompile(`([\pL\pN._)]?)\[(e\d{1,3})\]`)

// Problem describes how an agent's last reply violates the contract; empty if it does not. entries are the journal.
func Problem(ctx context.Context, execution, text string, entries []transcript.Entry, blob Blob) (string, error) {
	_, body, _, ok := block(text)
	fields, _ := decoded(body).(map[string]any)
	switch {
	case !ok:
		return "it does not end with a block " + fence, nil
	case fields == nil || fields["evidence"] == nil && fields["items_pending"] == nil:
		return `the block of evidence is not a JSON object with the key "evidence"`, nil
	}
	c := newCollection(blob)
	view := toolresult.Evidence(fields)
	if len(view.Evidence) == 0 && len(view.ItemsPending) == 0 {
		return "no evidence given: say that the result is inconclusive, and list in items_pending what to check next", nil
	}
	for _, e := range entries {
		if err := c.row(ctx, e); err != nil {
			return "", err
		}
	}
	var problems []error
	if n := len(view.Evidence); n > maxItems {
		return fmt.Sprintf("it has %d pieces of evidence; the limit is %d", n, maxItems), nil
	}
	for n, found := range view.Evidence {
		if item := c.locate(found, execution); item.Problem != "" {
			problems = append(problems, fmt.Errorf("e%d: %s", n+1, item.Problem))
		}
	}
	for _, m := range own.FindAllStringSubmatch(text, -1) {
		if digits(m[2][1:]) > len(view.Evidence) {
			problems = append(problems, fmt.Errorf("[%s] is cited but missing", m[2]))
		}
	}
	if len(problems) == 0 {
		return "", nil
	}
	return errors.Join(problems...).Error(), nil
}

// reply adds the evidence that a reply names.
func (c *collection) reply(e transcript.Entry) {
	_, body, _, ok := block(e.Text)
	fields, _ := decoded(body).(map[string]any)
	if !ok || fields == nil {
		return
	}
	view := toolresult.Evidence(fields)
	mine := map[string]int{}
	most := min(len(view.Evidence), maxItems)
	for n, found := range view.Evidence[:most] {
		if number := c.add(c.locate(found, e.Execution), e.Superseded); number > 0 {
			mine[fmt.Sprintf("e%d", n+1)] = number
		}
	}
	c.LeftOut += len(view.Evidence) - most
	for _, found := range view.Discoveries {
		c.discover(Discovery{Discovery: found, By: e.Execution, Source: Source{Execution: e.Execution, Seq: e.Seq}}, e.Superseded)
	}
	if !e.Superseded {
		c.quoted[e.Execution+"\n"+e.Text] = mine
		c.leave(view.ItemsPending)
	}
}

// Reasons why a quotation proves nothing.
const (
	problemShort   = "its content is too short to be found in a result: quote more of it"
	problemNowhere = "its content is in neither the alert nor a tool result: quote it verbatim"
	problemEcho    = "its content quotes the call's arguments, not its result"
)

// locate finds the row that a reply's evidence quotes. If several rows contain it, the row of the named tool wins.
func (c *collection) locate(found toolresult.Citation, execution string) Item {
	item := Item{Citation: found, By: execution, Problem: problemNowhere}
	if tooShort(found.Content) {
		item.Problem = problemShort
		return item
	}
	for _, r := range c.mayQuote(execution) {
		if r.folded == nil {
			f := fold(r.text)
			r.folded = &f
		}
		from, to, ok := r.folded.find(found.Content)
		asked := strings.Contains(found.Location, r.Tool)
		if !ok || item.Problem == "" && !asked {
			continue
		}
		if _, _, echo := fold(r.asked).find(found.Content); echo {
			if item.Problem != "" {
				item.Problem = problemEcho
			}
			continue
		}
		item.Problem, item.Source, item.text, item.asked = "", r.Source, r.text[from:to], r.asked
		item.From, item.To = r.From+from, r.From+to
		if asked {
			break
		}
	}
	return item
}

// mayQuote returns the rows that an execution may quote: its own, and then those of the agents that it dispatched.
func (c *collection) mayQuote(execution string) []*row {
	all := slices.Clone(c.rows[execution])
	for _, other := range slices.Sorted(maps.Keys(c.rows)) {
		if strings.HasPrefix(other, execution+"/") {
			all = append(all, c.rows[other]...)
		}
	}
	return all
}

// Shown returns an execution's final text as others see it, with the evidence's own names replaced by their numbers.
func (e Evidence) Shown(execution, text string) string {
	before, _, after, ok := block(text)
	if mine := e.quoted[execution+"\n"+text]; len(mine) > 0 {
		renumber := func(cited string) string {
			before, name, _ := strings.Cut(strings.TrimSuffix(cited, "]"), "[")
			n, known := mine[name]
			switch {
			case !known:
				return cited
			case before != "": // a number there would be an index
				before += " "
			}
			return fmt.Sprintf("%s[%d]", before, n)
		}
		if text = own.ReplaceAllStringFunc(text, renumber); ok && before != "" {
			before, _, after, _ = block(text)
		}
	}
	if !ok || before == "" {
		return text
	}
	return strings.TrimSpace(strings.TrimRight(before, "\n") + "\n" + after)
}
