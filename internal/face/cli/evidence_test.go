package cli

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/internal/trust/evidence"
	"github.com/inquest-dev/inquest/workflows"
)

// cite PATH makes a store with the investigations "cited", whose report has been checked, "finding", which is running, and "empty", which
// has found nothing.
func cite(ts *testscript.TestScript, _ bool, args []string) {
	ctx := context.Background()
	st, err := store.Open(ctx, store.Options{Path: ts.MkAbs(args[0])})
	ts.Check(err)
	for _, workflowID := range []string{"cited", "finding", "empty"} {
		r := record.Investigation{
			ID: workflows.InvestigationID(workflowID, runID), WorkflowID: workflowID, RunID: runID, Chain: "c", Status: agent.StatusRunning,
			StartedAt: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
		}
		call := transcript.Call{ID: "c1_0", Name: "kube.pods", Arguments: `{"namespace":"shop"}`}
		const found = `{"discoveries":[{"identifier":"checkout-7f9c4","item_type":"pod","location":"shop"}],"evidence":[` +
			`{"location":"checkout-7f9c4","content":"OOMKilled, restarts 7 \u001b[31m<b>","relevance":"cause","confidence":0.8},"a second one"],` +
			`"items_pending":["its limits"]}`
		if workflowID == "empty" {
			ts.Check(st.StartInvestigation(ctx, r))
			continue
		}
		const report = "## Root cause\ncheckout-7f9c4 was OOMKilled 7 times [1]. It began at 14:02 UTC [1]."
		_, err := st.Append(ctx, transcript.Step{
			Scope:  transcript.Scope{Investigation: r.ID, Execution: "s/A"},
			Writer: transcript.Writer{RunID: runID, ActivityID: "1"},
			Rows: []transcript.Row{
				{Key: transcript.ResultKey(1, 0), Kind: transcript.KindResult, Body: transcript.Body{Text: found, Call: &call, Status: "success"}},
				{Key: transcript.Key{Iteration: 2}, Kind: transcript.KindReply, Body: transcript.Body{Text: report}},
			},
		})
		ts.Check(errors.Join(st.StartInvestigation(ctx, r), err))
		if workflowID == "finding" {
			continue
		}
		entries, err := st.After(ctx, r.ID, 0, 0)
		ts.Check(err)
		proof, err := evidence.Collect(ctx, entries, st.Blob)
		ts.Check(err)
		over := r.StartedAt.Add(time.Minute)
		r.Status, r.EndReason, r.Report, r.EndedAt = agent.StatusCompleted, agent.EndCompleted, proof.Report("s/A", report), &over
		body, err := json.Marshal(proof)
		ts.Check(err)
		r.Envelope.Evidence, err = st.PutBlob(ctx, body)
		ts.Check(errors.Join(err, st.FinishInvestigation(ctx, r)))
	}
	ts.Check(st.Close())
}
