package notify

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	mail "github.com/wneessen/go-mail"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/kit/markdown"
)

// implicitTLS is the port on which mail servers expect TLS from the beginning (RFC 8314).
const implicitTLS = 465

// mailTo sends a message to the recipients of a channel, one letter to each, as text and as HTML. A report is complete.
func mailTo(ctx context.Context, c config.NotificationChannel, e Event, m message) error {
	host, portText, _ := net.SplitHostPort(c.SMTP)
	port, _ := strconv.Atoi(portText)
	implicit := c.TLS == config.MailImplicit || c.TLS == "" && port == implicitTLS
	options := []mail.Option{mail.WithPort(port), mail.WithTimeout(sendTime), mail.WithTLSPolicy(mail.TLSMandatory)}
	switch {
	case implicit:
		options = append(options, mail.WithSSL())
	case c.TLS == config.MailNone:
		options = append(options, mail.WithTLSPolicy(mail.NoTLS))
	}
	if c.User != "" {
		options = append(options, mail.WithSMTPAuth(mail.SMTPAuthAutoDiscover), mail.WithUsername(c.User), mail.WithPassword(c.Password))
	}
	// The library has no time limit for most of the conversation.
	options = append(options, mail.WithDialContextFunc(func(dialing context.Context, network, address string) (net.Conn, error) {
		var conn net.Conn
		var err error
		if implicit {
			conn, err = (&tls.Dialer{Config: &tls.Config{ServerName: host}}).DialContext(dialing, network, address)
		} else {
			conn, err = (&net.Dialer{}).DialContext(dialing, network, address)
		}
		if err == nil {
			context.AfterFunc(ctx, func() { _ = conn.Close() }) // ctx ends after each attempt
		}
		return conn, err
	}))
	client, err := mail.NewClient(host, options...)
	if err != nil {
		return &refusedError{err: err}
	}
	var errs []error
	temporary := false
	for _, to := range c.To { // a server that refuses one address must not keep others from getting the letter
		msg, err := letter(c, to, e, m)
		if err != nil {
			return &refusedError{err: err}
		}
		if err = client.DialAndSendWithContext(ctx, msg); err == nil || msg.IsDelivered() {
			continue
		}
		sending, ok := errors.AsType[*mail.SendError](err)
		temporary = temporary || !ok || sending.ErrorCode()/100 != 5
		errs = append(errs, fmt.Errorf("send mail by %s to %s: %w", c.SMTP, to, err))
	}
	if len(errs) == 0 {
		return nil
	}
	return &refusedError{err: errors.Join(errs...), temporary: temporary}
}

func letter(c config.NotificationChannel, to string, e Event, m message) (*mail.Msg, error) {
	msg := mail.NewMsg()
	if err := errors.Join(msg.From(c.From), msg.To(to)); err != nil {
		return nil, err
	}
	msg.Subject(m.subject)
	msg.SetDateWithValue(e.Time)
	// A repeated attempt has the same ID, so that mail systems can recognise it. Letters about one investigation form a thread.
	msg.SetMessageIDWithValue(e.ID + "@inquest")
	thread := fmt.Sprintf("<inv_%.16x@inquest>", sha256.Sum256([]byte(e.Investigation.ID)))
	msg.SetGenHeader(mail.HeaderInReplyTo, thread)
	msg.SetGenHeader(mail.HeaderReferences, thread)
	msg.SetGenHeader("Auto-Submitted", "auto-generated")

	var head strings.Builder
	for _, f := range m.facts {
		fmt.Fprintf(&head, "%s: %s  \n", f[0], f[1])
	}
	if m.link != "" {
		fmt.Fprintf(&head, "Open the investigation: <%s>\n", m.link)
	}
	text := m.text
	if e.Report != nil {
		whole := *e.Report
		whole.Line = ""
		text = strings.TrimSpace(whole.Markdown())
	}
	html, err := markdown.HTML([]byte(markdown.Unlinked(head.String()) + "\n" + text))
	if err != nil {
		return nil, err
	}
	msg.SetBodyString(mail.TypeTextPlain, head.String()+"\n"+text+"\n")
	msg.AddAlternativeString(mail.TypeTextHTML, string(html))
	return msg, nil
}
