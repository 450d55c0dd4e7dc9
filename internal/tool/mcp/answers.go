package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/kit/sse"
)

// answers assigns a server's responses to the requests of a wire, and passes them to the SDK in the form that it expects. The SDK
// breaks the connection at, or ignores, a response that JSON-RPC does not allow, and the request would wait until its timeout.
//
// It also keeps results in the server's own form until their requests take them. The SDK decodes results into any, which
// rounds integers above 2^53, and refuses a result with an unknown content type. It therefore gets empty results that name
// the kept ones, which the session decodes itself.
//
// The zero value has no requests. answers is safe for concurrent use.
type answers struct {
	shared bool // all answers come on one connection, so that a response without an id may belong to any request

	mu        sync.Mutex
	sent      int                 // requests and notices so far
	notice    int                 // the last notice, as a value of sent; zero if the server has answered a later request
	requests  map[string]*request // by id, see idKey; without those that are over
	unclaimed []unclaimed         // responses without an id that may belong to several requests; oldest first
}

// request is a request that was sent.
type request struct {
	id    any
	place int             // its value of answers.sent
	keeps bool            // the result is kept in the server's form
	kept  json.RawMessage // nil until the answer arrives
	gone  bool            // abandoned, but the server may still answer it
	stray string          // the beginning of a response to no request in progress, from this request's own stream
}

// unanswered reports whether a request is in progress. Nil is an unknown request.
func (r *request) unanswered() bool { return r != nil && r.kept == nil }

