package faults

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.temporal.io/sdk/temporal"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/store/storetest"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/workflows"
)

// office is a run in which people send messages, with the outcome of those messages.
type office struct {
	*run
	t  *testing.T
	mu sync.Mutex
	// seen holds the iterations whose requests contained a text, by text and execution.
	seen   map[string]map[string][]int
	posted map[string]time.Time // when a text was certainly in the mail
	to     map[string]string    // recipient agent
}

// newOffice makes a run of stages with their agents: "A:default B:llm +Syn:synthesis".
func newOffice(t *testing.T, s *store.Store, id string, seed uint64, p profile, stages ...string) *office {
	t.Helper()
	o := &office{
		run: newRun(s, id, seed, p), t: t, seen: map[string]map[string][]int{}, posted: map[string]time.Time{}, to: map[string]string{},
	}
	o.onRequest = o.reads
	o.plan = plan.Plan{Chain: "c"}
	for n, members := range stages {
		stage := plan.Stage{Name: fmt.Sprintf("s%d", n+1), SuccessPolicy: plan.SuccessAny}
		for member := range strings.FieldsSeq(members) {
			name, row, _ := strings.Cut(strings.TrimPrefix(member, "+"), ":")
			w := newWorker(rowOf(t, row), name, id)
			w.plan.Servers = nil
			if strings.HasPrefix(member, "+") {
				stage.Synthesis = &w.plan
			} else {
				stage.Agents = append(stage.Agents, w.plan)
			}
		}
		o.plan.Stages = append(o.plan.Stages, stage)
	}
	o.says = func(at place) llm.Response { return llm.Response{Content: `{"said":"done"}`, Finish: llm.FinishStop} }
	return o
}

// say sends a message to a workflow: an empty string means the investigation, others a stage or an execution.
func (o *office) say(to, agent, text string) {
	guide := workflows.Guide{Text: text, Agent: agent, By: "Ada"}
	if to == "" {
		o.env.SignalWorkflow(workflows.SignalGuide, guide)
	} else if err := o.env.SignalWorkflowByID(o.investigation()+"/"+to, workflows.SignalGuide, guide); err != nil {
		o.problem("%s cannot be told %s: %v", to, text, err)
	}
}

// said waits until messages are in the mail or have been read.
func (o *office) said(texts ...string) {
	for began := time.Now(); time.Since(began) < time.Minute; time.Sleep(time.Millisecond) {
		unread, err := o.store.Unread(context.WithoutCancel(o.t.Context()), o.investigation())
		if err != nil {
			o.problem("read the mail: %v", err)
			return
		}
		lies := func(text string) bool {
			return slices.ContainsFunc(unread, func(l transcript.Letter) bool { return l.Text == text }) || len(o.quoted(text)) > 0
		}
		if !slices.ContainsFunc(texts, func(text string) bool { return !lies(text) }) {
			return
		}
	}
	o.problem("%.50q is not in the mail", texts)
}

// reads records which request contains which texts. Each text is one line.
func (o *office) reads(at place, req llm.Request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, m := range req.Messages {
		if m.Role != agent.User {
			continue
		}
		for _, rest := range strings.Split(m.Content, "<guidance-")[1:] {
			_, rest, _ = strings.Cut(rest, "\n")
			text, _, _ := strings.Cut(rest, "\n")
			if o.seen[text] == nil {
				o.seen[text], o.posted[text] = map[string][]int{}, time.Now()
			}
			if all := o.seen[text][at.execution]; len(all) == 0 || all[len(all)-1] != at.iteration {
				o.seen[text][at.execution] = append(all, at.iteration)
			}
		}
	}
}

// quoted returns, from the transcripts, the executions that read a text and the iteration of each.
func (o *office) quoted(text string) (where map[string]int) {
	where = map[string]int{}
	all, err := o.store.After(o.t.Context(), o.investigation(), 0, 0)
	if err != nil {
		o.t.Error(err)
	}
	for _, e := range all {
		if e.Mail > 0 && !e.Superseded && strings.Contains(e.Text, text+"\n") {
			if _, twice := where[e.Execution]; twice {
				o.t.Errorf("%s has read %.50q twice", e.Execution, text)
			}
			where[e.Execution] = e.Iteration
		}
	}
	return where
}

// result returns the investigation's result.
func (o *office) result() (result workflows.InvestigationResult) {
	o.t.Helper()
	err := o.env.GetWorkflowError()
	if failed, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		err = failed.Details(&result)
	} else if err == nil {
		err = o.env.GetWorkflowResult(&result)
	}
	if err != nil {
		o.t.Fatal(err)
	}
	for _, problem := range o.problems {
		o.t.Error(problem)
	}
	return result
}

