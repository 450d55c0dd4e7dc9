package notify

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	mail "github.com/wneessen/go-mail"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/kit/markdown"
	"github.com/inquest-dev/inquest/internal/kit/safely"
)

// implicitTLS is the port on which mail servers expect TLS from the beginning (RFC 8314).
const implicitTLS = 465

// mailTo sends a message to the recipients of a channel, as text and as HTML. A report is complete.
func mailTo(ctx context.Context, c config.NotificationChannel, e Event, m message) error {
	msg, err := letter(c, e, m)
	if err != nil {
		return &refusedError{err: err}
	}
	host, portText, _ := net.SplitHostPort(c.SMTP)
	port, _ := strconv.Atoi(portText)
	options := []mail.Option{mail.WithPort(port), mail.WithTimeout(sendTime), mail.WithTLSPolicy(mail.TLSMandatory)}
	switch {
	case c.TLS == config.MailNone:
		options = append(options, mail.WithTLSPolicy(mail.NoTLS))
	case c.TLS == config.MailImplicit, c.TLS == "" && port == implicitTLS:
		options = append(options, mail.WithSSL())
	}
	if c.User != "" {
		options = append(options, mail.WithSMTPAuth(mail.SMTPAuthAutoDiscover), mail.WithUsername(c.User), mail.WithPassword(c.Password))
	}
	client, err := mail.NewClient(host, options...)
	if err != nil {
		return &refusedError{err: err}
	}
	// The library heeds ctx only while it connects.
	_, err = safely.Run(ctx, func() (struct{}, error) { return struct{}{}, client.DialAndSendWithContext(ctx, msg) }, func(string, string) {})
	if err == nil {
		return nil
	}
	err = fmt.Errorf("send mail by %s: %w", c.SMTP, err)
	if sending, ok := errors.AsType[*mail.SendError](err); ok {
		return &refusedError{err: err, temporary: sending.IsTemp()}
	}
	return err
}

func letter(c config.NotificationChannel, e Event, m message) (*mail.Msg, error) {
	msg := mail.NewMsg()
	if err := errors.Join(msg.From(c.From), msg.To(c.To...)); err != nil {
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
