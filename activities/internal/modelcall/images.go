package modelcall

import (
	"context"
	"fmt"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/picture"
)

// addImages loads the images of a view. If there are too many, it drops the oldest in steps of half the limit, so that
// most requests share a prefix with the previous one.
func (g *generation) addImages(ctx context.Context, view []agent.Message) error {
	skip, most := 0, picture.Most(g.provider().Model)
	if n, step := countImages(view), most/2; n > most {
		skip = (n - most + step - 1) / step * step
	}
	for n, m := range view {
		view[n].Images = nil
		for _, image := range m.Images {
			if skip--; skip >= 0 {
				continue
			}
			var err error
			if image.Data, err = g.Blobs.Blob(ctx, image.Ref); err != nil {
				return fmt.Errorf("read an image: %w", err)
			}
			view[n].Images = append(view[n].Images, image)
		}
	}
	return nil
}

func countImages(view []agent.Message) (n int) {
	for _, m := range view {
		n += len(m.Images)
	}
	return n
}
