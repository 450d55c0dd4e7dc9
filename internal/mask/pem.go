package mask

import "strings"

const (
	pemDashes = "-----"
	pemBegin  = "-----BEGIN "
	pemEnd    = "-----END "
)

// pemBlocks masks PEM blocks, the ends of lines escaped or not. Of a block that
// has no end, the text having been cut, it masks what looks like one.
func (m *Masker) pemBlocks(text string) string {
	out := rewrite{text: text}
	for i := 0; ; {
		begin := strings.Index(text[i:], pemBegin)
		if begin < 0 {
			return out.String()
		}
		begin += i
		i = begin + len(pemBegin)
		title := strings.Index(text[i:], pemDashes)
		if title < 0 || title > maxTitle || strings.ToUpper(text[i:i+title]) != text[i:i+title] {
			continue
		}
		k := m.kindOfBlock(text[i : i+title])
		i += title + len(pemDashes)
		end := blockEnd(text, i)
		if k != none {
			out.replace(begin, end, k.marker())
		}
		i = end
	}
}

const maxTitle = 64 // bytes: "RSA PRIVATE KEY"

// kindOfBlock is the kind of a block by its title; none = nobody wants it masked.
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

// blockEnd is where the block ends whose first line ends at i.
func blockEnd(text string, i int) int {
	next := strings.Index(text[i:], pemDashes)
	if next >= 0 && strings.HasPrefix(text[i+next:], pemEnd) {
		end := i + next + len(pemEnd)
		if title := strings.Index(text[end:min(len(text), end+maxTitle+len(pemDashes))], pemDashes); title >= 0 {
			return end + title + len(pemDashes)
		}
		return end
	}
	limit := len(text)
	if next >= 0 {
		limit = i + next
	}
	return cutBlockEnd(text[:limit], i)
}

// cutBlockEnd is where lines end that may belong to a block: of base64, headers
// ("Proc-Type: 4,ENCRYPTED") and blank ones.
func cutBlockEnd(text string, i int) int {
	end := i
	for i < len(text) {
		c := text[i]
		switch {
		case isBase64Byte(c) || c == '\\':
			end = i + 1
		case c == ':' || c == ',' || c == '-':
		case !isSpace(c):
			return end
		case isBlank(c) && end == i && text[i-1] != ':': // words of a sentence
			return end
		}
		i++
	}
	return end
}
