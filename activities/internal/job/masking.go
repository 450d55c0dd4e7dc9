package job

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/trust/mask"
)

// maskers caches compiled maskings: an investigation's calls need the same ones.
type maskers struct {
	mu    sync.Mutex
	known map[string]*mask.Masker // keyed by the masking as JSON
}

// maxMaskers limits the cache.
const maxMaskers = 64

// Get compiles a masking. For nil, which masks nothing, it returns nil.
func (m *maskers) Get(masking *plan.Masking) (*mask.Masker, error) {
	if masking == nil || len(masking.Patterns)+len(masking.Custom) == 0 {
		return nil, nil
	}
	body, err := json.Marshal(masking)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if known, ok := m.known[string(body)]; ok {
		return known, nil
	}
	compiled, err := mask.New(*masking)
	if err != nil {
		return nil, err
	}
	if m.known == nil || len(m.known) >= maxMaskers {
		m.known = map[string]*mask.Masker{}
	}
	m.known[string(body)] = compiled
	return compiled, nil
}

// RequestData is how errors refer to the request's data and to what people write to agents.
const RequestData = "the request's data"

// MaskData masks a text with the request's masking. It is used for the request itself, for what people write, and for
// what hooks and mocks return. Errors call the text what.
func (a *Worker) MaskData(ctx context.Context, p plan.Plan, what, text string) (string, error) {
	masker, err := a.Maskers.Get(p.AlertMasking)
	if err == nil && masker != nil {
		text, err = masker.Text(ctx, text)
	}
	if ctx.Err() != nil {
		return "", Ended(ctx, err)
	}
	if err != nil {
		return "", Final(ErrorMasking, fmt.Errorf("%s cannot be masked, and is not stored: %w", what, err))
	}
	return text, nil
}

// Masked returns a result that may be stored and shown. A result that cannot be masked is neither stored nor shown. The
// error is ctx's.
func (j *Job) Masked(ctx context.Context, name string, result tool.Result) (tool.Result, error) {
	masker, err := j.Maskers.Get(j.Agent.MaskingOf(name, j.Plan.AlertMasking))
	if err != nil {
		return notShown(name), nil
	}
	result, err = MaskResult(ctx, masker, name, result)
	return result, Ended(ctx, err)
}

// maxWords limits a server's own words, in bytes.
const maxWords = 1000

// MaskWords masks and shortens a server's own words, so that they may be stored and shown to people.
func MaskWords(ctx context.Context, masker *mask.Masker, text string) string {
	text, err := MaskText(ctx, masker, tool.ValidText(text))
	if err != nil {
		return "(hidden: the message could not be masked)"
	}
	return clip.Bytes(text, maxWords)
}

// MaskTools masks the prose of tools: their descriptions, and those in their schemas.
func MaskTools(ctx context.Context, masker *mask.Masker, specs []tool.Spec) {
	describe := func(text string) string {
		masked, err := MaskText(ctx, masker, text)
		if err != nil {
			return "(hidden: the text could not be masked)"
		}
		return masked
	}
	for n := range specs {
		specs[n].Description = describe(specs[n].Description)
		specs[n].Schema = tool.MapProse(specs[n].Schema, describe)
	}
}

// MaskText masks a text that is kept even if ctx ends. A nil masker masks nothing.
func MaskText(ctx context.Context, masker *mask.Masker, text string) (string, error) {
	if masker == nil {
		return text, nil
	}
	return masker.Text(context.WithoutCancel(ctx), text)
}

// MaskResult masks a result, if there is a masker. The error is ctx's.
func MaskResult(ctx context.Context, masker *mask.Masker, name string, result tool.Result) (tool.Result, error) {
	if masker == nil {
		return result, nil
	}
	var err error
	if result.Content, err = masker.Text(ctx, result.Content); err == nil {
		result.Details, err = masker.JSON(ctx, result.Details)
	}
	for i := range result.Artifacts {
		if err == nil {
			err = maskArtifact(ctx, masker, &result.Artifacts[i])
		}
	}
	if ctx.Err() != nil {
		return tool.Result{}, ctx.Err()
	}
	if err != nil {
		return notShown(name), nil
	}
	return result, nil
}

func notShown(name string) tool.Result {
	return tool.Final(tool.ErrorTool, fmt.Sprintf("The result of %s could not be masked and is hidden. The call was made.", name))
}

// maskArtifact masks an artifact's name and its text; it leaves images as they are.
func maskArtifact(ctx context.Context, masker *mask.Masker, a *tool.Artifact) (err error) {
	if a.Name, err = masker.Text(ctx, a.Name); err != nil {
		return err
	}
	if a.MIMEType, err = masker.Text(ctx, a.MIMEType); err != nil {
		return err
	}
	if a.JSON, err = masker.JSON(ctx, a.JSON); err != nil || !textual(a.Data) {
		return err
	}
	text, err := masker.Text(ctx, string(a.Data))
	a.Data = []byte(text)
	return err
}

// textual reports whether data is text, whatever its declared type. Anything that does not begin like an image, audio,
// video or font counts as text.
func textual(data []byte) bool {
	if utf8.Valid(data) {
		return len(data) > 0
	}
	kind, _, _ := strings.Cut(http.DetectContentType(data), "/")
	return !slices.Contains([]string{"image", "audio", "video", "font"}, kind)
}
