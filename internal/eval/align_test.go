package eval_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/eval"
	"github.com/inquest-dev/inquest/internal/transcript"
)

func TestAlign(t *testing.T) {
	t.Parallel()
	of := func(execution string, seq int64, kind transcript.Kind, key transcript.Key, body transcript.Body) transcript.Entry {
		e := entry(seq, kind, key, body)
		e.Execution = execution
		return e
	}
	reply := func(execution string, seq int64, iteration int, text string, calls ...transcript.Call) transcript.Entry {
		return of(execution, seq, transcript.KindReply, transcript.Key{Iteration: iteration}, transcript.Body{Text: text, Calls: calls})
	}
	result := func(execution string, seq int64, n int, body transcript.Body) transcript.Entry {
		body.Call, body.Status = call("k8s.pods", `{}`), "success"
		return of(execution, seq, transcript.KindResult, transcript.ResultKey(1, n), body)
	}
	superseded := reply("tell/B", 3, 1, "never mind")
	superseded.Superseded = true
	a := []transcript.Entry{
		reply("tell/B", 2, 1, "", *call("k8s.pods", `{}`), *call("k8s.logs", `{}`)), superseded,
		result("tell/B", 4, 0, transcript.Body{Text: "one [image 1: a pod]"}),
		result("tell/B", 5, 1, transcript.Body{Text: "large", Result: transcript.Result{Blob: "x"}}),
		reply("dig/post:sort", 6, 1, "written by a hook"),
		reply(":score/Judge", 7, 1, "70"),
	}
	b := []transcript.Entry{
		reply("new/C", 1, 1, "hello"),
		reply("tell/B", 3, 1, "words beside calls", *call("k8s.pods", `{ }`), *call("k8s.logs", `{}`)),
		result("tell/B", 8, 0, transcript.Body{Text: "one [image 1: a pod]"}),
		result("tell/B", 9, 1, transcript.Body{Text: "large", Result: transcript.Result{Blob: "y"}}),
		reply("dig/post:sort", 10, 1, "otherwise"),
	}
	turn := func(agent string, row int64, text string, calls ...string) *eval.Turn {
		return &eval.Turn{At: eval.At{Agent: agent, Iteration: 1}, Row: row, Text: text, Calls: calls}
	}
	want := []eval.Step{
		{A: turn("tell/B", 2, "", "k8s.pods {}", "k8s.logs {}"), B: turn("tell/B", 3, "words beside calls", "k8s.pods {}", "k8s.logs {}"),
			RowA: 5, RowB: 9, Difference: "the result of k8s.logs {} differs"},
		{A: turn("dig/post:sort", 6, "written by a hook"), B: turn("dig/post:sort", 10, "otherwise"), RowA: 6, RowB: 10,
			Difference: "its text differs"},
		{B: turn("new/C", 1, "hello"), RowB: 1, Difference: "an additional reply, after 0"},
	}
	got := eval.Align(a, b)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want, eval.First(got)); diff != "" {
		t.Errorf("the first of each agent: %s", diff)
	}
	if all := eval.First(eval.Align(a, a)); len(all) > 0 || len(eval.Align(nil, nil)) > 0 {
		t.Errorf("the same: %+v", all)
	}
}
