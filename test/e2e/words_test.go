package e2e

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/serviceerror"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
	"github.com/inquest-dev/inquest/workflows"
)

// crowd sets how many messages are sent to how many investigations, and how many workers are killed meanwhile.
type crowd struct {
	cases, words, kills int
	lasts               time.Duration // how long people send messages
	every               time.Duration // interval at which a worker is killed, from the start on
	pace                time.Duration // the model's time for four characters
	seed                uint64
}

// Messages are sent to any agent at any time while workers are killed. By the model's own log, each recipient
// was told in exactly one of its turns, or the record reports the message as undelivered.
func TestLongWordsUnderLoadWithKills(t *testing.T) {
	takesLong(t)
	t.Parallel()
	c := crowd{cases: 5, words: 60, kills: 2, lasts: 14 * time.Second, every: 2 * time.Second, pace: 80 * time.Millisecond, seed: 11}
	c.test(t)
}

// The same with a thousand messages, and another seed each time.
func TestSoakWordsUnderLoadWithKills(t *testing.T) {
	soaks(t)
	t.Parallel()
	c := crowd{cases: 50, words: 1000, kills: 20, lasts: 2 * time.Minute, every: 3 * time.Second, pace: time.Second, seed: anySeed()}
	c.test(t)
}

func anySeed() uint64 { return uint64(time.Now().UnixNano()) }

func (c crowd) test(t *testing.T) {
	t.Logf("%+v", c)
	w := newWorld(t, c.model, labConfig)
	w.dev("--no-worker")
	workers := []*process{w.worker(), w.worker()}
	ids := map[string]string{} // by workflow ID
	for n := range c.cases {
		name := caseName(n)
		req := agent.Request{AlertType: "lab", Data: []byte(`"` + name + `"`)}
		ids[name] = workflows.InvestigationID(name, w.beginWith(name, req).GetRunID())
	}
	said := make(chan []word)
	go func() { said <- c.speak(w) }()
	random := rand.New(rand.NewPCG(c.seed, 1))
	for range c.kills {
		time.Sleep(c.every)
		n := random.IntN(len(workers))
		workers[n].kill()
		workers[n] = w.worker()
	}
	sent := map[string][]word{} // by case
	for _, spoken := range <-said {
		sent[spoken.to] = append(sent[spoken.to], spoken)
	}
	for name := range ids {
		w.end(name)
	}
	received := w.wordsTold()
	for name, id := range ids {
		w.checkWords(id, sent[name], received)
	}
}

func caseName(n int) string { return fmt.Sprintf("case-%02d", n) }

// model takes several turns, each of which takes a while.
func (c crowd) model(req llmtest.Request) llmtest.Reply {
	turns := map[string]int{"Alpha": 4, "Beta": 3, "Gamma": 3}
	reply := llmtest.Text("I have seen enough.")
	if turnOf(req) < turns[who(req)] {
		reply = llmtest.Calls(llmtest.Call{Name: "lab__add", Args: `{"a":2,"b":3}`}).Thinking("let me look once more")
	}
	return reply.Chunked(4, c.pace)
}

// word is a message to an investigation, for one agent or for all.
type word struct {
	text, to, agent string
	refused         bool // rejected at once because the investigation had ended
}

// speak sends all messages at random moments.
func (c crowd) speak(w *world) (said []word) {
	random, temporal := rand.New(rand.NewPCG(c.seed, 2)), w.client()
	for n := range c.words {
		spoken := word{text: fmt.Sprintf("word-%04d.", n), to: caseName(random.IntN(c.cases))}
		spoken.agent = []string{"", "", "", "Alpha", "Beta", "SynthesisAgent", "Gamma"}[random.IntN(7)]
		time.Sleep(time.Duration(random.Int64N(2 * int64(c.lasts) / int64(c.words))))
		guide := workflows.Guide{Text: spoken.text, Agent: spoken.agent, By: "Ada"}
		err := temporal.SignalWorkflow(w.t.Context(), spoken.to, "", workflows.SignalGuide, guide)
		_, spoken.refused = errors.AsType[*serviceerror.NotFound](err)
		if err != nil && !spoken.refused {
			w.t.Errorf("say %s: %v", spoken.text, err)
		}
		said = append(said, spoken)
	}
	return said
}

