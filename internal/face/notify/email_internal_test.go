package notify

import (
	"context"
	"errors"
	"io"
	"net"
	"net/mail"
	"strings"
	"testing"

	"github.com/emersion/go-smtp"

	"github.com/inquest-dev/inquest/config"
)

// mailServer is a server that keeps one letter.
type mailServer struct {
	from   string
	to     []string
	letter string
	refuse error
	bad    string // a recipient to refuse
}

func (s *mailServer) NewSession(*smtp.Conn) (smtp.Session, error) { return s, nil }
func (s *mailServer) Mail(from string, _ *smtp.MailOptions) error { s.from = from; return s.refuse }
func (s *mailServer) Rcpt(to string, _ *smtp.RcptOptions) error {
	if to == s.bad {
		return &smtp.SMTPError{Code: 550, Message: "no such user"}
	}
	s.to = append(s.to, to)
	return nil
}
func (s *mailServer) Reset()        {}
func (s *mailServer) Logout() error { return nil }
func (s *mailServer) Data(r io.Reader) error {
	text, err := io.ReadAll(r)
	s.letter = string(text)
	return err
}

func (s *mailServer) start(t *testing.T) config.NotificationChannel {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := smtp.NewServer(s)
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close(); <-done })
	return config.NotificationChannel{
		Type: config.NotifyEmail, SMTP: listener.Addr().String(), TLS: config.MailNone, From: "Inquest <inquest@example.com>",
		To: []string{"ada@example.com", "Bob <bob@example.com>"},
	}
}

func TestEmail(t *testing.T) {
	t.Parallel()
	s := &mailServer{}
	c := s.start(t)
	e := reportEvent("# Found\n\nThe pool is exhausted: <script>alert(1)</script> ![](https://evil.example/x)")
	e.ID = "evt_1"
	if err := mailTo(t.Context(), c, e, messageOf(e, now)); err != nil {
		t.Fatal(err)
	}
	m, err := mail.ReadMessage(strings.NewReader(s.letter))
	if err != nil {
		t.Fatal(err)
	}
	if s.from != "inquest@example.com" || strings.Join(s.to, " ") != "ada@example.com bob@example.com" ||
		m.Header.Get("Message-ID") != "<evt_1@inquest>" || !strings.Contains(m.Header.Get("Subject"), "dig-1") ||
		!strings.HasPrefix(m.Header.Get("Content-Type"), "multipart/alternative") {
		t.Errorf("from %s to %q:\n%s", s.from, s.to, s.letter)
	}
	for _, bad := range []string{"<script", "<img"} {
		if _, html, _ := strings.Cut(s.letter, "text/html"); html == "" || strings.Contains(html, bad) {
			t.Errorf("the HTML has %s, or there is none:\n%s", bad, s.letter)
		}
	}
}

func TestEmailRefused(t *testing.T) {
	t.Parallel()
	e := approvalEvent()
	for _, test := range []struct {
		name      string
		refuse    error
		tls       string
		refused   bool
		temporary bool
	}{
		{"for good", &smtp.SMTPError{Code: 550, Message: "no such sender"}, config.MailNone, true, false},
		{"for a while", &smtp.SMTPError{Code: 451, Message: "try later"}, config.MailNone, true, true},
		{"a server without TLS gets no mail", nil, "", true, true},
	} {
		s := &mailServer{refuse: test.refuse}
		c := s.start(t)
		c.TLS = test.tls
		err := mailTo(t.Context(), c, e, messageOf(e, now))
		refusal, refused := errors.AsType[*refusedError](err)
		if err == nil || refused != test.refused || refused && refusal.temporary != test.temporary || s.letter != "" {
			t.Errorf("%s: %v (%+v), letter %q", test.name, err, refusal, s.letter)
		}
	}
}

// A server that refuses one recipient gets the letters to the others.
func TestEmailToABadAddress(t *testing.T) {
	t.Parallel()
	s := &mailServer{bad: "ada@example.com"}
	c := s.start(t)
	err := mailTo(t.Context(), c, approvalEvent(), messageOf(approvalEvent(), now))
	refusal, refused := errors.AsType[*refusedError](err)
	if !refused || refusal.temporary || !strings.Contains(err.Error(), "ada@example.com") || strings.Join(s.to, " ") != "bob@example.com" {
		t.Errorf("%v; to %q", err, s.to)
	}
}

// A server that says nothing does not hold up the sender.
func TestMuteMailServer(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		if conn, err := listener.Accept(); err == nil {
			defer conn.Close()
			cancel() // once it is connected
			_, _ = io.Copy(io.Discard, conn)
		}
	}()
	c := config.NotificationChannel{SMTP: listener.Addr().String(), TLS: config.MailNone, From: "a@example.com", To: []string{"b@example.com"}}
	if err := mailTo(ctx, c, approvalEvent(), messageOf(approvalEvent(), now)); err == nil {
		t.Error("mail was sent to a server that says nothing")
	}
}
