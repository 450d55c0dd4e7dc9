package llmtest

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
)

// Script chooses the reply to a request. It is called from several goroutines.
type Script func(Request) Reply

// Always gives every request the same reply.
func Always(reply Reply) Script { return func(Request) Reply { return reply } }

// Sequence gives the n-th request of every conversation the n-th reply. Requests with the same first user message
// belong to one conversation. Any further request is refused, so that the test fails visibly.
func Sequence(replies ...Reply) Script { return SequenceBy(Request.Task, replies...) }

// SequenceBy is Sequence with another key for conversations, such as Request.System.
func SequenceBy(key func(Request) string, replies ...Reply) Script {
	var mu sync.Mutex
	seen := map[string]int{}
	return func(req Request) Reply {
		mu.Lock()
		defer mu.Unlock()
		n := seen[key(req)]
		seen[key(req)]++
		if n >= len(replies) {
			return Refuse(http.StatusBadRequest, "invalid_request_error",
				fmt.Sprintf("llmtest: request %d of a sequence of %d", n+1, len(replies)))
		}
		return replies[n]
	}
}

// Route is a script for some of the requests.
type Route struct {
	If   func(Request) bool
	Then Script
}

// Routes uses the first matching route. A request that matches none is refused.
func Routes(routes ...Route) Script {
	return func(req Request) Reply {
		for _, route := range routes {
			if route.If(req) {
				return route.Then(req)
			}
		}
		return Refuse(http.StatusBadRequest, "invalid_request_error", "llmtest: no route for this request")
	}
}

// On returns a route for requests whose system prompt or task contains a text.
func On(text string, script Script) Route {
	return Route{Then: script, If: func(req Request) bool {
		return strings.Contains(req.System(), text) || strings.Contains(req.Task(), text)
	}}
}