// Under load, people send messages at random moments to random workflows and agents, while attempts crash and
// the store fails.
func TestWordsUnderLoad(t *testing.T) {
	t.Parallel()
	const each, shards = 20, 4
	for shard := range shards {
		t.Run(fmt.Sprint(shard), func(t *testing.T) {
			t.Parallel()
			s := storetest.Open(t)
			for seed := shard; seed < *seeds/4; seed += shards {
				o := newOffice(t, s, fmt.Sprintf("load-%d", seed), uint64(seed), shaky,
					"A:default B:llm +Syn:synthesis", "B:llm", "C:default A:memgpt", "B:service D:exec_summary")
				o.crowd(each)
				o.play()
				o.checkWords(each)
			}
		})
	}
}

// shaky is a profile in which crashes, stalls and a failing store affect the delivery of messages.
var shaky = profile{name: "shaky", rates: map[kind][2]float64{readFails: {0, 0.1}, writeFails: {0, 0.1}, crash: {0, 0.2}, stall: {0, 0.05}}}

// crowd has each workflow receive the given number of messages.
func (o *office) crowd(each int) {
	said := 0
	var mu sync.Mutex
	speak := func(to []string) {
		text := fmt.Sprintf("word %d of %s", said, o.id)
		said++
		workflow, who := to[pick(len(to), o.seed, "to", text)], []string{"", "", "", "A", "B", "C", "Syn", "D"}[pick(8, o.seed, "for", text)]
		o.say(workflow, who, text)
		if _, name, itself := strings.Cut(workflow, "/"); itself {
			who = name
		}
		o.to[text] = who
	}
	o.moment = func(at place, activity string, req *llm.Request) {
		mu.Lock()
		defer mu.Unlock()
		to := []string{""}
		if req != nil { // its workflows are certainly running
			stage, _, _ := strings.Cut(at.execution, "/")
			to = []string{"", "", stage, at.execution}
		}
		for n := 0; n < 4 && said < each && activity != "Post" && chance(0.6, o.seed, "speaks", at, activity, n); n++ {
			speak(to)
		}
		for activity == "Finish" && said < each { // no agent is left
			speak(to)
		}
	}
}

// checkWords checks that every text was read by exactly one model call of each recipient, or was reported.
func (o *office) checkWords(each int) {
	o.t.Helper()
	result := o.result()
	unread, err := o.store.Unread(o.t.Context(), o.investigation())
	if err != nil {
		o.t.Error(err)
	}
	all, err := o.store.After(o.t.Context(), o.investigation(), 0, 0)
	if err != nil {
		o.t.Error(err)
	}
	read, reported := 0, 0
	for n := range each {
		text := fmt.Sprintf("word %d of %s", n, o.id)
		where := o.quoted(text)
		left := slices.ContainsFunc(unread, func(l transcript.Letter) bool { return l.Text == text })
		if left && len(where) > 0 {
			o.t.Errorf("%s: %q was read by %v, and is reported", o.id, text, where)
		}
		if said := slices.ContainsFunc(result.Undelivered, func(line string) bool { return strings.Contains(line, text+`"`) }); said != left {
			o.t.Errorf("%s: %q is unread: %t, and is reported: %t", o.id, text, left, said)
		}
		if len(where) > 0 {
			read++
			o.checkReaders(text, where, all)
		}
		if left {
			reported++
		}
	}
	// Rejected messages are reported without their text, and so are invalid signals.
	refused := 0
	for _, line := range result.Undelivered {
		if strings.HasPrefix(line, "guide: ") {
			refused++
		}
	}
	if read+reported+refused != each {
		o.t.Errorf("%s: of %d texts, %d were read, %d were not, and %d were refused: %q", o.id, each, read, reported, refused, result.Undelivered)
	}
}

// checkReaders checks that a text was read by the agents of one stage that continued after it arrived, or by its
// only recipient, in the iteration that the log states.
func (o *office) checkReaders(text string, where map[string]int, all []transcript.Entry) {
	o.t.Helper()
	stages, agents := map[string]bool{}, map[string]bool{}
	for execution, iteration := range where {
		stage, name, _ := strings.Cut(execution, "/")
		stages[stage], agents[name] = true, true
		// A stalled attempt may report a text late, in an iteration that ended long ago.
		if seen := o.seen[text][execution]; !slices.Contains(seen, iteration) || len(o.stood) == 0 && seen[0] != iteration {
			o.t.Errorf("%s: %s has read %q in iteration %d, and was told in %v", o.id, execution, text, iteration, seen)
		}
	}
	to := o.to[text]
	if len(stages) != 1 || to != "" && (len(agents) != 1 || !agents[to]) {
		o.t.Errorf("%s: %q, for %q, was read by %v", o.id, text, to, where)
	}
	if to != "" {
		return
	}
	for _, e := range all {
		stage, _, _ := strings.Cut(e.Execution, "/")
		later := e.Kind == transcript.KindReply && e.Provider != "" && e.At.After(o.posted[text])
		if _, has := where[e.Execution]; !has && later && stages[stage] {
			o.t.Errorf("%s: %s has replied after %q was in the mail, and has not read it", o.id, e.Execution, text)
		}
	}
}

