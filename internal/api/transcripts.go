package api

import (
	"context"
	"net/http"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/artifact"
	"github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/internal/picture"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/transcript"
)

func (s *Server) transcripts() {
	get := func(path, id, summary string) operation {
		return operation{method: http.MethodGet, path: path, id: id, summary: summary, role: config.RoleViewer}
	}
	register(s, get(one+"/transcript", "get-transcript", "Read the transcript, in the order in which it was written"), s.transcript)
	register(s, get(one+"/transcript/{seq}/whole", "get-whole-text",
		"Read the whole text of an entry, of which the transcript has the beginning, in parts"), s.wholeText)
	register(s, get(one+"/transcript/{seq}/images/{n}", "get-image", "See an image in the result of a call"), s.image)
}

// PartIn selects the entries to read.
type PartIn struct {
	After     int64             `query:"after" minimum:"0" doc:"the seq of the last entry that is known"`
	Before    int64             `query:"before" minimum:"0" doc:"the last entries before this seq, in order; beyond all = to the end"`
	Execution string            `query:"execution" maxLength:"1000" doc:"only its entries"`
	Kinds     []transcript.Kind `query:"kind,explode" maxItems:"20" doc:"only entries of this kind; may be repeated"`
	Limit     int               `query:"limit" minimum:"1" maximum:"1000" default:"200"`
}

// entries is a part of a transcript.
type entries struct {
	Entries  []transcript.Entry `json:"entries"`
	Next     int64              `json:"next,omitempty" doc:"give it as after for the next ones; absent = there are none now"`
	Previous int64              `json:"previous,omitempty" doc:"with before: give it as before for those before them; absent = there are none"`
}

type transcriptIn struct {
	ByID
	PartIn
}

func (s *Server) transcript(ctx context.Context, in *transcriptIn) (*body[entries], error) {
	o, err := s.owned(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return s.entriesOf(ctx, o.ID, in.PartIn)
}

func (s *Server) entriesOf(ctx context.Context, id string, in PartIn) (*body[entries], error) {
	st, err := s.store(ctx)
	if err != nil {
		return nil, err
	}
	all, err := st.Part(ctx, store.Part{
		Investigation: id, Execution: in.Execution, Kinds: in.Kinds, After: in.After, Before: in.Before, Limit: in.Limit + 1,
	})
	out := entries{Entries: append([]transcript.Entry{}, all...)}
	switch more := len(all) > in.Limit; {
	case more && in.Before > 0:
		out.Entries = out.Entries[1:]
		out.Previous = out.Entries[0].Seq
	case more:
		out.Entries = out.Entries[:in.Limit]
		out.Next = out.Entries[in.Limit-1].Seq
	}
	return &body[entries]{out}, err
}

// ByEntry is the path of an entry in an investigation or a conversation.
type ByEntry struct {
	ByID
	Seq int64 `path:"seq" minimum:"1" doc:"of the entry"`
}

func (s *Server) entry(ctx context.Context, in ByEntry) (e transcript.Entry, st *store.Store, err error) {
	var o client.Owned
	if o, err = s.waits(ctx, in.ID); err != nil {
		return e, nil, err
	}
	if st, err = s.store(ctx); err != nil {
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

type wholeTextIn struct {
	ByEntry
	Offset int `query:"offset" minimum:"0" doc:"bytes; next of the part before it"`
	Limit  int `query:"limit" minimum:"4" maximum:"1000000" default:"65536" doc:"bytes"`
}

// textPart is a part of a text.
type textPart struct {
	Text string `json:"text"`
	Size int    `json:"size" doc:"bytes of the whole text"`
	Next int    `json:"next,omitempty" doc:"give it as offset for what follows; absent = this was the end"`
}

func (s *Server) wholeText(ctx context.Context, in *wholeTextIn) (*body[textPart], error) {
	e, st, err := s.entry(ctx, in.ByEntry)
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
	out := textPart{Text: string(text[from:to]), Size: len(text)}
	if to < len(text) {
		out.Next = to
	}
	return &body[textPart]{out}, nil
}

type imageIn struct {
	ByEntry
	N int `path:"n" minimum:"1" maximum:"1000" doc:"its number among the artifacts of the entry"`
}

// imageOut is an image that browsers draw and cannot interpret as anything else.
type imageOut struct {
	Type   string `header:"Content-Type"`
	Policy string `header:"Content-Security-Policy"`
	Body   []byte
}

func (s *Server) image(ctx context.Context, in *imageIn) (*imageOut, error) {
	e, st, err := s.entry(ctx, in.ByEntry)
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
		return nil, huma.Error422UnprocessableEntity("this is no image that is shown", err)
	}
	return &imageOut{kind, "default-src 'none'; sandbox", content}, nil
}
