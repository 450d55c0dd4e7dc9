package mask_test

import (
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/internal/trust/mask"
)

// BenchmarkText masks 50 MB of each kind of text, with all patterns.
func BenchmarkText(b *testing.B) {
	const size = 50 << 20
	for name, unit := range map[string]string{
		"logs": "2025-01-02T03:04:05Z INFO server: handled request method=GET path=/api/v1/pods status=200 duration=12ms user=alice " +
			"trace=3b18e512dba79e4c8300dd08aeb37f8e\n",
		"jsonl": `{"ts":"2025-01-02T03:04:05Z","level":"info","msg":"handled","labels":{"app":"x","pod":"y-5d9c7"},"n":12,"token":"abcdef123"}` +
			"\n",
		"yaml": "apiVersion: v1\ndata:\n  password: aHVudGVyMg==\n  tls.key: |\n    abc\n    def\nkind: Secret\nmetadata:\n  name: x\n  " +
			"labels: {app: y}\n---\n",
		"line":  "lorem ipsum dolor sit amet ",
		"dense": "password=x ",
	} {
		b.Run(name, func(b *testing.B) {
			m := newMasker(b, mask.Names()...)
			text := strings.Repeat(unit, size/len(unit))
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := m.Text(b.Context(), text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkJSON masks one document of 50 MB.
func BenchmarkJSON(b *testing.B) {
	m := newMasker(b, mask.Names()...)
	const item = `{"ts":"2025-01-02T03:04:05Z","level":"info","msg":"handled","labels":{"app":"x","pod":"y-5d9c7"},"n":12,` +
		`"token":"abcdef123"},`
	text := "[" + strings.Repeat(item, 50<<20/len(item)) + "0]"
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.JSON(b.Context(), []byte(text)); err != nil {
			b.Fatal(err)
		}
	}
}
