// Package mask removes secrets from texts before they are stored, logged or sent to a model.
//
// A [Masker] has built-in patterns, by name, and configured ones. A match becomes a marker with its kind, [MASKED_PASSWORD]. The
// key beside it stays, so that a reader still sees what was there. Masking is idempotent, takes time linear in the text, and fails
// closed: after an error the text must not be used.
//
// If a line cannot be masked, because a configured pattern matches its own output, the line is replaced by [MASKED_LINE].
//
// Mask before truncating: a truncated secret is not recognised.
//
// The patterns are scanners, not regular expressions: one pass finds the keys of all of them in YAML, JSON, headers, URLs and shell
// commands alike. Documents are read leniently and never parsed as a whole, because Secrets must be masked even in text that no
// parser accepts.
package mask

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/inquest-dev/inquest/internal/plan"
)

// ErrNotMasked means that the text could not be masked and must not be used.
var ErrNotMasked = errors.New("not masked")

// A text is masked until it no longer changes. Usually the second round confirms that. If a configured pattern matches its own
// output, the lines that still change after maxRounds are withheld.
const (
	maxRounds         = 5
	maxWithheldRounds = 4
	maxGrowth         = 64 // factor: masking stops if a text grows more than this
)

// Masker masks texts. It is safe for concurrent use.
type Masker struct {
	on     set
	custom []custom
}

// Of returns the masker of a masking. For nil it returns nil, which means no masking.
func Of(m *plan.Masking) (*Masker, error) {
	if m == nil {
		return nil, nil
	}
	return New(*m)
}

