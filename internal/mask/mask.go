// Package mask takes secrets out of texts, before anything stores them, logs
// them or sends them to a model.
//
// A [Masker] has patterns, by name, and those of the configuration. What a
// pattern finds becomes a marker that tells its kind, [MASKED_PASSWORD]; the key
// beside it stays, so that a reader still sees what was there. Masking is
// idempotent, takes time linear in the text, and fails closed: after an error
// the text must not be used.
//
// A line that cannot be masked, because a pattern of the configuration matches
// what it has written itself, is withheld: [MASKED_LINE] stands for it.
//
// Mask first and cut second: a secret that was cut in two is not recognised.
//
// The patterns are scanners and not regular expressions: one pass finds the keys
// of all of them in YAML, JSON, headers, URLs and shell commands alike. Documents
// are read leniently and never parsed whole, because what looks like a Secret
// must be masked in text that no parser accepts.
package mask

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/inquest-dev/inquest/internal/plan"
)

// ErrNotMasked: the text could not be masked, and must not be used.
var ErrNotMasked = errors.New("not masked")

// A text is masked until nothing changes any more. The second round sees that,
// unless a pattern of the configuration matches what it has written itself: after
// maxRounds, the lines that still change are withheld.
const (
	maxRounds      = 5
	maxWithholding = 4
	maxGrowth      = 64 // times: a text that grows more is not masked further
)

// Masker masks texts. It may be used concurrently.
type Masker struct {
	on     set
	custom []custom
}

// Of makes the masker of a masking; nil masks nothing, and has none.
func Of(m *plan.Masking) (*Masker, error) {
	if m == nil {
		return nil, nil
	}
	return New(*m)
}

// New makes a masker. The error names every pattern that is unknown, and every
// one that is not a regular expression.
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

// Shown is a text as it may be shown where no configuration says how: masked by the patterns of the group "security". One
// that cannot be masked is not shown.
func Shown(ctx context.Context, text string) string {
	m, err := New(plan.Masking{Patterns: Groups()["security"]})
	if err == nil {
		text, err = m.Text(ctx, text)
	}
	if err != nil {
		return "[it could not be masked, and is not shown]"
	}
	return text
}

// Finds reports whether there is something to mask in a text, which is a short one.
func (m *Masker) Finds(text string) bool { return (&job{Masker: m}).round(text) != text }

// Text masks a text of any kind and size. A text that is one JSON document
// stays one, unless a pattern of the configuration cuts through its structure.
// The error is ErrNotMasked, or ctx's.
func (m *Masker) Text(ctx context.Context, text string) (string, error) {
	return m.settle(ctx, text, withheld, (*job).round)
}

// JSON masks a JSON document, which stays one: the texts in it, and whatever
// stands under a key that is named as a secret. If a pattern of the configuration
// cuts through the structure, the document becomes one JSON string. The error is
// ErrNotMasked, or ctx's.
func (m *Masker) JSON(ctx context.Context, raw json.RawMessage) (json.RawMessage, error) {
	if len(raw) == 0 {
		return raw, nil
	}
	if !json.Valid(raw) {
		return nil, fmt.Errorf("%w: it is not JSON", ErrNotMasked)
	}
	masked, err := m.settle(ctx, string(raw), quoted(withheld), func(j *job, text string) string {
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

// settle masks until nothing changes any more, which makes masking idempotent
// whatever the patterns are. If it never does, last stands for the text. A bug
// must neither end the process nor let the text through.
func (m *Masker) settle(ctx context.Context, text, last string, round func(*job, string) string) (masked string, err error) {
	j := &job{Masker: m, stop: ctx.Done()}
	defer func() {
		if recover() == nil {
			return
		}
		if masked, err = "", ctx.Err(); err == nil { // what the panic says may quote the text
			err = fmt.Errorf("%w: internal error", ErrNotMasked)
		}
	}()
	limit := maxGrowth * (len(text) + len(withheld))
	for n := range maxRounds + maxWithholding {
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
	return "", fmt.Errorf("%w: a pattern matches what it writes", ErrNotMasked)
}

// job is the masking of one text.
type job struct {
	*Masker
	stop     <-chan struct{} // closed: nobody waits for the text any more
	withhold bool            // lines that still change are withheld
	inside   bool            // what is masked was encoded: once is enough
}

// check ends the job if nobody waits for it any more; settle recovers.
func (j *job) check() {
	select {
	case <-j.stop:
		panic(context.Canceled)
	default:
	}
}

// round masks a text once.
func (j *job) round(text string) string { return j.nested(text, 0) }

// nested masks a text that was found in others, depth levels down.
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

// scan masks a text as it is written, as people see it, and what is encoded in it.
// Colours and invisible characters go only where something was found behind them.
func (j *job) scan(text string) string {
	text = j.written(text)
	if seen := undisguised(text); seen != text {
		if masked := j.written(seen); masked != seen {
			text = masked
		}
	}
	return j.decoded(text)
}

// written goes through a text once for each way in which secrets are written. What
// is most certain of what it finds comes first: nothing later looks into a marker.
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

// passes are the ways in which secrets are written, and the kinds that are written so.
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

// isDocument reports whether a text is a JSON object or list, and nothing else.
func isDocument(text string) bool {
	i := past(text, 0, isSpace)
	return i < len(text) && (text[i] == '{' || text[i] == '[') && json.Valid([]byte(text))
}
