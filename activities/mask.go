package activities

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/mask"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// maskers keeps compiled maskings: an investigation's calls need the same ones.
type maskers struct {
	mu    sync.Mutex
	known map[string]*mask.Masker // by the masking, as JSON
}

// maxMaskers bounds what is kept.
const maxMaskers = 64

// get compiles a masking; nil masks nothing, and gives nil.
func (m *maskers) get(masking *agent.Masking) (*mask.Masker, error) {
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

// requestData is what errors call what is to be investigated, and what people say to agents.
const requestData = "the request's data"

// maskData masks a text as a request is masked: that itself, what people say, and
// what hooks and mocks return. Errors call it what.
func (a *Activities) maskData(plan agent.Plan, what, text string) (string, error) {
	masker, err := a.maskers.get(plan.AlertMasking)
	if err == nil && masker != nil {
		text, err = masker.Text(text)
	}
	if err != nil {
		return "", final(ErrorMasking, fmt.Errorf("%s cannot be masked, and is not stored: %w", what, err))
	}
	return text, nil
}

// masked is a result as it may be stored and shown. What cannot be masked is
// neither: it fails closed.
func (j *job) masked(name string, result tool.Result) tool.Result {
	masker, err := j.maskers.get(j.agent.MaskingOf(name, j.plan.AlertMasking))
	if err != nil {
		return notShown(name)
	}
	return MaskResult(masker, name, result)
}

// shown is the beginning of a call's arguments, as people are shown it: masked as
// the tool's results are.
func (j *job) shown(call transcript.Call) string {
	text := call.Arguments
	masker, err := j.maskers.get(j.agent.MaskingOf(call.Name, j.plan.AlertMasking))
	if err == nil && masker != nil {
		text, err = masker.Text(text)
	}
	if err != nil {
		return "(they cannot be masked, and are not shown)"
	}
	return tool.Clip(tool.ValidText(text), maxArguments)
}

// MaskResult masks a result, if there is a masker.
func MaskResult(masker *mask.Masker, name string, result tool.Result) tool.Result {
	if masker == nil {
		return result
	}
	var err error
	result.Content, err = masker.Text(result.Content)
	for i := range result.Artifacts {
		if err == nil {
			err = maskArtifact(masker, &result.Artifacts[i])
		}
	}
	if err != nil {
		return notShown(name)
	}
	return result
}

func notShown(name string) tool.Result {
	return tool.Failure(tool.ErrorTool, fmt.Sprintf("The result of %s could not be masked, and is not shown. The call itself was made.", name))
}

// maskArtifact masks what of an artifact is text; an image is left as it is.
func maskArtifact(masker *mask.Masker, a *tool.Artifact) (err error) {
	if len(a.JSON) > 0 {
		if a.JSON, err = masker.JSON(a.JSON); err != nil {
			return err
		}
	}
	if len(a.Data) == 0 || !textual(a.MIMEType) {
		return nil
	}
	text, err := masker.Text(string(a.Data))
	a.Data = []byte(text)
	return err
}

// textual reports whether data of a media type is text. One that is not known counts as text.
func textual(mimeType string) bool {
	for _, binary := range []string{"image/", "audio/", "video/", "font/"} {
		if strings.HasPrefix(mimeType, binary) {
			return false
		}
	}
	return true
}
