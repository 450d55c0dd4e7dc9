package sample

import (
	"fmt"
	"regexp"
	"strings"
)

// synthesisAgent joins the records of a stage's agents.
type synthesisAgent struct {
	scene
	peers []peer
}

// peer is what an agent's record comes to.
type peer struct {
	name, status, failure string
	final                 string // its last reply; "" = none
}

var peerHeading = regexp.MustCompile(`(?m)^## Agent (\S+): (\S+)\n(?:It ended with an error: (.*)\n)?`)

func newSynthesisAgent(s scene) synthesisAgent {
	a := synthesisAgent{scene: s}
	records := blocks(s.task, "record")
	outside := s.task // a heading inside of a block is data
	for _, name := range []string{"alert", "runbook", "result", "record"} {
		for _, text := range blocks(outside, name) {
			outside = strings.Replace(outside, "\n"+text+"\n", "\n", 1)
		}
	}
	all := peerHeading.FindAllStringSubmatchIndex(outside, -1)
	for i, at := range all {
		m := peerHeading.FindStringSubmatch(outside[at[0]:])
		end := len(outside)
		if i+1 < len(all) {
			end = all[i+1][0]
		}
		p := peer{name: m[1], status: m[2], failure: m[3]}
		if strings.Contains(outside[at[1]:end], "<record-") && len(records) > 0 {
			p.final, records = lastReply(records[0]), records[1:]
		}
		a.peers = append(a.peers, p)
	}
	return a
}

var replyHeading = regexp.MustCompile(`(?m)^\[iteration \d+\] reply:\n`)

// lastReply takes the last reply out of a record, and its indentation off.
func lastReply(record string) string {
	all := replyHeading.FindAllStringIndex(record, -1)
	if len(all) == 0 {
		return ""
	}
	text, _, _ := strings.Cut(record[all[len(all)-1][1]:], "\n[iteration ")
	return strings.TrimSpace(strings.ReplaceAll("\n"+text, "\n  ", "\n"))
}

func (a synthesisAgent) wants() []ask { return nil }

func (a synthesisAgent) thought() string {
	return fmt.Sprintf("%d agents left a record. Do they point to the same service, and do their times agree?", len(a.peers))
}

// votes are the peers that name a suspect, by suspect.
func (a synthesisAgent) votes() map[string][]peer {
	out := map[string][]peer{}
	for _, p := range a.peers {
		if suspect := fact(p.final, suspectFact); suspect != "" {
			out[suspect] = append(out[suspect], p)
		}
	}
	return out
}

func (a synthesisAgent) conclude() report {
	votes := a.votes()
	n := map[string]int{}
	for suspect, peers := range votes {
		n[suspect] = len(peers)
	}
	if len(n) == 0 {
		return report{opening: "## Joint finding\n\nNo agent could name a suspect.", facts: []labelled{{confidenceFact, "low"}}, evidence: a.evidence(), unchecked: a.gaps()}
	}
	suspect := ranked(n)[0]
	lead := votes[suspect][0]
	verdict, confidence := a.verdict(ranked(n), votes)
	return report{
		opening: "## Joint finding\n\n" + verdict,
		facts: []labelled{
			{suspectFact, suspect}, {onsetFact, fact(lead.final, onsetFact)}, {symptomFact, fact(lead.final, symptomFact)}, {confidenceFact, confidence},
		},
		evidence:  a.evidence(),
		other:     a.gather(otherList),
		unchecked: append(a.gaps(), a.gather(uncheckedList)...),
	}
}

func (a synthesisAgent) verdict(suspects []string, votes map[string][]peer) (text, confidence string) {
	if len(suspects) > 1 {
		var out []string
		for _, suspect := range suspects {
			out = append(out, fmt.Sprintf("%s says %s (onset %s)", names(votes[suspect]), suspect, fact(votes[suspect][0].final, onsetFact)))
		}
		return "The agents contradict each other: " + strings.Join(out, "; ") + ". This stays open; the first is followed.", "low"
	}
	peers := votes[suspects[0]]
	if len(peers) == 1 {
		return fmt.Sprintf("%s alone points to %s; nothing else confirms or refutes it.", peers[0].name, suspects[0]), "medium"
	}
	var onsets []string
	for _, p := range peers {
		onsets = append(onsets, p.name+" "+fact(p.final, onsetFact))
	}
	return fmt.Sprintf("%s point to %s independently of each other. Onset: %s.", names(peers), suspects[0], strings.Join(onsets, ", ")), "high"
}

func names(peers []peer) string {
	var out []string
	for _, p := range peers {
		out = append(out, p.name)
	}
	return strings.Join(out, " and ")
}

func (a synthesisAgent) evidence() []string { return a.gather(evidenceList) }

// gather joins a list of every peer's, each item with its agent.
func (a synthesisAgent) gather(heading string) []string {
	var out []string
	for _, p := range a.peers {
		for _, item := range bullets(p.final, heading) {
			out = append(out, p.name+": "+item)
		}
	}
	return out
}

// gaps names the agents that did not finish.
func (a synthesisAgent) gaps() []string {
	var out []string
	for _, p := range a.peers {
		if p.status != "completed" {
			out = append(out, strings.TrimSpace(fmt.Sprintf("%s ended as %s. %s", p.name, p.status, p.failure)))
		}
	}
	return out
}
