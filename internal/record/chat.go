package record

import "time"

// ChatMessage is a message about an investigation in a chat such as Slack. Investigation and Kind identify it.
type ChatMessage struct {
	Investigation string
	Kind          string // ChatThread, or what else is posted once
	Channel       string
	// Thread is the message that the thread is below. An empty string in a row of ChatThread means that a thread is to be begun.
	Thread string
	// TS identifies the message in its channel. An empty string means that the chat has not confirmed it.
	TS    string
	State string // ChatOpen or ChatDone
	// About is the subject of the message, for a later change of it.
	About string
	At    time.Time // when the row was written; set by the store
}

// ChatThread is the kind of the row that says in which thread an investigation is discussed. It is no message.
const ChatThread = "thread"

// The states of a ChatMessage.
const (
	ChatOpen = "open"
	ChatDone = "done"
)

// ChatInput is a person's action in a chat. It is carried out once.
type ChatInput struct {
	N    int64
	ID   string // the same for each delivery of the same thing
	Lane string // inputs of a lane are carried out in order
	Body string
	At   time.Time
}

// NotificationsLease is the lease of the process that sends notifications.
const NotificationsLease = "notifications"

// Notification is an act of the audit log that people or other systems are told about.
type Notification struct {
	N             int64
	Investigation string
	Act           int64  // its number in the chain of the investigation
	Channel       string // name in the configuration; empty means that the routes have not been applied
	Escalation    int    // 1 for the first channel that the question was escalated to; zero means no escalation
	Due           time.Time
	Tries         int       // failed ones
	At            time.Time // of the act
}
