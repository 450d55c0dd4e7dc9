package activities_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/trust/mask"
)

// png is the beginning of an image, which is not valid UTF-8.
const png = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\xff"

// Whatever type a server declares for an artifact, its text is masked, and so is its name.
func TestMaskResult(t *testing.T) {
	t.Parallel()
	const text = "password=hunter2"
	tests := []struct {
		name     string
		in, want tool.Artifact
	}{
		{"text that calls itself an image", tool.Artifact{MIMEType: "image/png", Data: []byte(text)},
			tool.Artifact{MIMEType: "image/png", Data: []byte("password=[MASKED_PASSWORD]")}},
		{"text that begins like an image", tool.Artifact{MIMEType: "image/gif", Data: []byte("GIF89a\n" + text)},
			tool.Artifact{MIMEType: "image/gif", Data: []byte("GIF89a\npassword=[MASKED_PASSWORD]")}},
		{"an image that calls itself text", tool.Artifact{MIMEType: "text/plain", Data: []byte(png + text)},
			tool.Artifact{MIMEType: "text/plain", Data: []byte(png + text)}},
		{"binary of no known kind", tool.Artifact{MIMEType: "video/mp4", Data: []byte("\xff\xfe\x01\n" + text)},
			tool.Artifact{MIMEType: "video/mp4", Data: []byte("\xff\xfe\x01\npassword=[MASKED_PASSWORD]")}},
		{"JSON", tool.Artifact{JSON: json.RawMessage(`{"password":"x"}`)},
			tool.Artifact{JSON: json.RawMessage(`{"password":"[MASKED_PASSWORD]"}`)}},
		{"names", tool.Artifact{Name: "https://bob:hunter2@host/x?token=hunter2", MIMEType: "text/x; " + text},
			tool.Artifact{Name: "https://bob:[MASKED_BASIC_AUTH]@host/x?token=[MASKED_TOKEN]", MIMEType: "text/x; password=[MASKED_PASSWORD]"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := activities.MaskResult(t.Context(), securityMasker(t), "evil.get", tool.Result{
				Content: text, Artifacts: []tool.Artifact{tt.in}, Fault: agent.Fault{Details: json.RawMessage(`{"password":"x"}`)},
			})
			want := tool.Result{
				Content: "password=[MASKED_PASSWORD]", Artifacts: []tool.Artifact{tt.want},
				Fault: agent.Fault{Details: json.RawMessage(`{"password":"[MASKED_PASSWORD]"}`)},
			}
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("%v, -want +got:\n%s", err, diff)
			}
		})
	}
}

// Thirty-nine bytes in a log used to withhold the whole result.
func TestMaskResultIsNotAWeapon(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"log: " + strings.Repeat("token:a ", 6), strings.Repeat("secret:a ", 1000), strings.Repeat(":@tcp(", 17),
		strings.Repeat("stringData: {a: {", 5000)} {
		got, err := activities.MaskResult(t.Context(), securityMasker(t), "evil.get",
			tool.Result{Content: "before\n" + line + "\nafter: it is down"})
		if err != nil || got.Status != "" || !strings.HasPrefix(got.Content, "before\n") ||
			!strings.HasSuffix(got.Content, "\nafter: it is down") {
			t.Errorf("%.40q: %v, %.200s", line, err, got.Content)
		}
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := activities.MaskResult(gone, securityMasker(t), "evil.get", tool.Result{Content: "x"}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %+v", err, got)
	}
}

func securityMasker(t *testing.T) *mask.Masker {
	t.Helper()
	m, err := mask.New(plan.Masking{Patterns: mask.Groups()["security"]})
	if err != nil {
		t.Fatal(err)
	}
	return m
}
