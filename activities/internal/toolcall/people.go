package toolcall

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/inquest-dev/inquest/activities/internal/job"
	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
)

const (
	// askWithin limits a question: the activity may take an hour longer than its tool.
	askWithin = 30 * time.Minute
	// maxElicited is how much of a server's question is shown, in bytes.
	maxElicited = 2000
)

// ask returns a function that asks people on behalf of a call's server; nil if questions are not supported. The function
// is safe for concurrent use.
func (c *toolCall) ask() func(context.Context, tool.Question) (json.RawMessage, bool) {
	if c.People == nil {
		return nil
	}
	var mu sync.Mutex
	asked := map[string]int{} // how often this attempt has asked each question
	return func(ctx context.Context, q tool.Question) (json.RawMessage, bool) {
		masker, err := c.Maskers.Get(c.Agent.MaskingOf(q.Server, nil))
		if err != nil {
			return nil, false
		}
		question := job.Elicitation{
			Stage: c.Ref.StageRun(), Within: plan.Duration(askWithin), Data: q.Schema,
			Question: fmt.Sprintf("Tool server %s asks a question during %s: %s\nAnswer with data (an object that matches the schema), "+
				"or with text if it asks for a single value. Answer \"decline\" to decline.",
				q.Server, c.call.Name, clip.Text(job.MaskWords(ctx, masker, q.Message), maxElicited)),
		}
		// The id is the same in the next attempt, which then gets the answer, and differs for any other question.
		digest := fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%q%s", question.Question, question.Data)))[:12]
		mu.Lock()
		asked[digest]++
		id := fmt.Sprintf("%s/%s/%d", c.key(), digest, asked[digest])
		mu.Unlock()
		answer, err := c.People.AskPeople(ctx, c.Ref.Investigation, id, question)
		if err != nil {
			activity.GetLogger(ctx).Warn("declined a question from a tool server: no person could be asked",
				"server", q.Server, "error", err)
			return nil, false
		}
		return answer.Content(q.Schema)
	}
}
