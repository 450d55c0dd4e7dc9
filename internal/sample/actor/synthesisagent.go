package actor

import (
	"fmt"
	"strings"

	"github.com/inquest-dev/inquest/internal/prompt"
)

// synthesisAgent joins the records of a stage's agents.
type synthesisAgent struct {
	scene
	peers []prompt.Shown
}

func newSynthesisAgent(s scene) synthesisAgent { return synthesisAgent{s, prompt.PeersOf(s.task)} }

func (a synthesisAgent) wants() []ask { return nil }

func (a synthesisAgent) thought() string {
	return fmt.Sprintf("%d agents left a record. Do they point to the same service, and do their times agree?", len(a.peers))
}

// votes are the peers that name a suspect, by suspect.
func (a synthesisAgent) votes() map[string][]prompt.Shown {
	out := map[string][]prompt.Shown{}
	for _, p := range a.peers {
		if suspect := fact(p.Reply, suspectFact); suspect != "" {
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
			{suspectFact, suspect}, {onsetFact, fact(lead.Reply, onsetFact)}, {symptomFact, fact(lead.Reply, symptomFact)}, {confidenceFact, confidence},
		},
		evidence:  a.evidence(),
		other:     a.gather(otherList),
		unchecked: append(a.gaps(), a.gather(uncheckedList)...),
	}
}

func (a synthesisAgent) verdict(suspects []string, votes map[string][]prompt.Shown) (text, confidence string) {
	if len(suspects) > 1 {
		var out []string
		for _, suspect := range suspects {
			out = append(out, fmt.Sprintf("%s says %s (onset %s)", names(votes[suspect]), suspect, fact(votes[suspect][0].Reply, onsetFact)))
		}
		return "The agents contradict each other: " + strings.Join(out, "; ") + ". This stays open; the first is followed.", "low"
	}
	peers := votes[suspects[0]]
	if len(peers) == 1 {
		return fmt.Sprintf("%s alone points to %s; nothing else confirms or refutes it.", peers[0].Agent, suspects[0]), "medium"
	}
	var onsets []string
	for _, p := range peers {
		onsets = append(onsets, p.Agent+" "+fact(p.Reply, onsetFact))
	}
	return fmt.Sprintf("%s point to %s independently of each other. Onset: %s.", names(peers), suspects[0], strings.Join(onsets, ", ")), "high"
}

func names(peers []prompt.Shown) string {
	var out []string
	for _, p := range peers {
		out = append(out, p.Agent)
	}
	return strings.Join(out, " and ")
}

func (a synthesisAgent) evidence() []string { return a.gather(evidenceList) }

// gather joins a list of every peer's, each item with its agent.
func (a synthesisAgent) gather(heading string) []string {
	var out []string
	for _, p := range a.peers {
		for _, item := range bullets(p.Reply, heading) {
			out = append(out, p.Agent+": "+item)
		}
	}
	return out
}

// gaps names the agents that did not finish.
func (a synthesisAgent) gaps() []string {
	var out []string
	for _, p := range a.peers {
		if p.Status != "completed" {
			out = append(out, strings.TrimSpace(fmt.Sprintf("%s ended as %s. %s", p.Agent, p.Status, p.Error)))
		}
	}
	return out
}