// At whatever time a message is sent, a model call receives it, or the result reports it as undelivered.
func TestWordsAreReadOrReported(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	word, large := []string{"word"}, []string{strings.Repeat("x", 13<<10), strings.Repeat("y", 13<<10)}
	type words struct {
		activity, execution string // sent before this activity, or during the request if activity is empty
		to, agent           string
		texts               []string
	}
	tests := map[string]struct {
		stages []string
		words  words
		want   map[string]int // executions, and the iterations in which they read it
		left   int            // number of undelivered lines
	}{
		"while a stage is saved": {
			[]string{"A:default", "B:default"}, words{"SaveStage", "SaveStage", "", "", word}, map[string]int{"s2/B": 1}, 0,
		},
		"while the last stage is saved": {
			[]string{"A:default"}, words{"SaveStage", "SaveStage", "", "", word}, nil, 1,
		},
		"before the first stage": {
			[]string{"A:llm B:default", "C:llm"}, words{"Resolve", "Resolve", "", "", word}, map[string]int{"s1/A": 1, "s1/B": 1}, 0,
		},
		"during a single-shot call":   {[]string{"A:llm", "B:llm"}, words{"", "s1/A", "", "", word}, map[string]int{"s1/A": 2}, 0},
		"during the last word":        {[]string{"A:default"}, words{"", "s1/A", "", "", word}, map[string]int{"s1/A": 2}, 0},
		"during a synthesis":          {[]string{"A:llm +Syn:synthesis"}, words{"", "s1/Syn", "", "", word}, map[string]int{"s1/Syn": 2}, 0},
		"two large texts":             {[]string{"A:default"}, words{"", "s1/A", "", "", large}, map[string]int{"s1/A": 2}, 0},
		"for an agent of a later one": {[]string{"A:llm", "B:llm C:llm"}, words{"", "s1/A", "", "C", word}, map[string]int{"s2/C": 1}, 0},
		"for an agent that has ended": {[]string{"A:llm +Syn:synthesis", "A:llm"}, words{"", "s1/Syn", "", "A", word},
			map[string]int{"s2/A": 1}, 0},
		"for one that ended for good":  {[]string{"A:llm +Syn:synthesis"}, words{"", "s1/Syn", "", "A", word}, nil, 1},
		"for one that asks no model":   {[]string{"A:llm", "B:service"}, words{"", "s1/A", "", "B", word}, nil, 1},
		"to a stage":                   {[]string{"A:llm B:llm", "B:llm"}, words{"", "s1/A", "s1", "B", word}, nil, 0},
		"to an agent":                  {[]string{"A:default", "A:llm"}, words{"", "s1/A", "s1/A", "", word}, map[string]int{"s1/A": 2}, 0},
		"while it is recorded":         {[]string{"A:default"}, words{"Finish", "Finish", "", "", word}, nil, 1},
		"for nobody that there is":     {[]string{"A:default"}, words{"", "s1/A", "", "Z", word}, nil, 1},
		"to a service's only activity": {[]string{"A:service", "B:llm"}, words{"Serve", "s1/A", "", "", word}, map[string]int{"s2/B": 1}, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOffice(t, s, "words "+name, 1, profiles[0], tt.stages...)
			var once sync.Once
			o.moment = func(at place, activity string, req *llm.Request) {
				if activity != tt.words.activity || at.execution != tt.words.execution {
					return
				}
				once.Do(func() {
					for _, text := range tt.words.texts {
						o.say(tt.words.to, tt.words.agent, text)
					}
					if refused := tt.words.agent == "Z" || name == "for one that ended for good" || name == "to a stage"; !refused && activity == "" {
						o.said(tt.words.texts...)
					}
				})
			}
			o.play()
			result := o.result()
			if name == "to a stage" && slices.Contains(result.Undelivered, "guide: agent B has ended") {
				return // on a busy machine
			}
			for _, text := range tt.words.texts {
				got := o.quoted(text)
				if name == "to a stage" { // B may have read it, or the agent of the next stage
					if len(got) != 1 || got["s1/B"]+got["s2/B"] == 0 {
						t.Errorf("read by %v", got)
					}
				} else if diff := cmp.Diff(tt.want, got); diff != "" && len(tt.want)+len(got) > 0 {
					t.Errorf("read by (-want +got):\n%s", diff)
				}
				for execution, iteration := range got {
					if seen := o.seen[text][execution]; len(seen) == 0 || seen[0] != iteration {
						t.Errorf("%s has read it in iteration %d, and was told in %v", execution, iteration, seen)
					}
				}
			}
			inv, err := s.Investigation(t.Context(), o.investigation())
			if err != nil || len(result.Undelivered) != tt.left || !slices.Equal(result.Undelivered, inv.Envelope.Undelivered) {
				t.Errorf("undelivered %q, recorded %q, want %d: %v", result.Undelivered, inv.Envelope.Undelivered, tt.left, err)
			}
		})
	}
}
