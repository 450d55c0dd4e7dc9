package terminal

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
)

// number formats 1234567 as 1,234,567.
func number(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// Size formats a number of bytes.
func Size(n int) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d B", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
}

// duration formats a duration.
func duration(d time.Duration) string {
	if d < 10*time.Second {
		return fmt.Sprintf("%.1f s", max(d, 0).Seconds())
	}
	return d.Round(time.Second).String()
}

// Tokens formats token counts: "1,234 tokens in (1,000 cached, 80 for images), 56 out (20 thinking)", or "tokens unknown".
func Tokens(u agent.Usage) string {
	if u == (agent.Usage{}) {
		return "tokens unknown"
	}
	input := parts(part{u.CacheReadTokens, "cached"}, part{u.CacheWriteTokens, "written to the cache"}, part{u.ImageTokens, "for images"})
	return fmt.Sprintf("%s tokens in%s, %s out%s", number(u.InputTokens), input,
		number(u.OutputTokens), parts(part{u.ReasoningTokens, "thinking"}))
}

// part is the number of tokens of one kind.
type part struct {
	tokens int
	kind   string
}

// parts formats the parts that are not zero: " (900 cached, 80 of images)".
func parts(all ...part) string {
	var texts []string
	for _, p := range all {
		if p.tokens > 0 {
			texts = append(texts, number(p.tokens)+" "+p.kind)
		}
	}
	if len(texts) == 0 {
		return ""
	}
	return " (" + strings.Join(texts, ", ") + ")"
}

// Usage formats all counts, and the price if known.
func Usage(u agent.Usage) string {
	if u == (agent.Usage{}) {
		return Tokens(u)
	}
	text := fmt.Sprintf("%s · %s · %s", Tokens(u), Count(u.ModelCalls, "model call"), Count(u.ToolCalls, "tool call"))
	if u.CostUSD > 0 {
		text += " · " + Cost(u)
	}
	return text
}

// Cost formats a price: "$0.0123", or "-" if no prices are known.
func Cost(u agent.Usage) string {
	switch {
	case u.CostUSD <= 0:
		return "-"
	case u.CostUSD < 0.0001:
		return "<$0.0001"
	}
	return fmt.Sprintf("$%.4f", u.CostUSD)
}

// Count formats a number of things: "1 iteration", "2 iterations".
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return number(n) + " " + what + "s"
}
