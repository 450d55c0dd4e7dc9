package activities_test

import (
	"bytes"
	"image"
	imagepng "image/png"
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
)

// TestImages: a model with vision receives the images of results, made small; another model receives a description. Data
// that is not an image, or is too large to decode, is sent to neither.
func TestImages(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.plan(func(a *plan.Agent) { a.Providers[0].Vision = true })
	b.asks(agent.ToolCall{Name: "lab__read", Arguments: `{"n":1}`})
	var wide bytes.Buffer
	if err := imagepng.Encode(&wide, image.NewGray(image.Rect(0, 0, 3136, 1000))); err != nil {
		t.Fatal(err)
	}
	b.run = func(tool.Call) (tool.Result, error) {
		result := tool.Success("a graph")
		result.Artifacts = []tool.Artifact{
			{MIMEType: "image/png", Data: []byte("<svg/>")}, {MIMEType: "text/plain", Data: wide.Bytes()},
			{MIMEType: "application/json", JSON: []byte("{}")},
		}
		return result, nil
	}
	if _, err := b.callTool(1, 0); err != nil {
		t.Fatal(err)
	}
	for i, provider := range []int{0, 1} {
		if _, err := b.generate(activities.GenerateIn{Iteration: 2 + i, Provider: provider}); err != nil {
			t.Fatal(err)
		}
		m := results(b.requests[len(b.requests)-1])[0]
		if want := "a graph\n[image of 1568×500 pixels, as image/png]"; m.Content != want {
			t.Errorf("provider %d is told %q", provider, m.Content)
		}
		if provider == 1 {
			if len(m.Images) > 0 {
				t.Errorf("a model that does not see is sent %+v", m.Images)
			}
			continue
		}
		if len(m.Images) != 1 || m.Images[0].Width != 1568 || m.Images[0].Type != "image/png" ||
			!bytes.HasPrefix(m.Images[0].Data, []byte("\x89PNG")) {
			t.Errorf("%d images", len(m.Images))
		}
	}
}

// TestManyImages: of the images beyond the limit of a result, only the headers are read.
func TestManyImages(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.plan(func(a *plan.Agent) { a.Providers[0].Vision = true })
	b.asks(agent.ToolCall{Name: "lab__read", Arguments: `{"n":1}`})
	var whole bytes.Buffer
	if err := imagepng.Encode(&whole, image.NewGray(image.Rect(0, 0, 2000, 20))); err != nil {
		t.Fatal(err)
	}
	b.run = func(tool.Call) (tool.Result, error) {
		result := tool.Success("graphs")
		for range 8 {
			result.Artifacts = append(result.Artifacts, tool.Artifact{MIMEType: "image/png", Data: whole.Bytes()})
		}
		result.Artifacts = append(result.Artifacts, tool.Artifact{MIMEType: "image/png", Data: whole.Bytes()[:60]})
		return result, nil
	}
	if _, err := b.callTool(1, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := b.generate(activities.GenerateIn{Iteration: 2}); err != nil {
		t.Fatal(err)
	}
	m := results(b.requests[len(b.requests)-1])[0]
	const want = "\n[image of 2000×20 pixels: not shown (limit: 8 images per result)]"
	if !strings.HasSuffix(m.Content, want) || len(m.Images) != 8 {
		t.Errorf("%d images, told %q", len(m.Images), m.Content)
	}
	if noted := strings.Count(m.Content, "\n[image of "); noted != 9 { // although they are the same
		t.Errorf("%d images are described in %q", noted, m.Content)
	}
}

// TestImagesOfARequest: if there are more images than a provider accepts, the newest are sent, and several are dropped
// at a time.
func TestImagesOfARequest(t *testing.T) {
	t.Parallel()
	for model, most := range map[string]int{"gpt-4o": 20, "llama-4-scout": 5} {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.plan(func(a *plan.Agent) {
				a.MaxIterations, a.Providers = 50, []plan.Provider{{Name: "p", Model: model, Vision: true}}
			})
			b.run = func(tool.Call) (tool.Result, error) {
				result := tool.Success("a graph")
				result.Artifacts = []tool.Artifact{{MIMEType: "image/png", Data: square(t, 30+len(b.calls))}}
				return result, nil
			}
			b.reply = func(llm.Request) (llm.Response, error) {
				return llm.Response{Finish: llm.FinishToolCalls, ToolCalls: []agent.ToolCall{{Name: "lab__read", Arguments: `{"n":1}`}}}, nil
			}
			first, changed := 0, 0
			for i := range 32 {
				if _, err := b.generate(activities.GenerateIn{Iteration: i + 1}); err != nil {
					t.Fatal(err)
				}
				if _, err := b.callTool(i+1, 0); err != nil {
					t.Fatal(err)
				}
				var shown []int
				for n, m := range results(b.requests[i]) {
					if len(m.Images) > 0 {
						shown = append(shown, n)
					}
				}
				if i > 0 && (len(shown) == 0 || len(shown) > most || shown[len(shown)-1] != i-1 || shown[len(shown)-1]-shown[0] != len(shown)-1) {
					t.Fatalf("request %d shows %d", i+1, shown)
				}
				if i > 0 && shown[0] != first {
					first, changed = shown[0], changed+1
				}
			}
			if want := (31 - most + most/2 - 1) / (most / 2); changed != want {
				t.Errorf("the first image changes %d times, want %d", changed, want)
			}
		})
	}
}

func results(req llm.Request) (out []agent.Message) {
	for _, m := range req.Messages {
		if m.Role == agent.ToolRole {
			out = append(out, m)
		}
	}
	return out
}

// TestImagesAreForgottenFirst: if space runs out, old images are dropped before any text.
func TestImagesAreForgottenFirst(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.plan(func(a *plan.Agent) {
		a.Providers[0].Vision = true
		a.MaxIterations, a.Compression.MaxContextTokens, a.Compression.KeepRecentMessages = 20, 12_000, 2
	})
	var square bytes.Buffer
	if err := imagepng.Encode(&square, image.NewGray(image.Rect(0, 0, 1024, 1024))); err != nil {
		t.Fatal(err)
	}
	b.run = func(tool.Call) (tool.Result, error) {
		result := tool.Success("a graph")
		result.Artifacts = []tool.Artifact{{MIMEType: "image/png", Data: square.Bytes()}}
		return result, nil
	}
	b.reply = func(llm.Request) (llm.Response, error) {
		return llm.Response{Finish: llm.FinishToolCalls, ToolCalls: []agent.ToolCall{{Name: "lab__read", Arguments: `{"n":1}`}}}, nil
	}
	for i := range 16 { // 765 tokens each
		if _, err := b.generate(activities.GenerateIn{Iteration: i + 1}); err != nil {
			t.Fatal(err)
		}
		if _, err := b.callTool(i+1, 0); err != nil {
			t.Fatal(err)
		}
	}
	var shown []bool
	for _, m := range results(b.requests[15]) {
		if gone := strings.Contains(m.Content, "no longer shown"); gone == (len(m.Images) > 0) || !strings.HasPrefix(m.Content, "a graph") {
			t.Errorf("%q with %d images", m.Content, len(m.Images))
		}
		shown = append(shown, len(m.Images) > 0)
	}
	if len(shown) != 15 || shown[0] || !shown[14] {
		t.Errorf("shown: %v", shown)
	}
}
