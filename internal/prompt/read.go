package prompt

import (
	"regexp"
	"strings"
)

// A scripted model parses the output of the templates and of record.go. All forms that it relies on are in this file.

var (
	identity    = regexp.MustCompile(`^You are ([^,\n]+),`)
	unavailable = regexp.MustCompile(`(?m)^- (Server \S+ is not available \(.*\)): `)
	peerHeading = regexp.MustCompile(`(?m)^## Agent (\S+): (\S+)\n(?:It ended with an error: (.*)\n)?`)
	replyPart   = regexp.MustCompile(`(?m)^\[iteration \d+\] reply:\n`)
)

// AgentOf returns the agent that a system prompt names, or an empty string.
func AgentOf(system string) string {
	if m := identity.FindStringSubmatch(system); m != nil {
		return m[1]
	}
	return ""
}

// Unavailable lists the servers that a system prompt calls unavailable, with the reasons.
func Unavailable(system string) []string {
	var out []string
	for _, m := range unavailable.FindAllStringSubmatch(system, -1) {
		out = append(out, m[1])
	}
	return out
}

// Blocks returns the texts of the blocks with a name, in order. A block inside another block is part of its text.
func Blocks(text, name string) []string {
	opening := regexp.MustCompile(`(?m)^<` + name + `-[0-9a-f]{16}>\n`)
	var out []string
	for {
		at := opening.FindStringIndex(text)
		if at == nil {
			return out
		}
		tag := strings.TrimSpace(text[at[0]:at[1]])
		body, rest, ok := strings.Cut(text[at[1]:], "\n</"+tag[1:])
		if !ok {
			return out
		}
		out = append(out, body)
		text = rest
	}
}

// Shown is the part of a Peer that a task shows.
type Shown struct {
	Agent, Status, Error string
	Reply                string // the last reply of its record, or empty
}

// PeersOf returns the agents whose records a task shows.
func PeersOf(task string) []Shown {
	records := Blocks(task, "record")
	for _, name := range []string{"alert", "runbook", "result", "record"} { // a heading inside a block is data
		for _, text := range Blocks(task, name) {
			task = strings.Replace(task, "\n"+text+"\n", "\n", 1)
		}
	}
	var peers []Shown
	all := peerHeading.FindAllStringSubmatchIndex(task, -1)
	for i, at := range all {
		m := peerHeading.FindStringSubmatch(task[at[0]:])
		end := len(task)
		if i+1 < len(all) {
			end = all[i+1][0]
		}
		peer := Shown{Agent: m[1], Status: m[2], Error: m[3]}
		if strings.Contains(task[at[1]:end], "<record-") && len(records) > 0 {
			peer.Reply, records = lastReply(records[0]), records[1:]
		}
		peers = append(peers, peer)
	}
	return peers
}

// lastReply returns the last reply of a record, without its indentation.
func lastReply(record string) string {
	all := replyPart.FindAllStringIndex(record, -1)
	if len(all) == 0 {
		return ""
	}
	text, _, _ := strings.Cut(record[all[len(all)-1][1]:], "\n[iteration ")
	return strings.TrimSpace(strings.ReplaceAll("\n"+text, "\n  ", "\n"))
}
