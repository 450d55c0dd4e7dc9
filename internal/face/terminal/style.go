package terminal

// style is a colour or a weight: the parameter of the terminal's escape sequence.
type style string

const (
	plain  style = ""
	bold   style = "1"
	dim    style = "2"
	italic style = "3"
	red    style = "31"
	green  style = "32"
	yellow style = "33"
	cyan   style = "36" // for code
)

// agentStyles distinguish agents, in order of appearance.
var agentStyles = [...]style{"36", "35", "34", "32", "33", "96", "95", "94"}

func (p *printer) paint(s style, text string) string {
	if !p.color || s == plain || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

// The kinds of paragraphs.
var (
	replyBlock    = &block{gutter: "│"}
	thinkingBlock = &block{gutter: "┊", first: "thinking: ", style: dim}
	callBlock     = &block{gutter: "│", first: "→ ", rest: "  ", style: "36"}
	successBlock  = &block{gutter: "│", first: "✓ ", rest: "  ", style: green}
	failureBlock  = &block{gutter: "│", first: "✗ ", rest: "  ", style: red}
	contentBlock  = &block{gutter: "│", first: "    ", rest: "    ", style: dim}
	userBlock     = &block{gutter: "│", first: "» ", rest: "  ", style: yellow}
	noticeBlock   = &block{gutter: "│", first: "! ", rest: "  ", style: yellow}
	promptBlock   = &block{gutter: "│", first: "  ", rest: "  ", style: dim}
	footBlock     = &block{gutter: "│", first: "· ", rest: "  ", style: dim}
	endBlock      = &block{gutter: "│", first: "■ ", rest: "  ", style: bold}
	errorBlock    = &block{gutter: "│", first: "■ ", rest: "  ", style: red}
)
