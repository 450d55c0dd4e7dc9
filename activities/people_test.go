package activities_test

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/tool"
)

// respondents record the ids of questions. They answer when they have all questions of an attempt.
type respondents struct {
	mu   sync.Mutex
	ids  []string
	left sync.WaitGroup // for questions
}

func (r *respondents) AskPeople(_ context.Context, _, id string, _ activities.Elicitation) (activities.Elicited, error) {
	r.mu.Lock()
	r.ids = append(r.ids, id)
	r.mu.Unlock()
	r.left.Done()
	r.left.Wait()
	return activities.Elicited{Answered: true, Text: id}, nil
}

// attempts makes several attempts of one call. In each, the server asks its questions at the same time. It returns the ids
// of the questions of each attempt, sorted.
func attempts(t *testing.T, questions ...[]tool.Question) (ids [][]string) {
	t.Helper()
	b := newBench(t)
	people := &respondents{}
	b.act.People = people
	b.asks(agent.ToolCall{ID: "c", Name: "lab__read", Arguments: `{"n":1}`})
	for _, asked := range questions {
		people.ids = nil
		people.left.Add(len(asked))
		b.runUnder = func(ctx context.Context, call tool.Call) (tool.Result, error) {
			var group sync.WaitGroup
			for _, q := range asked {
				group.Go(func() { call.Ask(ctx, q) })
			}
			group.Wait()
			return tool.Failure(tool.ErrorUnavailable, "it has ended"), nil
		}
		if _, err := b.callTool(1, 0); err == nil {
			t.Fatal("the attempt was the last")
		}
		slices.Sort(people.ids)
		ids = append(ids, people.ids)
	}
	return ids
}

// Questions of one attempt have different ids, even if a server asks them at the same time.
func TestQuestionsAtTheSameTime(t *testing.T) {
	t.Parallel()
	same := slices.Repeat([]tool.Question{{Server: "lab", Message: "Which namespace?", Schema: json.RawMessage(`{}`)}}, 64)
	ids := attempts(t, same)[0]
	if different := len(slices.Compact(ids)); different != len(same) {
		t.Errorf("%d different ids", different)
	}
}

// A question keeps its id in the next attempt of a call, so that its answer is reused. Another question gets another id, so
// that it does not get that answer.
func TestQuestionsOfTheNextAttempt(t *testing.T) {
	t.Parallel()
	one := tool.Question{Server: "lab", Message: "Which namespace?", Schema: json.RawMessage(`{}`)}
	other, form := one, one
	other.Message = "Really delete the volume?"
	form.Schema = json.RawMessage(`{"type":"object"}`)
	ids := attempts(t, []tool.Question{one}, []tool.Question{other}, []tool.Question{form}, []tool.Question{one, one})
	again := slices.DeleteFunc(slices.Clone(ids[3]), func(id string) bool { return id != ids[0][0] })
	if diff := cmp.Diff(ids[0], again); diff != "" {
		t.Errorf("the same question (-first attempt +last):\n%s", diff)
	}
	all := slices.Concat(ids[1:]...)
	slices.Sort(all)
	if len(slices.Compact(slices.Clone(all))) != 4 {
		t.Errorf("different questions share an id: %q", all)
	}
}