// pointer returns an empty result that names the kept one.
func (r *request) pointer() []byte {
	id, _ := json.Marshal(r.id)
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{"content":[],"tools":[],"_meta":{%q:%q}}}`, id, rawKey, idKey(r.id))
}

// unclaimed is a response without an id.
type unclaimed struct {
	response
	place  int // of the last request or notice before it
	notice int // the notice that it may answer; zero if none
}

// maxUnclaimed limits how many of them are remembered. Further ones are dropped.
const maxUnclaimed = 20

// maxGone limits how many abandoned requests of a shared connection are remembered. The oldest are forgotten: servers need not
// answer a request that was cancelled.
const maxGone = 100

// rawKey is the key in an empty result's _meta that names the kept one.
const rawKey = "inquest/raw"

// expect announces a request that is about to be sent, possibly again. If keeps is set, its result is kept for take.
func (a *answers) expect(id any, keeps bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.requests == nil {
		a.requests = map[string]*request{}
	}
	a.sent++
	a.requests[idKey(id)] = &request{id: id, place: a.sent, keeps: keeps}
}

// noticed announces a notice that is about to be sent. Some servers answer notices, without an id.
func (a *answers) noticed() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sent++
	a.notice = a.sent
}

// forget drops a request that nobody waits for, and its result, even if that arrives later.
func (a *answers) forget(id any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r := a.requests[idKey(id)]; r != nil && r.unanswered() && a.shared {
		r.gone = true
		gone := slices.DeleteFunc(a.inOrder(), func(r *request) bool { return !r.gone })
		if len(gone) > maxGone {
			delete(a.requests, idKey(gone[0].id))
		}
		return
	}
	delete(a.requests, idKey(id))
}

// unsent reverts expect.
func (a *answers) unsent(id any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.requests, idKey(id))
}

// take returns the result that an empty one's _meta names. A result that was not kept, such as null, is empty.
func (a *answers) take(meta map[string]any) json.RawMessage {
	key, _ := meta[rawKey].(string)
	a.mu.Lock()
	defer a.mu.Unlock()
	r := a.requests[key]
	delete(a.requests, key)
	if r == nil || r.kept == nil || string(r.kept) == "null" {
		return json.RawMessage("{}")
	}
	return r.kept
}

// read returns the messages for the SDK that a server's message results in. Noise has none. A response may have several, because
// it can show which request an earlier response without an id belongs to. So may a batch, which the MCP revision 2025-03-26 allows.
//
// only is the id of the request whose own HTTP response contains the message, and nil if there is none. On a shared connection, a
// response without an id belongs to the only request in progress. Among several it is kept until the others have been answered.
func (a *answers) read(message []byte, only any) [][]byte {
	return a.readMarked(message, only, func(message []byte) []byte { return message })
}

// readMarked is read with a function that may change each message.
func (a *answers) readMarked(message []byte, only any, mark func([]byte) []byte) (out [][]byte) {
	message = sse.Unmarked(message) // programs on Windows write it before their first line
	var batch []json.RawMessage
	if !bytes.HasPrefix(bytes.TrimSpace(message), []byte("[")) || json.Unmarshal(message, &batch) != nil {
		return a.readOne(mark(message), only)
	}
	for _, message := range batch {
		out = append(out, a.readOne(mark(message), only)...)
	}
	return out
}

// readOne reads a message that is no batch. A response that no request waits for is dropped, because the SDK rounds ids and could
// take it for another one.
func (a *answers) readOne(message []byte, only any) [][]byte {
	r, ok := responseIn(message, only != nil)
	a.mu.Lock()
	defer a.mu.Unlock()
	own, to := a.requests[idKey(only)], a.requests[idKey(r.id)]
	if idKey(r.id) == "" {
		to = own
	}
	read := only == nil || own.unanswered() // the SDK reads a request's own stream only up to its answer
	switch {
	case ok && to.unanswered() && read:
		return append([][]byte{a.answer(to, r)}, a.settle()...)
	case ok && a.shared && idKey(r.id) == "" && r.versioned && len(a.unclaimed) < maxUnclaimed:
		u := unclaimed{response: r, place: a.sent}
		if r.mayAnswerNotice() {
			u.notice = a.notice
		}
		a.unclaimed = append(a.unclaimed, u)
		return a.settle()
	case ok && own != nil && own == to:
		return [][]byte{own.pointer()} // it came on another stream, too, and the SDK may not have read that
	case ok && own != nil:
		own.stray = quote(message)
	}
	var line bytes.Buffer
	msg, _ := jsonrpc.DecodeMessage(message)
	if _, request := msg.(*jsonrpc.Request); ok || !request || json.Compact(&line, message) != nil {
		return nil
	}
	return [][]byte{line.Bytes()}
}

// awaits reports whether the answer to a request has not arrived.
func (a *answers) awaits(id any) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.requests[idKey(id)].unanswered()
}

// stray returns the beginning of a response that a request's own stream contains instead of the answer. It is empty if there is
// none, or if the answer has arrived.
func (a *answers) stray(id any) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r := a.requests[idKey(id)]; r.unanswered() {
		return r.stray
	}
	return ""
}

// refuse returns an error as the answer to a request, in place of a response that cannot be read. If the request has an answer, it
// stands.
func (a *answers) refuse(id any, why string) []byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	to := a.requests[idKey(id)]
	switch {
	case to == nil:
		to = &request{id: id}
	case !to.unanswered(): // on another stream
		return to.pointer()
	}
	return a.answer(to, response{err: unreadable(why)})
}

// answer ends a request, and returns its answer.
func (a *answers) answer(to *request, r response) []byte {
	if to.place > a.notice {
		a.notice = 0 // servers read messages in order
	}
	for n := range a.unclaimed {
		if to.place > a.unclaimed[n].notice {
			a.unclaimed[n].notice = 0
		}
	}
	if r.err == nil && to.keeps && !to.gone {
		to.kept = r.result
		return to.pointer()
	}
	delete(a.requests, idKey(to.id))
	id, _ := json.Marshal(to.id) // ours can be encoded
	if r.err != nil {
		text, _ := encode(r.err)
		return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":%s}`, id, text)
	}
	result, _ := encode(r.result) // on one line
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
}

// settle assigns the responses without an id as far as it is certain whose they are. If there are as many of them as requests
// that they may belong to, all of these have been answered, but it is unknown how. No request gets the answer to another.
func (a *answers) settle() (out [][]byte) {
	for n := 0; n < len(a.unclaimed); {
		u := a.unclaimed[n]
		waiting, gone := a.before(u.place)
		switch {
		case u.notice > 0, len(waiting) > n+1:
			n++
			continue
		case len(waiting) == 1 && n == 0 && gone == 0:
			out = append(out, a.answer(waiting[0], u.response))
		default:
			for _, to := range waiting {
				out = append(out, a.answer(to, response{err: unreadable(unmatched)}))
			}
		}
		a.unclaimed = slices.Delete(a.unclaimed, 0, n+1)
		n = 0
	}
	return out
}

// unmatched is said about a request in place of its answer.
const unmatched = "it has no id, and several requests were in progress, so it is unknown which of them it answers"

// before returns the unanswered requests that were sent up to a place, oldest first: those in progress, and the number of
// abandoned ones.
func (a *answers) before(place int) (waiting []*request, gone int) {
	for _, r := range a.inOrder() {
		switch {
		case r.place > place || !r.unanswered():
		case r.gone:
			gone++
		default:
			waiting = append(waiting, r)
		}
	}
	return waiting, gone
}

