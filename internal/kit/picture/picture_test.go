package picture_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math/rand"
	"testing"

	"github.com/inquest-dev/inquest/internal/kit/picture"
)

func noise(w, h int) *image.RGBA {
	img := image.NewRGBA(image.Rect(0, 0, w, h))
	rand.New(rand.NewSource(1)).Read(img.Pix)
	return img
}

func encoded(t *testing.T, encode func(*bytes.Buffer) error) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := encode(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestFit(t *testing.T) {
	t.Parallel()
	asPNG := func(img image.Image) []byte {
		return encoded(t, func(b *bytes.Buffer) error { return png.Encode(b, img) })
	}
	small := asPNG(noise(100, 50))
	smallJPEG := encoded(t, func(b *bytes.Buffer) error { return jpeg.Encode(b, noise(30, 20), nil) })
	for name, tt := range map[string]struct {
		data          []byte
		width, height int
		kind          string
		as            bool // unchanged
	}{
		"small":             {small, 100, 50, "image/png", true},
		"half a small one":  {small[:len(small)/2], 0, 0, "", false},
		"a small JPEG":      {smallJPEG, 30, 20, "image/jpeg", true},
		"half a small JPEG": {smallJPEG[:len(smallJPEG)*3/4], 0, 0, "", false},
		"a GIF": {encoded(t, func(b *bytes.Buffer) error {
			return gif.Encode(b, image.NewPaletted(image.Rect(0, 0, 40, 30), color.Palette{color.White, color.Black}), nil)
		}), 40, 30, "image/png", false},
		"wide":           {asPNG(image.NewGray(image.Rect(0, 0, 4000, 1000))), 1568, 392, "image/png", false},
		"very wide":      {asPNG(image.NewGray(image.Rect(0, 0, 9999, 1001))), 1568, 157, "image/png", false},
		"too many":       {asPNG(image.NewGray(image.Rect(0, 0, 5000, 5000))), 0, 0, "", false},
		"a line":         {asPNG(image.NewGray(image.Rect(0, 0, 9000, 1))), 1568, 1, "image/png", false},
		"noise":          {asPNG(noise(2000, 1000)), 1568, 784, "image/jpeg", false},
		"much of it":     {asPNG(noise(600, 600)), 600, 600, "image/jpeg", false},
		"no image":       {[]byte("<svg/>"), 0, 0, "", false},
		"half an image":  {asPNG(noise(1700, 3))[:9000], 0, 0, "", false},
		"a bomb":         {bomb(100_000, 100_000), 0, 0, "", false},
		"larger than it": {bomb(1<<31-1, 1<<31-1), 0, 0, "", false},
		"without pixels": {bomb(0, 10), 0, 0, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := picture.Fit(tt.data)
			if (err != nil) != (tt.width == 0) || got.Width != tt.width || got.Height != tt.height || got.Type != tt.kind {
				t.Fatalf("%d×%d of %s, %v", got.Width, got.Height, got.Type, err)
			}
			if err != nil {
				return
			}
			config, format, err := image.DecodeConfig(bytes.NewReader(got.Data))
			if err != nil || config.Width != got.Width || "image/"+format != got.Type || len(got.Data) > 1<<20 {
				t.Errorf("%d bytes of %s, %d pixels wide, %v", len(got.Data), format, config.Width, err)
			}
			if bytes.Equal(got.Data, tt.data) != tt.as {
				t.Errorf("as it was: %v", !tt.as)
			}
		})
	}
}

// TestThinLine checks that a line of one pixel stays visible when a large image is reduced.
func TestThinLine(t *testing.T) {
	t.Parallel()
	img := image.NewGray(image.Rect(0, 0, 8000, 40))
	for i := range img.Pix {
		if img.Pix[i] = 255; i%8000 == 4001 {
			img.Pix[i] = 0
		}
	}
	got, err := picture.Fit(encoded(t, func(b *bytes.Buffer) error { return png.Encode(b, img) }))
	if err != nil {
		t.Fatal(err)
	}
	small, err := png.Decode(bytes.NewReader(got.Data))
	if err != nil {
		t.Fatal(err)
	}
	darkest := 255
	for x := range got.Width {
		r, _, _, a := small.At(x, 3).RGBA()
		if darkest = min(darkest, int(r>>8)); a != 0xffff {
			t.Fatalf("pixel %d is transparent", x)
		}
	}
	if darkest > 225 {
		t.Errorf("the darkest pixel is %d", darkest)
	}
}

// bomb is a PNG that claims this many pixels.
func bomb(w, h uint32) []byte {
	head := append([]byte("IHDR"), make([]byte, 13)...)
	binary.BigEndian.PutUint32(head[4:], w)
	binary.BigEndian.PutUint32(head[8:], h)
	head[12], head[13] = 8, 2
	out := append([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\x0d"), head...)
	return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(head))
}

func TestSeen(t *testing.T) {
	t.Parallel()
	for model, want := range map[string]bool{
		"gpt-4o": true, "openai/gpt-5-mini": true, "gpt-4": false, "gpt-3.5-turbo": false, "gpt-35-turbo": false, "gpt-oss-120b": false,
		"o3": true, "o3-mini": false,
		"gemini-2.5-pro": true, "models/gemini-3-pro": true, "gemini-embedding-001": false, "claude-sonnet-4-5": true, "claude-2.1": false,
		"anthropic/claude-opus-4": true, "claude-sonnet-4-5@20250929": true, "eu.anthropic.claude-opus-4-8": true, "grok-4": true,
		"grok-3": false, "deepseek-chat": false, "llama3.2-vision:11b": true,
		"qwen2.5-vl-72b": true, "qwen2.5vl:7b": true, "llama3": false, "sample": false, "": false,
	} {
		if got := picture.Seen(model); got != want {
			t.Errorf("%q: %v", model, got)
		}
	}
}

func TestMost(t *testing.T) {
	t.Parallel()
	for model, want := range map[string]int{
		"gpt-5.6": 20, "openai/o3": 20, "models/gemini-3-pro": 20, "eu.anthropic.claude-opus-4-8": 20, "grok-4": 20,
		"meta-llama/llama-4-scout-17b-16e-instruct": 5, "pixtral-12b": 5, "": 5,
	} {
		if got := picture.Most(model); got != want {
			t.Errorf("%q: %d, want %d", model, got, want)
		}
	}
}

// TestTokens covers the examples on the providers' pages.
func TestTokens(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		model         string
		width, height int
		want          int
	}{
		{"gpt-4o", 1024, 1024, 765}, {"gpt-4o", 2048, 4096, 1105}, {"gpt-4.1-mini", 1024, 1024, 1659}, {"openai/gpt-4o-mini", 512, 512, 8500},
		{"gemini-2.5-pro", 384, 384, 258}, {"gemini-2.5-pro", 960, 540, 516}, {"gemini-3-pro", 10, 10, 1120},
		{"claude-sonnet-4-5", 1000, 1000, 1334}, {"claude-sonnet-4-5", 200, 200, 54}, {"", 1, 1, 1},
	} {
		if got := picture.Tokens(tt.model, tt.width, tt.height); got != tt.want {
			t.Errorf("%s, %d×%d: %d, want %d", tt.model, tt.width, tt.height, got, tt.want)
		}
	}
}
