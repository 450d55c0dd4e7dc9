package mask

import (
	"slices"
	"strings"
)

const (
	pemDashes = "-----"
	pemBegin  = "-----BEGIN "
	pemEnd    = "-----END "
)

// pemBlocks masks PEM blocks, with escaped or plain line ends. If a truncated block has no end, it masks what looks like part of
// it.
func (m *Masker) pemBlocks(text string) string {
	out := rewrite{text: text}
	for i := 0; ; {
		begin := strings.Index(text[i:], pemBegin)
		if begin < 0 {
			return m.pemTails(out.String())
		}
		begin += i
		i = begin + len(pemBegin)
		title, ok := titleAt(text, i)
		if !ok {
			continue
		}
		k := m.kindOfBlock(title)
		i += len(title) + len(pemDashes)
		end := blockEnd(text, i)
		if k != none && (end > i || strings.Contains(title, "PRIVATE")) {
			out.replace(begin, end, k.marker())
		}
		i = end
	}
}

// pemTails masks the ends of private keys whose beginning was truncated, and the private lines of PuTTY keys.
func (m *Masker) pemTails(text string) string {
	k := m.on.first([]kind{privateKey, sshKey, certificate})
	out := rewrite{text: text}
	for i := 0; ; {
		next := strings.Index(text[i:], "KEY-----")
		if next < 0 {
			break
		}
		at := i + next
		i = at + len("KEY-----")
		line := strings.LastIndexByte(text[max(out.done, at-maxTitle):at], '\n') + max(out.done, at-maxTitle) + 1
		if !strings.HasPrefix(text[line:], pemEnd) || !strings.Contains(text[line:i], "PRIVATE") {
			continue
		}
		start := line
		for start > out.done {
			before := max(out.done, strings.LastIndexByte(text[out.done:start-1], '\n')+1+out.done)
			body := strings.TrimSpace(text[before : start-1])
			if body == "" || base64End(body, 0) < len(body) {
				break
			}
			start = before
		}
		if start < line {
			out.replace(start, i, k.marker())
		}
	}
	const putty = "Private-Lines:"
	text, out = out.String(), rewrite{text: out.String()}
	for i := 0; ; {
		next := strings.Index(text[i:], putty)
		if next < 0 {
			return out.String()
		}
		_, start := lineOf(text, i+next)
		end := start
		for i = start; i < len(text); {
			l, after := lineOf(text, i)
			if body := text[l.start:l.end]; body == "" || base64End(body, 0) < len(body) {
				break
			}
			end, i = l.end, after
		}
		if i = max(end, i); end > start {
			out.replace(start, end, k.marker())
		}
	}
}

const maxBlock = 32 << 10 // bytes; a later end belongs to another block

const maxTitle = 64 // bytes: "RSA PRIVATE KEY"

// titleAt returns the title at i, which ends with dashes.
func titleAt(text string, i int) (title string, ok bool) {
	title, _, ok = strings.Cut(text[i:min(len(text), i+maxTitle+len(pemDashes))], pemDashes)
	return title, ok && strings.ToUpper(title) == title && !strings.ContainsAny(title, "\r\n")
}

// kindOfBlock returns the kind of a block by its title; none means that the kind is not enabled.
func (m *Masker) kindOfBlock(title string) kind {
	wanted := []kind{certificate}
	if strings.Contains(title, "PRIVATE KEY") {
		wanted = []kind{privateKey, certificate}
	}
	if strings.Contains(title, "OPENSSH") {
		wanted = []kind{privateKey, sshKey, certificate}
	}
	return m.on.first(wanted)
}

// blockEnd returns the end of the block whose first line ends at i.
func blockEnd(text string, i int) int {
	next := strings.Index(text[i:], pemDashes)
	if next >= 0 && next <= maxBlock && strings.HasPrefix(text[i+next:], pemEnd) {
		end := i + next + len(pemEnd)
		if title, ok := titleAt(text, end); ok {
			return end + len(title) + len(pemDashes)
		}
		return end
	}
	limit := len(text)
	if next >= 0 {
		limit = i + next
	}
	return cutBlockEnd(text[:limit], i)
}

// pemHeaders are headers that may precede the base64 of a block.
var pemHeaders = []string{"Proc-Type: ", "DEK-Info: ", "Version: ", "Comment: ", "Hash: ", "Charset: "}

// cutBlockEnd returns the end of the lines that can only belong to a block. Any other text may be a key, which must stay with its
// value.
func cutBlockEnd(text string, i int) int {
	const long = 16 // minimum bytes of base64 that cannot be a word
	end := base64End(text, i)
	if end < len(text) && end-i < long && !isSpace(text[end]) && !isQuote(text[end]) {
		return i
	}
	if end-i < long && end < len(text) && isBlank(text[end]) && end > i {
		return i
	}
	from := past(text, end, isBlank)
	for from < len(text) && (text[from] == '\n' || text[from] == '\r') {
		l := lineAt(text, from+1)
		body := strings.TrimLeft(l.text, " \t")
		if base64End(body, 0) < len(body) && !slices.ContainsFunc(pemHeaders, func(h string) bool { return strings.HasPrefix(body, h) }) {
			break
		}
		if body != "" {
			end = l.end
		}
		from = max(l.end, l.next-1)
	}
	return end
}

// base64End returns the end of the base64 that begins at i, with or without escaped line ends.
func base64End(text string, i int) int {
	return past(text, i, func(c byte) bool { return isBase64Byte(c) || c == '\\' })
}
