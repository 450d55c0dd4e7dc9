package store

import (
	"slices"
	"sync"

	"github.com/inquest-dev/inquest/internal/transcript"
)

// logs caches the logs of executions that LookupReply read last. Entries never change, so the next read of a log begins with its
// last entry, unless some were superseded meanwhile.
type logs struct {
	mu    sync.Mutex
	kept  map[transcript.Scope]*keptLog
	bytes int
	uses  int
}

type keptLog struct {
	entries []transcript.Entry // in key order; shared by readers and never changed
	last    int64              // the highest Seq
	struck  int64              // the investigation's cursor value when they were read
	bytes   int
	used    int // higher means used more recently
}

// maxLogs bounds the cache, in bytes of text.
const maxLogs = 16 << 20

// get returns the log of an execution, or the zero value if it is not cached.
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

// keep caches a log and drops the least recently used ones.
func (l *logs) keep(scope transcript.Scope, entries []transcript.Entry, struck int64) {
	next := &keptLog{entries: entries, struck: struck}
	for _, e := range entries {
		const rest = 1000 // approximately
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

// with appends the entries that were read after the log's last one. It copies the log only if there are any.
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
