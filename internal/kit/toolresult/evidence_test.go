package toolresult_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/inquest-dev/inquest/internal/kit/toolresult"
)

func TestEvidence(t *testing.T) {
	t.Parallel()
	type view = toolresult.View
	type discoveries = []toolresult.Discovery
	type citations = []toolresult.Citation
	for name, tc := range map[string]struct {
		data fields
		want view
	}{
		"no data":              {nil, view{}},
		"nothing that we know": {fields{"a": 1}, view{}},
		"lists of any":         {fields{"items_explored": []any{"a", 1.5, nil, true, ""}}, view{ItemsExplored: []string{"a", "1.5", "true"}}},
		"lists of texts":       {fields{"items_pending": []string{"a", "b"}}, view{ItemsPending: []string{"a", "b"}}},
		"one for a list":       {fields{"items_pending": "a"}, view{ItemsPending: []string{"a"}}},
		"a discovery": {
			fields{"discoveries": []any{fields{"identifier": "web-1", "item_type": "pod", "location": "prod", "metadata": fields{"a": 1}}}},
			view{Discoveries: discoveries{{Identifier: "web-1", ItemType: "pod", Location: "prod", Metadata: fields{"a": 1}}}},
		},
		"its defaults": {fields{"discoveries": []fields{{"identifier": 17, "item_type": 1, "metadata": "x"}}},
			view{Discoveries: discoveries{{Identifier: "17", ItemType: "item"}}}},
		"texts for some": {fields{"discoveries": []string{"web-1"}}, view{Discoveries: discoveries{{Identifier: "web-1", ItemType: "item"}}}},
		"that name none": {fields{"discoveries": []any{fields{"location": "x"}, nil, "", []any{}}}, view{}},
		"one for many": {fields{"discoveries": fields{"identifier": "a"}},
			view{Discoveries: discoveries{{Identifier: "a", ItemType: "item"}}}},
		"evidence": {fields{"evidence": []any{fields{"location": "log:1", "content": "OOM", "relevance": "cause", "confidence": 0.5}}},
			view{Evidence: citations{{"log:1", "OOM", "cause", 0.5, false}}}},
		"of other types": {fields{"evidence": []fields{{"location": 1, "content": fields{"b": 1, "a": 2}, "relevance": 0.7}}},
			view{Evidence: citations{{"1", `{"a":2,"b":1}`, "0.7", 0.9, true}}}},
		"a text for one": {fields{"evidence": []any{"OOM", 7, fields{"relevance": "r"}}},
			view{Evidence: citations{{"", "OOM", "", 0.9, true}, {"", "7", "", 0.9, true}}}},
		"what JSON lacks": {fields{"evidence": []any{fields{"content": math.NaN(), "location": "l"}}},
			view{Evidence: citations{{"l", "", "", 0.9, true}}}},
		"all wrong": {fields{"items_explored": nil, "items_pending": fields{}, "discoveries": nil, "evidence": []any{nil}}, view{}},
		"another map type": {fields{"discoveries": named{"identifier": "a"}},
			view{Discoveries: discoveries{{Identifier: "a", ItemType: "item"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.want.Raw = tc.data
			got := toolresult.Evidence(tc.data)
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateNaNs()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestConfidence(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		said any
		want float64
	}{
		{0.25, 0.25}, {0, 0}, {1, 1}, {json.Number("0.75"), 0.75}, {json.Number("1"), 1},
		{nil, 0.9}, {"0.5", 0.9}, {true, 0.9}, {-0.1, 0.9}, {80, 0.9}, {math.NaN(), 0.9}, {math.Inf(1), 0.9},
		{json.Number("x"), 0.9}, {json.Number("1e999"), 0.9}, {[]any{0.5}, 0.9},
	} {
		got := toolresult.Evidence(fields{"evidence": []any{fields{"content": "c", "confidence": tc.said}}})
		if len(got.Evidence) != 1 || got.Evidence[0].Confidence != tc.want || got.Evidence[0].Assumed != (tc.want == 0.9) {
			t.Errorf("%v: %+v, want %v", tc.said, got.Evidence, tc.want)
		}
	}
}
