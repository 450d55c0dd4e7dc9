package mcp

import (
	"context"
	"fmt"
	"time"
)

// name identifies a session.
type name struct {
	server    string
	execution string // empty if shared by all
}

// entry is the latest session of a name.
type entry struct {
	session *session
	used    time.Time
	idle    *time.Timer // nil if shared: it is kept until the pool is closed
}

func (p *Pool) lookup(ctx context.Context, server, execution string) (*session, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, errClosed
	}
	for _, n := range []name{{server: server}, {server, execution}} {
		if e := p.sessions[n]; e != nil && !e.session.ended() {
			p.touch(e)
			return e.session, nil
		}
	}
	transport, err := p.opts.Transport(server)
	if err != nil {
		return nil, fmt.Errorf("%w %s: %w", errFind, server, err)
	}
	n := name{server: server}
	if transport.perExecution() {
		n.execution = execution
		transport = transport.forExecution(execution)
	}
	s := p.open(ctx, n, transport)
	p.touch(p.sessions[n])
	return s, nil
}

// open opens a session, replacing a dead one if there is one.
func (p *Pool) open(ctx context.Context, n name, transport Transport) *session {
	s := newSession(n.server, transport, p.opts)
	e := p.sessions[n]
	switch {
	case e == nil:
		e = p.add(n)
	case e.leaving():
		s.after = e.session.gone
		e = p.add(n)
	default:
		s.opened.Store(e.session.opened.Load())
		s.startLimit = e.session.nextStartLimit()
		if s.startLimit > 0 && e.session.err != nil {
			s.began = e.session.began // the server has not answered since then
		}
		e.session.leave(false)
	}
	e.session = s
	p.alive[s] = true
	p.running.Go(func() {
		s.run(context.WithoutCancel(ctx), p.newClient(transport.Roots), p.opts, func() { p.probe(ctx, n, s) })
		p.forget(n, s)
	})
	return s
}

// probeFor is how long after the last call a server that does not answer is probed.
const probeFor = 10 * time.Minute

// probe opens the next session if a remote server did not answer the last one, until it answers. Calls do not wait for
// it: see Pool.session. Each attempt waits longer for the server, so there is no pause between them.
func (p *Pool) probe(ctx context.Context, n name, s *session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.sessions[n]
	current := e != nil && e.session == s && !e.leaving() && !p.closed
	if current && s.transport.remote() && s.nextStartLimit() > 0 && time.Since(e.used) < probeFor {
		p.open(ctx, n, s.transport)
	}
}

// add adds an entry for a name and makes room for it.
func (p *Pool) add(n name) *entry {
	e := &entry{}
	if n.execution != "" {
		p.makeRoom()
		e.idle = time.AfterFunc(p.opts.ExecutionIdle, func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			// The session may have been used while we waited for the lock.
			if p.sessions[n] == e && time.Since(e.used) >= p.opts.ExecutionIdle {
				p.drop(n)
			}
		})
	}
	p.sessions[n] = e
	return e
}

func (p *Pool) touch(e *entry) {
	e.used = time.Now()
	if e.idle != nil {
		e.idle.Reset(p.opts.ExecutionIdle)
	}
}

// makeRoom drops the least recently used session of an execution if the limit is reached.
func (p *Pool) makeRoom() {
	count, oldest := 0, name{}
	// any order: any of the oldest sessions can go
	for n, e := range p.sessions {
		if e.idle == nil || e.leaving() {
			continue
		}
		count++
		if oldest == (name{}) || e.used.Before(p.sessions[oldest].used) {
			oldest = n
		}
	}
	if count >= p.opts.ExecutionLimit {
		p.drop(oldest)
	}
}

// drop ends a session permanently. Its name is kept until it is gone, so that a successor waits for that.
func (p *Pool) drop(n name) {
	e := p.sessions[n]
	if e.idle != nil {
		e.idle.Stop()
	}
	e.session.leave(true)
}

func (e *entry) leaving() bool { return closed(e.session.left) }

func (p *Pool) forget(n name, s *session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.alive, s)
	if e := p.sessions[n]; e != nil && e.session == s {
		delete(p.sessions, n)
	}
}
