// Package picture makes images from tools small enough for models and estimates their cost.
package picture

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	_ "image/gif" // the supported formats
	"image/jpeg"
	"image/png"

	"golang.org/x/image/draw"
	_ "golang.org/x/image/webp"
)

// Limits for the images that a model gets. Claude looks at no more than 1,568 pixels; OpenAI and Gemini cut larger images into tiles and
// charge for each. Providers accept requests of about 20 MB (Gemini, with base64), so no image is larger than 1 MB.
// https://docs.claude.com/en/docs/build-with-claude/vision (read 2026-11-22)
const (
	maxEdge  = 1568
	maxBytes = 1 << 20
)

// maxPixels limits the images to decode. A file of a few KB can hold billions of pixels. The worst images below this limit take two
// seconds and 300 MB.
const maxPixels = 20_000_000

// ErrNone means that the data is not an image in a format that models accept.
var ErrNone = errors.New("not a PNG, JPEG, GIF or WebP image")

// Picture is an image within the limits.
type Picture struct {
	Data          []byte
	Type          string // image/png or image/jpeg
	Width, Height int
}

// Fit makes an image small enough. It keeps an image within the limits, and otherwise scales it down to PNG or JPEG. It keeps only the
// first frame of an animation.
func Fit(data []byte) (Picture, error) {
	config, format, err := bounded(data)
	if err != nil {
		return Picture{}, err
	}
	// Decode all of it: providers refuse truncated images, and every later request that includes one.
	from, _, err := image.Decode(bytes.NewReader(data))
	if err != nil {
		return Picture{}, ErrNone
	}
	edge := max(config.Width, config.Height)
	if (format == "png" || format == "jpeg") && edge <= maxEdge && len(data) <= maxBytes {
		return Picture{Data: data, Type: "image/" + format, Width: config.Width, Height: config.Height}, nil
	}
	flat := averaged(onWhite(from), max(1, edge/maxEdge))
	for edge = min(edge, maxEdge); edge > 16; edge = edge * 2 / 3 {
		if p, err := scaled(flat, edge); err != nil || len(p.Data) <= maxBytes {
			return p, err
		}
	}
	return Picture{}, ErrNone // unreachable: even noise takes only a KB at that size
}

// Size returns the size that an image declares, which is cheap to read.
func Size(data []byte) (width, height int, err error) {
	config, _, err := configOf(data)
	return config.Width, config.Height, err
}

// Type returns the MIME type of an image by its contents. It returns an error if the image is too large to be drawn.
func Type(data []byte) (string, error) {
	_, format, err := bounded(data)
	return "image/" + format, err
}

// bounded reads the size of an image and refuses one with too many pixels.
func bounded(data []byte) (image.Config, string, error) {
	config, format, err := configOf(data)
	if err == nil && config.Width > maxPixels/config.Height {
		err = fmt.Errorf("%d×%d pixels are too many", config.Width, config.Height)
	}
	return config, format, err
}

func configOf(data []byte) (image.Config, string, error) {
	config, format, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil || config.Width < 1 || config.Height < 1 {
		return image.Config{}, "", ErrNone
	}
	return config, format, nil
}

// onWhite draws an image on a white background.
func onWhite(from image.Image) *image.RGBA {
	to := image.NewRGBA(image.Rectangle{Max: from.Bounds().Size()})
	draw.Draw(to, to.Bounds(), image.White, image.Point{}, draw.Src)
	draw.Draw(to, to.Bounds(), from, from.Bounds().Min, draw.Over)
	return to
}

// averaged reduces each n×n block to one pixel. A good scaler takes seconds for a large image, so averaged first reduces it to less than
// twice the final edge, without losing any line.
func averaged(from *image.RGBA, n int) *image.RGBA {
	if n == 1 {
		return from
	}
	size := from.Bounds().Size()
	to := image.NewRGBA(image.Rect(0, 0, (size.X+n-1)/n, (size.Y+n-1)/n))
	for y := range to.Rect.Max.Y {
		for x := range to.Rect.Max.X {
			var sum [4]int
			block := image.Rect(x*n, y*n, min(x*n+n, size.X), min(y*n+n, size.Y))
			for line := block.Min.Y; line < block.Max.Y; line++ {
				for pix := from.Pix[from.PixOffset(block.Min.X, line):][:4*block.Dx()]; len(pix) > 0; pix = pix[4:] {
					sum[0], sum[1], sum[2], sum[3] = sum[0]+int(pix[0]), sum[1]+int(pix[1]), sum[2]+int(pix[2]), sum[3]+int(pix[3])
				}
			}
			at, of := to.PixOffset(x, y), block.Dx()*block.Dy()
			for i := range sum {
				to.Pix[at+i] = uint8(sum[i] / of)
			}
		}
	}
	return to
}

// scaled scales an image to a length of the longer edge. It uses PNG, which preserves the letters and lines in screenshots and graphs, or
// JPEG if the PNG would be too large.
func scaled(from *image.RGBA, edge int) (Picture, error) {
	size := from.Bounds().Size()
	by := min(1, float64(edge)/float64(max(size.X, size.Y)))
	p := Picture{Type: "image/png", Width: max(1, int(float64(size.X)*by)), Height: max(1, int(float64(size.Y)*by))}
	to := image.NewRGBA(image.Rect(0, 0, p.Width, p.Height))
	draw.CatmullRom.Scale(to, to.Bounds(), from, from.Bounds(), draw.Src, nil)
	var out bytes.Buffer
	err := png.Encode(&out, to)
	if err == nil && out.Len() > maxBytes {
		out.Reset()
		p.Type, err = "image/jpeg", jpeg.Encode(&out, to, &jpeg.Options{Quality: 85})
	}
	p.Data = out.Bytes()
	return p, err
}
