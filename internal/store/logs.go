package store

import (
	"slices"
	"sync"

	"github.com/inquest-dev/inquest/internal/transcript"
)

// logs are the logs of executions as LookupReply has read them last. Entries never change, so
// the next read of a log begins with its last entry, unless some were superseded meanwhile.
type logs struct {
	mu    sync.Mutex
	kept  map[transcript.Scope]*keptLog
	bytes int
	uses  int
}

type keptLog struct {
	entries []transcript.Entry // in key order; readers share them, and change none
	last    int64              // the highest Seq of them
	struck  int64              // the investigation's, when they were read
	bytes   int
	used    int // the greater, the later
}

// maxLogs bounds what is kept, in bytes of texts.
const maxLogs = 16 << 20

// get returns the log of an execution; the zero value if it is not kept.
func (l *logs) get(scope transcript.Scope) keptLog {
	l.mu.Lock()
	defer l.mu.Unlock()
	kept, known := l.kept[scope]
	if !known {
		return keptLog{}
	}
	l.uses++
	kept.used = l.uses
	return *kept
}

// keep keeps a log in place of those that were not used for longest.
func (l *logs) keep(scope transcript.Scope, entries []transcript.Entry, struck int64) {
	next := &keptLog{entries: entries, struck: struck}
	for _, e := range entries {
		const rest = 1000 // more or less
		next.last = max(next.last, e.Seq)
		next.bytes += len(e.Text) + len(e.Thinking) + len(e.ProviderState) + len(e.Details) + rest
		if e.Call != nil {
			next.bytes += len(e.Call.Arguments)
		}
		for _, call := range e.Calls {
			next.bytes += len(call.Arguments)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drop(scope)
	if len(entries) == 0 || next.bytes > maxLogs/4 {
		return
	}
	for l.bytes+next.bytes > maxLogs {
		l.drop(l.oldest())
	}
	l.uses++
	next.used = l.uses
	if l.kept == nil {
		l.kept = map[transcript.Scope]*keptLog{}
	}
	l.kept[scope] = next
	l.bytes += next.bytes
}

func (l *logs) oldest() (scope transcript.Scope) {
	used := l.uses + 1
	for s, kept := range l.kept {
		if kept.used < used {
			scope, used = s, kept.used
		}
	}
	return scope
}

func (l *logs) drop(scope transcript.Scope) {
	if kept, known := l.kept[scope]; known {
		l.bytes -= kept.bytes
		delete(l.kept, scope)
	}
}

// forget drops the logs of an investigation that has ended.
func (l *logs) forget(investigation string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for scope := range l.kept {
		if scope.Investigation == investigation {
			l.drop(scope)
		}
	}
}

// with returns the log with what was read from its last entry on. It is copied only if that is more.
func (k keptLog) with(read []transcript.Entry) []transcript.Entry {
	all := slices.Clip(k.entries)
	for _, e := range read {
		if e.Seq > k.last {
			all = append(all, e)
		}
	}
	if len(all) > len(k.entries) {
		slices.SortFunc(all, func(a, b transcript.Entry) int { return a.Key.Compare(b.Key) })
	}
	return slices.Clip(all)
}
