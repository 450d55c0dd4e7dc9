package actor

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/prompt"
)

// synthesisAgent merges the records of a stage's agents. It follows the suspect that most of them name. Each list item names its agent.
func synthesisAgent(s scene) role {
	var see struct {
		Peers int
		Votes string
	}
	var r role
	var votes []string
	count, first := map[string]int{}, map[string]findings{}
	for _, p := range prompt.PeersOf(s.task) {
		see.Peers++
		f := readFindings(p.Reply)
		if p.Status != "completed" { // a failed agent
			r.Unchecked = append(r.Unchecked, strings.TrimSpace(fmt.Sprintf("%s ended with the status %s. %s", p.Agent, p.Status, p.Error)))
		}
		into := r.lists()
		for i, list := range f.lists() {
			for _, item := range *list.value {
				*into[i].value = append(*into[i].value, p.Agent+": "+item)
			}
		}
		if f.Suspect == "" {
			continue
		}
		if count[f.Suspect]++; count[f.Suspect] == 1 {
			first[f.Suspect] = f
		}
		votes = append(votes, fmt.Sprintf("%s says %s (onset %s)", p.Agent, f.Suspect, f.Onset))
	}
	r.Suspect, r.Confidence = most(count), "low" // contradicting agents leave the confidence low
	r.Onset, r.Symptom = first[r.Suspect].Onset, first[r.Suspect].Symptom
	if len(count) == 1 {
		r.Confidence = "medium"
	}
	if len(count) == 1 && len(votes) > 1 {
		r.Confidence = "high"
	}
	see.Votes = strings.Join(votes, "; ")
	r.See = see
	return r
}

var changing = regexp.MustCompile(`\d+`)

// compareConclusions compares texts without their numbers.
func (s scene) compareConclusions() llm.Response {
	var asked struct {
		Conclusion string `json:"conclusion"`
		Others     []struct {
			Number     int    `json:"number"`
			Conclusion string `json:"conclusion"`
		} `json:"others"`
	}
	from := max(strings.Index(s.task, "{"), 0)
	_ = json.NewDecoder(strings.NewReader(s.task[from:])).Decode(&asked) // an unknown text has no conclusions
	text := func(conclusion string) string { return changing.ReplaceAllString(conclusion, "") }
	type verdict struct {
		Number  int    `json:"number"`
		Verdict string `json:"verdict"`
		Reason  string `json:"reason"`
	}
	verdicts := []verdict{}
	for _, other := range asked.Others {
		v := verdict{other.Number, "different", "a scripted model compares words"}
		if text(other.Conclusion) == text(asked.Conclusion) {
			v.Verdict = "same"
		}
		verdicts = append(verdicts, v)
	}
	answer, _ := json.Marshal(map[string]any{"verdicts": verdicts}) // it always encodes
	return llm.Response{Content: string(answer), Finish: llm.FinishStop}
}
