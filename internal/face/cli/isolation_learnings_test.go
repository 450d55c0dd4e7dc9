package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"pgregory.net/rapid"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/face/mcpserver"
	"github.com/inquest-dev/inquest/internal/knowledge/learning"
	"github.com/inquest-dev/inquest/internal/prompt"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/trust/audit"
)

// teachKnowing makes an ended investigation of a random project teach something, which investigations of all projects claim to have read,
// and confirm learnings of random numbers. A person rates it.
func teachKnowing(r *rapid.T, st *store.Store, n int, learned map[string][]string) {
	ctx, now := r.Context(), time.Now()
	project := rapid.SampledFrom(knowingProjects).Draw(r, "project that learns")
	id, text := fmt.Sprintf("wf%d:0123456789ab", n), fmt.Sprintf("learned%dzq", n)
	one := record.Investigation{ID: id, WorkflowID: fmt.Sprintf("wf%d", n), RunID: "r", Chain: "open", PlanHash: "p", StartedAt: now,
		Labels: agent.Labels{Project: project}, Status: agent.StatusRunning}
	err := st.StartInvestigation(ctx, one)
	one.EndedAt, one.Status, one.Report = &now, agent.StatusCompleted, "found "+text
	_, wrong := st.Learn(ctx, project, learning.Taught{
		Investigation: id, At: now, Confirmed: []int64{rapid.Int64Range(1, 5).Draw(r, "confirmed")},
		New: []learning.Learning{{Kind: learning.Semantic, Polarity: learning.Neutral, Text: "lesson " + text, Confidence: 0.7}},
	})
	rating := record.Rating{Investigation: id, By: "ana", At: now, Rating: record.Accurate, Note: "rated " + text}
	err = errors.Join(err, wrong, st.FinishInvestigation(ctx, one), st.Rate(ctx, rating, nil, audit.Act{Investigation: id}))
	for _, other := range knowingProjects {
		err = errors.Join(err, st.NoteReads(ctx, other, []learning.Read{{Learning: 1, Investigation: id, How: learning.Shown, At: now}}))
	}
	if err != nil {
		r.Fatal(err)
	}
	learned[text] = []string{project}
}

// overMCP calls the tools that list what is known, for the project, for all and for each of the others.
func overMCP(t *rapid.T, k knowing, project string) (out string) {
	to := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := to.Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: k.url + mcpserver.Path, HTTPClient: &http.Client{Transport: bearer(secret + project)}, MaxRetries: -1,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	for _, of := range append([]string{""}, knowingProjects...) {
		in := map[string]any{"project": of, "limit": 100}
		calls := map[string]map[string]any{
			"list_learnings": in, "list_investigations": in, "list_chains": {"project": of}, "get_investigation": {"id": "wf1"},
		}
		for name, arguments := range calls {
			result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: arguments})
			if err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(result)
			if err != nil {
				t.Fatal(err)
			}
			out += string(text) + "\n"
		}
	}
	return out
}

// bearer adds a token to requests.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// everything is a search text that matches all learnings of the test.
const everything = "lesson"

// lessonsOf returns what the prompts of the project's agents can contain of learnings.
func lessonsOf(t *rapid.T, k knowing, project string) (all []prompt.Lesson) {
	found, err := k.store.FindLearnings(t.Context(), learning.Query{Project: project, Text: everything, Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range found {
		all = append(all, prompt.Lesson{Name: learning.Name(one.ID), Text: one.Text, From: one.Investigation})
	}
	return all
}

// recalled returns what recall_past_investigations and search_past_sessions say about all learnings and investigations.
func recalled(t *rapid.T, k knowing, project string) string {
	found, err := k.store.FindLearnings(t.Context(), learning.Query{Project: project, Text: everything, Limit: 1000})
	past, wrong := k.store.PastInvestigations(t.Context(), learning.PastQuery{Project: project, Text: "found", Limit: 1000})
	if err = errors.Join(err, wrong); err != nil {
		t.Fatal(err)
	}
	return learning.RecalledText(found, "", time.Now()) + learning.SessionsText(past, time.Now())
}