var (
	wordPattern = regexp.MustCompile(`word-\d{4}\.`)
	casePattern = regexp.MustCompile(`case-\d{2}`)
)

// wordsTold returns the turns in which the model was told each word, by word, then by case and agent. Words
// from an earlier turn of the same agent are left out.
func (w *world) wordsTold() map[string]map[string][]int {
	received := map[string]map[string][]int{}
	for _, req := range w.model.Requests() {
		reader, turn := casePattern.FindString(string(req.Body))+"/"+who(req), turnOf(req)
		for _, text := range wordPattern.FindAllString(unanswered(req), -1) {
			if received[text] == nil {
				received[text] = map[string][]int{}
			}
			if turns := received[text][reader]; !slices.Contains(turns, turn) {
				received[text][reader] = append(turns, turn)
			}
		}
	}
	return received
}

// unanswered returns the guidance after the model's last message in a request. A synthesis also sees its peers'
// guidance, which is not included.
func unanswered(req llmtest.Request) string {
	var text strings.Builder
	for _, m := range req.Messages {
		switch m.Role {
		case "assistant":
			text.Reset()
		case "user":
			if strings.HasPrefix(m.Text(), "A person who is watching this investigation") {
				text.WriteString(m.Text())
			}
		}
	}
	return text.String()
}

// checkWords checks the outcome of the messages that were sent to one investigation.
func (w *world) checkWords(id string, said []word, received map[string]map[string][]int) {
	w.t.Helper()
	inv, err := w.open().Investigation(w.t.Context(), id)
	if err != nil {
		w.t.Fatal(err)
	}
	undelivered := strings.Join(inv.Envelope.Undelivered, "\n")
	read, reported, refused := 0, 0, 0
	for _, spoken := range said {
		readers := received[spoken.text]
		switch unread := strings.Contains(undelivered, spoken.text); {
		case spoken.refused:
			refused++
		case unread:
			reported++
		}
		if len(readers) == 0 {
			continue
		}
		read++
		if spoken.refused || strings.Contains(undelivered, spoken.text) {
			w.t.Errorf("%s: %s was told to %v, and is reported as undelivered", id, spoken.text, readers)
		}
		checkReaders(w.t, spoken, readers)
	}
	// Messages that were rejected are reported without their text.
	refused += len(inv.Envelope.Undelivered) - reported
	if read+reported+refused != len(said) {
		w.t.Errorf("%s: of %d words, %d were told, %d were not, and %d were refused:\n%s", id, len(said), read, reported, refused, undelivered)
	}
	w.t.Logf("%s: of %d words, %d were told, %d were not, and %d were refused", id, len(said), read, reported, refused)
}

// stageOf returns the stage of an agent of the lab's chain, or of the long chain.
func stageOf(name string) string {
	if strings.ContainsAny(name, "123") {
		return "stage" + name[len(name)-1:]
	}
	return map[string]string{"Alpha": "dig", "Beta": "dig", "SynthesisAgent": "dig", "Gamma": "tell"}[name]
}

// checkReaders checks that each reader was told once, and that the readers are the recipient or agents of one stage.
func checkReaders(t *testing.T, spoken word, readers map[string][]int) {
	t.Helper()
	stages := map[string]bool{}
	for reader, turns := range readers {
		name, who, _ := strings.Cut(reader, "/")
		stages[stageOf(who)] = true
		if len(turns) != 1 || name != spoken.to || spoken.agent != "" && who != spoken.agent {
			t.Errorf("%s, to %s for %q, was told to %s in the turns %v", spoken.text, spoken.to, spoken.agent, reader, turns)
		}
	}
	if len(stages) > 1 {
		t.Errorf("%s was told in several stages: %v", spoken.text, slices.Sorted(maps.Keys(readers)))
	}
}
