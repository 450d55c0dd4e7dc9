package api

import (
	"context"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"github.com/inquest-dev/inquest/internal/artifact"
	"github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/internal/kit/picture"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// transcripts serves what agents said and called.
type transcripts struct{ base }

func (h transcripts) routes(to *Server) {
	register(to, system.GetTranscript, h.transcript)
	register(to, system.GetWholeText, h.wholeText)
	add(to, system.GetImage.Operation, h.image)
}

func (h transcripts) transcript(ctx context.Context, in *system.TranscriptIn) (*body[system.Entries], error) {
	o, err := h.owned(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return h.entriesOf(ctx, o.ID, in.PartIn)
}

// entriesOf reads entries of an investigation or a conversation.
func (b base) entriesOf(ctx context.Context, id string, in system.PartIn) (*body[system.Entries], error) {
	st, err := b.store(ctx)
	if err != nil {
		return nil, err
	}
	all, err := st.Part(ctx, store.Part{
		Investigation: id, Execution: in.Execution, Kinds: in.Kinds, After: in.After, Before: in.Before, Limit: in.Limit + 1,
	})
	out := system.Entries{Entries: append([]transcript.Entry{}, all...)}
	switch more := len(all) > in.Limit; {
	case more && in.Before > 0:
		out.Entries = out.Entries[1:]
		out.Previous = out.Entries[0].Seq
	case more:
		out.Entries = out.Entries[:in.Limit]
		out.Next = out.Entries[in.Limit-1].Seq
	}
	return reply(out), err
}

func (h transcripts) entry(ctx context.Context, in system.ByEntry) (e transcript.Entry, st *store.Store, err error) {
	var o client.Owned
	if o, err = h.waits(ctx, in.ID); err != nil {
		return e, nil, err
	}
	if st, err = h.store(ctx); err != nil {
		return e, nil, err
	}
	all, err := st.After(ctx, o.ID, in.Seq-1, 1)
	if err == nil && (len(all) == 0 || all[0].Seq != in.Seq) {
		return e, nil, errHidden
	}
	if err == nil {
		e = all[0]
	}
	return e, st, err
}

func (h transcripts) wholeText(ctx context.Context, in *system.WholeTextIn) (*body[system.TextPart], error) {
	e, st, err := h.entry(ctx, in.ByEntry)
	if err != nil {
		return nil, err
	}
	text := []byte(e.Text)
	if e.Blob != "" {
		if text, err = st.Blob(ctx, e.Blob); err != nil {
			return nil, err
		}
	}
	from := min(in.Offset, len(text))
	to := min(from+in.Limit, len(text))
	for to < len(text) && to > from+1 && !utf8.RuneStart(text[to]) {
		to--
	}
	out := system.TextPart{Text: string(text[from:to]), Size: len(text)}
	if to < len(text) {
		out.Next = to
	}
	return reply(out), nil
}

// imageOut is an image that browsers draw and cannot interpret as anything else.
type imageOut struct {
	Type   string `header:"Content-Type"`
	Policy string `header:"Content-Security-Policy"`
	Body   []byte
}

func (h transcripts) image(ctx context.Context, in *system.ImageIn) (*imageOut, error) {
	e, st, err := h.entry(ctx, in.ByEntry)
	if err != nil {
		return nil, err
	}
	if in.N > len(e.Artifacts) {
		return nil, errHidden
	}
	content, err := artifact.Read(ctx, st, e.Artifacts[in.N-1])
	if err != nil {
		return nil, err
	}
	kind, err := picture.Type(content) // ignore the tool's own type; anything but an image is served by artifact
	if err != nil {
		return nil, huma.Error422UnprocessableEntity("this artifact is not an image that can be displayed", err)
	}
	return &imageOut{kind, "default-src 'none'; sandbox", content}, nil
}
