package system

import (
	"net/url"
	"strings"
	"time"
)

// Paths of the API.
const (
	Base           = "/api/v1"
	Investigations = Base + "/investigations"
	Conversations  = Base + "/conversations"
	Agents         = Base + "/agents"
	Learnings      = Base + "/learnings"
	Schedules      = Base + "/schedules"
)

const (
	// CallTimeout limits operations that are neither streams nor conversations.
	CallTimeout = 30 * time.Second
	// MaxBody is the largest request of most operations, in bytes.
	MaxBody = 1 << 20
	// MaxData is the largest request that starts an investigation, in bytes.
	MaxData = 16 << 20
	// HeartbeatEvery is how often a silent stream sends a comment.
	HeartbeatEvery = 15 * time.Second
	// RetryAfter is how long readers of a stream wait before they connect again.
	RetryAfter = time.Second
)

// PageOf returns the address of an investigation on the page. It is empty if the page's public address is.
func PageOf(page, id string) string {
	if page == "" {
		return ""
	}
	return strings.TrimSuffix(page, "/") + "/#/" + url.PathEscape(id)
}
