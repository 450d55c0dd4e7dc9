package slack

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/slack-go/slack"

	"github.com/inquest-dev/inquest/internal/face/report"
	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/record"
)

// Limits of Slack, with some room for what is added: 3,000 characters in a section, 50 blocks in a message. The text of all blocks has
// a limit, too, which Slack does not document; maxText stays far below it.
const (
	maxSection = 2900
	maxBlocks  = 50
	maxText    = 11000
	maxLine    = 150 // of one of our own lines that quotes others
)

// content is the content of a message. Notifications and readers without blocks show the text.
type content struct {
	text   string
	blocks []slack.Block
}

func (c content) options() []slack.MsgOption {
	return []slack.MsgOption{
		slack.MsgOptionText(clip.Line(c.text, maxSection), false), slack.MsgOptionBlocks(c.blocks...),
		slack.MsgOptionDisableLinkUnfurl(), slack.MsgOptionDisableMediaUnfurl(),
	}
}

// section returns a block with a text in Slack's markup.
func section(text string) slack.Block {
	return slack.NewSectionBlock(slack.NewTextBlockObject(slack.MarkdownType, text, false, true), nil, nil)
}

func small(text string) slack.Block {
	return slack.NewContextBlock("", slack.NewTextBlockObject(slack.MarkdownType, text, false, true))
}

var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// escape keeps a text from mentioning people or showing a link under another name.
func escape(text string) string { return escaper.Replace(text) }

var (
	heading = regexp.MustCompile(`^ {0,3}#{1,6}\s+(.*?)\s*#*$`)
	bullet  = regexp.MustCompile(`^(\s*)[-*+]\s+`)
	bold    = regexp.MustCompile(`\*\*([^*\n]+)\*\*|__([^_\n]+)__`)
	link    = regexp.MustCompile(`!?\[([^\]\n]*)\]\(([^)\s]+)[^)\n]*\)`)
)

const fence = "```"

// mrkdwn converts Markdown to Slack's markup. Links show their address, so that a model cannot hide it.
func mrkdwn(text string) []string {
	var out []string
	inFence, inTable := false, false
	for _, line := range strings.Split(text, "\n") {
		isFence := strings.HasPrefix(strings.TrimSpace(line), fence)
		isTable := !inFence && !isFence && strings.HasPrefix(strings.TrimSpace(line), "|")
		if isTable != inTable {
			out, inTable = append(out, fence), isTable
		}
		switch {
		case isFence:
			inFence = !inFence
			out = append(out, fence)
			continue
		case inFence || inTable:
			out = append(out, escape(strings.ReplaceAll(line, fence, "'''")))
			continue
		}
		line = escape(line)
		line = bullet.ReplaceAllString(line, "$1• ")
		line = link.ReplaceAllString(line, "$1 ($2)")
		line = bold.ReplaceAllString(line, "*$1$2*")
		if h := heading.FindStringSubmatch(line); h != nil {
			line = "*" + strings.ReplaceAll(h[1], "*", "") + "*"
		}
		out = append(out, line)
	}
	if inFence || inTable {
		out = append(out, fence)
	}
	return out
}

// sections divides lines into texts that fit into a section. A code block that is divided is closed and opened again.
func sections(lines []string) (all []string) {
	var text strings.Builder
	inFence, size := false, 0
	add := func(line string) {
		text.WriteString(line + "\n")
		size += utf8.RuneCountInString(line) + 1
	}
	flush := func() {
		if inFence {
			text.WriteString(fence)
		}
		if t := strings.Trim(text.String(), "\n"); t != "" {
			all = append(all, t)
		}
		text.Reset()
		if size = 0; inFence {
			add(fence)
		}
	}
	for _, line := range lines {
		for _, part := range parts(line) {
			if size+utf8.RuneCountInString(part)+len(fence)+1 > maxSection {
				flush()
			}
			add(part)
		}
		if line == fence {
			inFence = !inFence
		}
	}
	inFence = false
	flush()
	return all
}

// parts divides a line that is too long for a section.
func parts(line string) (all []string) {
	const most = maxSection - 2*len(fence) - 2
	for utf8.RuneCountInString(line) > most {
		begin := clip.Runes(line, most)
		all, line = append(all, begin), line[len(begin):]
	}
	return append(all, line)
}

// reportContent returns the report, the cause first. whole is false if only the beginning fits into a message.
func reportContent(r report.Report, page string) (c content, whole bool) {
	c.text = "Report: " + r.Line
	c.blocks = append(c.blocks, section("*"+escape(clip.Line(r.Line, maxLine))+"*"))
	head, summary := r, ""
	head.Text, head.Line = "", ""
	if r.Brief.Cause != "" && r.Summary != "" { // the cause comes first
		head.Summary, summary = "", r.SummaryMarkdown()
	}
	texts := slices.Concat(sections(mrkdwn(head.Markdown())), sections(mrkdwn(summary)), sections(mrkdwn(r.Text)))
	whole = true
	size := 0
	for _, text := range texts {
		if size += utf8.RuneCountInString(text); size > maxText || len(c.blocks) > maxBlocks-4 {
			whole = false
			break
		}
		c.blocks = append(c.blocks, section(text))
	}
	if r.Brief.Cause != "" {
		c.text = "Cause: " + r.Brief.Cause
	}
	if caveat := (record.Envelope{NotChecked: r.NotChecked, NoToolResult: r.NoToolResult}).CaveatLine(); caveat != "" {
		c.text = caveat + ". " + c.text
	}
	c.text = escape(c.text)
	if !whole {
		c.blocks = append(c.blocks, small("The full report is in the file below."))
	}
	if page != "" {
		c.blocks = append(c.blocks, small("<"+page+"|Open the investigation>"))
	}
	return c, whole
}
