package remote

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/face/events"
	"github.com/inquest-dev/inquest/internal/system"
)

// silentFor is how long a stream may be silent, even without comments, before it counts as lost.
const silentFor = 3 * system.HeartbeatEvery

// Follow implements client.Client.Follow. After a lost connection it resumes where it left off.
func (r *Client) Follow(ctx context.Context, h system.Handle, after int64, fn func(system.Event) error) (system.Result, error) {
	s := stream{remote: r, id: h.ID(), row: system.WatchInvestigation.Operation, last: after, fn: fn}
	err := s.readAll(ctx)
	return s.result, err
}

// stream is a stream that is read to its end, over several connections if necessary.
type stream struct {
	remote  *Client
	id      string
	row     system.Operation
	last    int64 // ID of the last event
	fn      func(system.Event) error
	tries   int       // connections without news since the last event
	refused error     // error from fn
	away    time.Time // since when the API has not answered
	over    bool
	result  system.Result
}

// readAll reads to the end of the stream.
func (s *stream) readAll(ctx context.Context) error {
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
		if s.reportAway(time.Now()); s.refused != nil {
			return s.refused
		}
		pause(ctx, retryPause(s.tries, err))
		s.tries++
	}
}

// read reads from one connection. When that connection ends, the error is an AwayError.
func (s *stream) read(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	silence := time.AfterFunc(silentFor, cancel)
	defer silence.Stop()
	to := requestOf(s.row, system.WatchIn{ByID: system.ByID{ID: s.id}, Last: s.last})
	to.header.Set("Accept", "text/event-stream")
	response, err := s.remote.send(ctx, to)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	silence.Stop() // stop the timer while fn runs: it may ask a person
	if s.reportAway(time.Time{}); s.refused != nil {
		return s.refused
	}
	lines, reader := bufio.NewScanner(response.Body), events.Reader{}
	lines.Buffer(nil, maxEvent)
	for !s.over && s.refused == nil {
		silence.Reset(silentFor)
		more := lines.Scan()
		silence.Stop()
		switch err := lines.Err(); {
		case errors.Is(err, bufio.ErrTooLong):
			return fmt.Errorf("read the response from %s: an event is larger than %d MB", s.remote.url, maxEvent>>20)
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
			if err := s.take(&reader, []byte(value)); err != nil {
				return err
			}
		}
	}
	return nil
}

// reportAway reports that the API has been away since a time or, with the zero time, that it is back. It reports each change once.
func (s *stream) reportAway(since time.Time) {
	if since.IsZero() == s.away.IsZero() {
		return
	}
	s.away = since
	s.refused = s.fn(system.Event{Connection: &system.Connection{To: s.remote.url, Lost: since}})
}

func (s *stream) take(reader *events.Reader, data []byte) error {
	event := struct {
		events.Event
		Result system.Result `json:"result"`
	}{}
	if err := json.Unmarshal(data, &event); err != nil {
		return err
	}
	s.tries = 0
	if event.Type == events.Connection {
		conn := system.Connection{To: event.To}
		if event.Lost != nil {
			conn.Lost = *event.Lost
		}
		s.refused = s.fn(system.Event{Connection: &conn})
		return nil
	}
	if event.Type == events.Waiting && event.Approvals != nil {
		for n := range *event.Approvals {
			addressArguments(s.id, &(*event.Approvals)[n])
		}
	}
	if event.Type == events.Ended {
		s.over, s.result = true, event.Result
		s.result.ReportRef = "" // the report is complete
	}
	if u, ok := reader.Update(event.Event); ok {
		s.refused = s.fn(system.Event{Update: &u})
	}
	return nil
}
