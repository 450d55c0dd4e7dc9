package toolcall

import (
	"context"
	"fmt"
	"slices"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/picture"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// maxResultImages is how many images of one result are sent to a model.
const maxResultImages = 8

// keepImages stores the images of a result and describes them in its text, unless no model of the agent has vision.
// Fallback models without vision read the descriptions, and so do all models once an image is no longer sent.
func (j Calls) keepImages(ctx context.Context, result *tool.Result, body *transcript.Body) error {
	if !slices.ContainsFunc(j.Agent.Providers, func(p plan.Provider) bool { return p.Vision }) {
		return nil
	}
	for _, a := range result.Artifacts {
		if err := ctx.Err(); err != nil {
			return err
		}
		about, err := j.keepImage(ctx, a.Data, body)
		if err != nil {
			return err
		}
		if about == "" {
			continue
		}
		result.Content += transcript.ImageNote(about)
	}
	body.Text, body.Size = result.Content, len(result.Content)
	return nil
}

// keepImage stores an image of a result and returns its description for the model: an empty string if the data is not an
// image. Beyond maxResultImages, images are not resized or stored, because that takes time.
func (j Calls) keepImage(ctx context.Context, data []byte, body *transcript.Body) (string, error) {
	if len(body.Images) == maxResultImages {
		width, height, err := picture.Size(data)
		if err != nil {
			return "", nil
		}
		return fmt.Sprintf("image of %d×%d pixels: not shown (limit: %d images per result)", width, height, maxResultImages), nil
	}
	p, err := picture.Fit(data)
	if err == picture.ErrNone {
		return "", nil
	}
	if err != nil {
		return "image: not shown, " + err.Error(), nil
	}
	ref, err := j.Blobs.PutBlob(ctx, p.Data)
	if err != nil {
		return "", fmt.Errorf("keep an image: %w", err)
	}
	body.Images = append(body.Images, agent.Image{Ref: ref, Type: p.Type, Width: p.Width, Height: p.Height})
	return fmt.Sprintf("image of %d×%d pixels, as %s", p.Width, p.Height, p.Type), nil
}
