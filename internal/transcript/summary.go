package transcript

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
)

// Summaries returns the summaries among the entries, by the key of the result that each replaces, without superseded ones.
func Summaries(entries []Entry) map[Key]Entry {
	out := map[Key]Entry{}
	for _, e := range entries {
		if e.Kind == KindSummary && !e.Superseded {
			out[ResultKey(e.Iteration, e.CallIndex())] = e
		}
	}
	return out
}

// pointer says how much of a result is shown, and where the rest is.
func pointer(result, shown Entry) string {
	what := "Summary"
	switch {
	case shown.Kind != KindSummary:
		what = "The beginning"
	case shown.ErrorType != "":
		what = "Not summarised (" + shown.ErrorType + "): the beginning"
	}
	const text = "[%s of a result of %d bytes; complete result: %s {\"ref\": %q}]"
	return fmt.Sprintf(text, what, result.Size, agent.ToolReadResult, result.Ref())
}

// Ref is the name that models use for a result: "3/0" is the first call of the third iteration.
func (k Key) Ref() string { return fmt.Sprintf("%d/%d", k.Iteration, k.CallIndex()) }

// ParseRef returns the key of the result that a Ref names.
func ParseRef(ref string) (Key, bool) {
	iteration, n, ok := strings.Cut(ref, "/")
	i, errI := strconv.Atoi(iteration)
	c, errC := strconv.Atoi(n)
	if !ok || errI != nil || errC != nil || i < 1 || c < 0 || c > callBase {
		return Key{}, false
	}
	return ResultKey(i, c), true
}

// Whole returns an entry's whole text. It calls blob if the text is too large for the entry.
func (b Body) Whole(ctx context.Context, blob func(ctx context.Context, hash string) ([]byte, error)) (string, error) {
	if b.Blob == "" {
		return b.Text, nil
	}
	data, err := blob(ctx, b.Blob)
	return string(data), err
}