// inOrder returns the requests, oldest first.
func (a *answers) inOrder() []*request {
	return slices.SortedFunc(maps.Values(a.requests), func(a, b *request) int { return a.place - b.place })
}

// response is a response of a server.
type response struct {
	id        json.RawMessage // nil if it has none
	versioned bool            // it says that it is JSON-RPC
	result    json.RawMessage
	err       *jsonrpc.Error // nil for a result
}

// mayAnswerNotice reports whether a response may be one to a notice. Simple servers answer every message, or refuse messages that
// have an unknown method or no id.
func (r response) mayAnswerNotice() bool {
	return r.err == nil || r.err.Code == jsonrpc.CodeMethodNotFound || r.err.Code == jsonrpc.CodeInvalidRequest
}

// responseIn reads a response, even one that is not valid JSON or not valid JSON-RPC. ok is false for any other message, and for
// output that is no message. own means that the message is from a request's own HTTP response, where a result or an error without an
// id and a version is the answer.
func responseIn(message []byte, own bool) (r response, ok bool) {
	var fields struct{ JSONRPC, ID, Method, Result, Error json.RawMessage }
	broken := json.Unmarshal(message, &fields) != nil
	if broken {
		m := members(message)
		fields.JSONRPC, fields.ID, fields.Method, fields.Result, fields.Error = m["jsonrpc"], m["id"], m["method"], m["result"], m["error"]
	}
	if string(fields.Error) == "null" {
		fields.Error = nil // JSON-RPC 1.0
	}
	if m := string(fields.Method); m == "null" || m == `""` {
		fields.Method = nil // from a server that writes empty fields
	}
	r = response{id: fields.ID, versioned: fields.JSONRPC != nil, result: fields.Result}
	named := idKey(r.id) != ""
	bare := own && (fields.Error != nil || fields.Result != nil && string(fields.Result) != "null")
	switch {
	case fields.Method != nil, !named && !r.versioned && !bare, (!named || !r.versioned) && fields.Result == nil && fields.Error == nil:
		return r, false
	case broken:
		r.err = unreadable("it is not valid JSON: " + quote(message))
	case fields.Error != nil:
		r.err = errorIn(fields.Error)
	case fields.Result == nil:
		r.err = unreadable("it has neither a result nor an error: " + quote(message))
	}
	return r, true
}

// errorIn reads the error of a response. An error that is not an object with a message is its own message.
func errorIn(raw json.RawMessage) *jsonrpc.Error {
	var fields struct {
		Code    json.RawMessage
		Message string
		Data    json.RawMessage
	}
	_ = json.Unmarshal(raw, &fields) // the fields that can be read count
	err := &jsonrpc.Error{Message: fields.Message, Data: fields.Data}
	_ = json.Unmarshal(fields.Code, &err.Code)
	if err.Message == "" && json.Unmarshal(raw, &err.Message) != nil {
		err.Message = string(raw)
	}
	return err
}

// unreadableMark is the data of our own errors in place of a response that cannot be read.
const unreadableMark = `"inquest/unreadable"`

func unreadable(why string) *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.CodeParseError, Message: why, Data: json.RawMessage(unreadableMark)}
}

// quote returns the beginning of a server's text. It is longer than the part that is shown, so that no secret is cut in half
// before it is redacted.
func quote(text []byte) string { return clip.Bytes(string(bytes.TrimSpace(text)), 2*maxUnknown) }

// isUnreadable reports whether an error stands for a response that cannot be read.
func isUnreadable(err *jsonrpc.Error) bool { return err != nil && string(err.Data) == unreadableMark }

// idKey writes the id of a request, or of its answer, in one form. A server may write 4 as 4.0 or as "4". It is empty for
// anything that cannot be an id.
func idKey(id any) string {
	text, err := json.Marshal(id)
	if err != nil {
		return "" // from a broken message
	}
	var quoted string
	switch c := text[0]; {
	case c == '"' && json.Unmarshal(text, &quoted) == nil:
		if number, err := strconv.ParseInt(quoted, 10, 64); err == nil && strconv.FormatInt(number, 10) == quoted {
			return canonical(quoted) // the ids of our requests are numbers
		}
		return string(text)
	case c == '-', c >= '0' && c <= '9':
		return canonical(string(text))
	}
	return ""
}
