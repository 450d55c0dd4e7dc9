package llm_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/internal/llm"
)

func TestArgumentsAreBounded(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, piece        string
		tooLong, repeating bool
		most               int // bytes that may be read before the limit is noticed
	}{
		{"data without end", "", true, false, llm.MaxArguments + 2000},
		{"the same words without end", "and then the pod restarts again, ", false, true, 20_000},
		{"one letter without end", "A", false, true, 20_000},
	}
	for _, tt := range tests {
		for _, size := range []int{1, 64, 1000} {
			t.Run(fmt.Sprintf("%s by %d", tt.name, size), func(t *testing.T) {
				t.Parallel()
				text := varied(8 << 20)
				if tt.piece != "" {
					text = strings.Repeat(tt.piece, (1<<20)/len(tt.piece))
				}
				var args llm.Arguments
				taken := 0
				for over := false; !over && taken < len(text); taken += size {
					over = args.Add(text[taken:min(taken+size, len(text))])
				}
				if args.TooLong() != tt.tooLong || args.Repeating() != tt.repeating || taken > tt.most {
					t.Errorf("too long: %v, repeating: %v, after %d bytes; want %v, %v, within %d", args.TooLong(), args.Repeating(), taken,
						tt.tooLong, tt.repeating, tt.most)
				}
				if args.Len() > llm.MaxArguments+4 {
					t.Errorf("%d bytes are kept", args.Len())
				}
			})
		}
	}
}

// TestArgumentsOfData checks that repetitive file contents do not count as a stuck model.
func TestArgumentsOfData(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"encoded zeros": `{"data":"` + strings.Repeat("A", 5000) + `"}`,
		"rows of zeros": `{"csv":"` + strings.Repeat(`0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0\n`, 100) + `"}`,
	} {
		var args llm.Arguments
		if args.Add(text) || args.String() != text || !args.Whole() {
			t.Errorf("%s: too long: %v, repeating: %v", name, args.TooLong(), args.Repeating())
		}
	}
}

// TestArgumentsTakeLinearTime counts memory: twice as many pieces of one size must not need more memory for each.
// Concatenation with += would copy, and so allocate, the whole for every piece.
func TestArgumentsTakeLinearTime(t *testing.T) {
	allocated := func(bytes int) float64 {
		text := varied(bytes)
		result := testing.Benchmark(func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var args llm.Arguments
				for at := 0; at < len(text); at += 1000 {
					args.Add(text[at:min(at+1000, len(text))])
				}
			}
		})
		return float64(result.AllocedBytesPerOp()) / float64(bytes)
	}
	// With +=, the 500 copies of 500,000 bytes need 250 bytes for each byte.
	if each := allocated(500_000); each > 50 {
		t.Errorf("%.0f bytes allocated for each byte of arguments, want at most 50", each)
	}
}

func TestPiece(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]llm.Piece{
		`"{\"a\":"`: `{"a":`, `null`: "", `""`: "", `{"n": 9007199254740993}`: `{"n":9007199254740993}`, `[1, 2]`: "[1,2]", `7`: "7",
	} {
		var got llm.Piece
		if err := json.Unmarshal([]byte(body), &got); err != nil || got != want {
			t.Errorf("%s is read as %q, %v; want %q", body, got, err, want)
		}
	}
}