// New returns a masker. The error names every unknown pattern and every invalid regular expression.
func New(m plan.Masking) (*Masker, error) {
	out := &Masker{}
	var errs []error
	for _, name := range m.Patterns {
		k, ok := kindOf(name)
		if !ok {
			errs = append(errs, fmt.Errorf("unknown masking pattern %q", name))
		}
		out.on |= setOf(k)
	}
	for i, p := range m.Custom {
		c, err := compile(p)
		if err != nil {
			errs = append(errs, fmt.Errorf("custom masking pattern %d: %w", i+1, err))
		}
		out.custom = append(out.custom, c)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return out, nil
}

// Shown returns a text for display where no configuration applies: masked with the patterns of the group "security". If masking
// fails, the text is not shown.
func Shown(ctx context.Context, text string) string {
	m, err := New(plan.Masking{Patterns: Groups()["security"]})
	if err == nil {
		text, err = m.Text(ctx, text)
	}
	if err != nil {
		return "[hidden: it could not be masked]"
	}
	return text
}

// Finds reports whether a short text contains anything to mask.
func (m *Masker) Finds(text string) bool { return (&job{Masker: m}).round(text) != text }

// Text masks a text of any kind and size. A JSON document stays valid, unless a configured pattern breaks its structure. The error
// is ErrNotMasked, or that of ctx.
func (m *Masker) Text(ctx context.Context, text string) (string, error) {
	return m.untilStable(ctx, text, withheld, (*job).round)
}

// JSON masks a JSON document, which stays valid: the strings in it, and everything under a key that is named as a secret. If a
// configured pattern breaks the structure, the document becomes one JSON string. The error is ErrNotMasked, or that of ctx.
func (m *Masker) JSON(ctx context.Context, raw json.RawMessage) (json.RawMessage, error) {
	if len(raw) == 0 {
		return raw, nil
	}
	if !json.Valid(raw) {
		return nil, fmt.Errorf("%w: it is not JSON", ErrNotMasked)
	}
	masked, err := m.untilStable(ctx, string(raw), quoted(withheld), func(j *job, text string) string {
		text = j.document(text, 0)
		if !json.Valid([]byte(text)) {
			return quoted(text)
		}
		return text
	})
	if err != nil {
		return nil, err
	}
	return json.RawMessage(masked), nil
}

// untilStable masks until the text no longer changes, which makes masking idempotent whatever the patterns are. If it never settles, it
// returns last instead. A bug must neither end the process nor let the text through.
func (m *Masker) untilStable(ctx context.Context, text, last string, round func(*job, string) string) (masked string, err error) {
	j := &job{Masker: m, stop: ctx.Done()}
	defer func() {
		if recover() == nil {
			return
		}
		if masked, err = "", ctx.Err(); err == nil { // the panic's message may quote the text
			err = fmt.Errorf("%w: internal error", ErrNotMasked)
		}
	}()
	limit := maxGrowth * (len(text) + len(withheld))
	for n := range maxRounds + maxWithheldRounds {
		j.withhold = false
		if masked = round(j, text); masked == text {
			return masked, nil
		}
		if n >= maxRounds || len(masked) > limit {
			j.withhold = true
			masked = round(j, text)
		}
		text = masked
	}
	if j.withhold = false; round(j, last) == last {
		return last, nil
	}
	return "", fmt.Errorf("%w: a pattern matches its own replacement", ErrNotMasked)
}

// job is the masking of one text.
type job struct {
	*Masker
	stop     <-chan struct{} // closed when the caller has given up
	withhold bool            // lines that still change are withheld
	inside   bool            // the text was encoded: one round is enough
}

// check ends the job if the caller has given up; untilStable recovers the panic.
func (j *job) check() {
	select {
	case <-j.stop:
		panic(context.Canceled)
	default:
	}
}

// round masks a text once.
func (j *job) round(text string) string { return j.nested(text, 0) }

// nested masks a text found within others, at the given depth.
func (j *job) nested(text string, depth int) string {
	if isDocument(text) {
		return j.document(text, depth)
	}
	return j.plain(text)
}

// plain masks a text that is not one JSON document.
func (j *job) plain(text string) string {
	masked := j.scan(text)
	if j.withhold && masked != text {
		return withoutLines(text, masked)
	}
	return masked
}

// scan masks a text as written, as people see it, and its encoded parts. Colours and invisible characters are removed only if they
// hid a secret.
func (j *job) scan(text string) string {
	text = j.written(text)
	if seen := undisguised(text); seen != text {
		if masked := j.written(seen); masked != seen {
			text = masked
		}
	}
	return j.decoded(text)
}

// written applies each pass to a text. The most certain passes come first, because later ones do not look into markers.
func (j *job) written(text string) string {
	for _, c := range j.custom {
		j.check()
		text = c.mask(text)
	}
	for _, p := range passes {
		if j.check(); j.on&p.finds != 0 {
			text = p.mask(j.Masker, text)
		}
	}
	return text
}

// passes are the formats in which secrets are written, and the kinds that each finds.
var passes = []struct {
	finds set
	mask  func(*Masker, string) string
}{
	{setOf(certificate, privateKey, sshKey), (*Masker).pemBlocks},
	{setOf(kubernetesSecret), func(_ *Masker, text string) string { return secretsInText(text, 0) }},
	{setOf(basicAuth, databaseDSN), (*Masker).userinfo},
	{keyed, (*Masker).tables},
	{keyed, (*Masker).keys},
	{setOf(password, basicAuth), (*Masker).commandLines},
	{keyed | setOf(email, databaseDSN, kubernetesSecret), (*Masker).shaped},
	{keyed, (*Masker).phrases},
	{prefixed, (*Masker).words},
	{setOf(azureKey, secretKey, token, apiKey), (*Masker).middles},
	{setOf(email), func(_ *Masker, text string) string { return emails(text) }},
	{setOf(base64Secret, base64Short), (*Masker).base64},
}

// isDocument reports whether a text is exactly one JSON object or list.
func isDocument(text string) bool {
	i := past(text, 0, isSpace)
	return i < len(text) && (text[i] == '{' || text[i] == '[') && json.Valid([]byte(text))
}
