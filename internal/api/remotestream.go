package api

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/internal/eventstream"
)

// silentFor is how long a stream may be silent, even without comments, before it counts as lost.
const silentFor = 3 * heartbeatEvery

// Follow implements client.Client.Follow. After a lost connection it resumes where it left off.
func (r *Remote) Follow(ctx context.Context, h client.Handle, after int64, fn func(client.Event) error) (client.Result, error) {
	s := remoteStream{remote: r, id: h.ID(), path: investigations, last: after, fn: fn}
	err := s.readAll(ctx)
	return s.result, err
}

// remoteStream is a stream that is read to its end, over several connections if necessary.
type remoteStream struct {
	remote   *Remote
	id, path string
	last     int64 // ID of the last event
	fn       func(client.Event) error
	tries    int       // connections without news since the last event
	refused  error     // error from fn
	away     time.Time // since when the API has not answered
	over     bool
	result   client.Result
}

// readAll reads to the end of the stream.
func (s *remoteStream) readAll(ctx context.Context) error {
	for {
		err := s.read(ctx)
		switch {
		case s.over || s.refused != nil:
			return s.refused
		case ctx.Err() != nil:
			return ctx.Err()
		case !passing(err):
			return err
		}
		if s.tell(time.Now()); s.refused != nil {
			return s.refused
		}
		pause(ctx, retryPause(s.tries, err))
		s.tries++
	}
}

// read reads from one connection. When that connection ends, the error is an AwayError.
func (s *remoteStream) read(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	silence := time.AfterFunc(silentFor, cancel)
	defer silence.Stop()
	header := http.Header{"Accept": {"text/event-stream"}}
	if s.last > 0 {
		header.Set("Last-Event-ID", strconv.FormatInt(s.last, 10))
	}
	response, err := s.remote.do(ctx, http.MethodGet, s.path+"/"+url.PathEscape(s.id)+"/events", nil, header)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	silence.Stop() // stop the timer while fn runs: it may ask a person
	if s.tell(time.Time{}); s.refused != nil {
		return s.refused
	}
	lines, events := bufio.NewScanner(response.Body), eventstream.Reader{}
	lines.Buffer(nil, maxEvent)
	for !s.over && s.refused == nil {
		silence.Reset(silentFor)
		more := lines.Scan()
		silence.Stop()
		switch err := lines.Err(); {
		case errors.Is(err, bufio.ErrTooLong):
			return fmt.Errorf("read what %s answers: an event has more than %d MB", s.remote.url, maxEvent>>20)
		case !more:
			return &AwayError{s.remote.url, cmp.Or(err, io.EOF)}
		}
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch name {
		case "id":
			if s.last, err = strconv.ParseInt(value, 10, 64); err != nil {
				return err
			}
		case "data":
			if err := s.take(&events, []byte(value)); err != nil {
				return err
			}
		}
	}
	return nil
}

// tell reports that the API has been away since a time or, with the zero time, that it is back. It reports each change once.
func (s *remoteStream) tell(since time.Time) {
	if since.IsZero() == s.away.IsZero() {
		return
	}
	s.away = since
	s.refused = s.fn(client.Event{Connection: &client.Connection{To: s.remote.url, Lost: since}})
}

func (s *remoteStream) take(events *eventstream.Reader, data []byte) error {
	event := struct {
		eventstream.Event
		Result client.Result `json:"result"`
	}{}
	if err := json.Unmarshal(data, &event); err != nil {
		return err
	}
	s.tries = 0
	if event.Type == eventstream.Connection {
		conn := client.Connection{To: event.To}
		if event.Lost != nil {
			conn.Lost = *event.Lost
		}
		s.refused = s.fn(client.Event{Connection: &conn})
		return nil
	}
	if event.Type == eventstream.Waiting && event.Approvals != nil {
		for n := range *event.Approvals {
			addressArguments(s.id, &(*event.Approvals)[n])
		}
	}
	if event.Type == eventstream.Ended {
		s.over, s.result = true, event.Result
		s.result.ReportRef = "" // the report is complete
	}
	if u, ok := events.Update(event.Event); ok {
		s.refused = s.fn(client.Event{Update: &u})
	}
	return nil
}
