package dial

import (
	"errors"
	"regexp"
	"strings"

	"go.temporal.io/api/serviceerror"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// plainError replaces what gRPC says in the message of an error by words for people.
type plainError struct {
	text  string
	cause error
}

func (e *plainError) Error() string { return e.text }
func (e *plainError) Unwrap() error { return e.cause }

// Plain returns an error of Temporal in words for people. It still wraps err, and errors without any words of gRPC are unchanged.
func Plain(err error) error {
	raw := ofGRPC(err)
	if raw == nil {
		return err
	}
	if text, reason := raw.Error(), Reason(raw); reason != text {
		return &plainError{strings.Replace(err.Error(), text, reason, 1), err}
	}
	return err
}

// ofGRPC returns the error of gRPC or of Temporal's API that err wraps. Nil means that it wraps none.
func ofGRPC(err error) error {
	if service, ok := errors.AsType[serviceerror.ServiceError](err); ok {
		return service
	}
	call, _ := errors.AsType[interface {
		error
		GRPCStatus() *status.Status
	}](err)
	return call
}

var (
	// grpcWords matches what gRPC and the SDK write before the reason why there is no connection.
	grpcWords = regexp.MustCompile(`(?s)^.*(?:Error while dialing: |handshake failed: |error reading server preface: |` +
		`desc = "?(?:transport: )?)`)
	dialWords = regexp.MustCompile(`^dial [a-z0-9]+(?: \S+)?: (?:connect: )?`)
)

// withoutHosts is what gRPC says if the name of a host has no address.
const withoutHosts = "no children to pick from"

// Reason says why Temporal did not answer a call or could not be reached.
func Reason(err error) string {
	if raw := ofGRPC(err); raw != nil {
		err = raw
	}
	from := serviceerror.ToStatus(err)
	text := strings.TrimSuffix(dialWords.ReplaceAllString(grpcWords.ReplaceAllString(from.Message(), ""), ""), `"`)
	switch {
	case from.Code() == codes.Unauthenticated:
		return "it does not accept these credentials"
	case from.Code() == codes.DeadlineExceeded && text == from.Message():
		return "no answer in time"
	case text == "EOF":
		return "it closed the connection, maybe because it requires TLS"
	case text == withoutHosts:
		return "no host has this name"
	}
	return text
}
