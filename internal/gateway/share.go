package gateway

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/annotary/annotary/internal/rpc"
	"github.com/annotary/annotary/internal/strict"
	"github.com/annotary/annotary/internal/upstream"
)

// shares are the reads under way that equal ones can join. Nothing is kept:
// when the answer is there, the share is over.
type shares struct {
	mu      sync.Mutex
	by      map[shareKey]*share
	changes uint64 // how often a call that may change something began or ended
}

// joinWithin is for how long after its begin a read can be joined: an answer
// must not be much older than the question.
const joinWithin = 5 * time.Second

// A shareKey is what makes two reads equal: all that their server can tell
// apart, and who asks.
type shareKey struct {
	server           *upstream.Server
	session          *Session
	owner, dir, tool string
	arguments        string // the digest
	beside           string // what goes along with the arguments
}

// A share is one read and those who wait for its answer.
type share struct {
	all     *shares
	key     shareKey
	leader  string // the id of the call that was sent
	began   time.Time
	changes uint64
	cancel  context.CancelFunc

	// Guarded by the lock of all shares.
	waiting int           // how many
	done    chan struct{} // closed when it is over; nil while nobody has joined
	msg     []byte
	err     error
}

// errAlone ends a share whose answer is for its leader alone.
var errAlone = errors.New("the answer is not for everybody")

// change says that something may be different now: who asks from here on must
// not get an answer from before.
func (s *shares) change() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changes++
}

// take carries a read out, or joins an equal one.
func (s *shares) take(ctx context.Context, t *trial) (*upstream.Answer, error) {
	key, ok := t.matter.shareKey()
	if !ok {
		return t.run(ctx)
	}
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	sh, joined := s.join(key, t.matter.entry.Call, cancel)
	leave := sync.OnceFunc(sh.leave)
	if joined {
		cancel()
		return &upstream.Answer{Status: http.StatusOK, Stream: &joiner{share: sh, leave: leave, trial: t, call: ctx}}, nil
	}
	// The leader may go while others still wait: only the last one out cancels.
	stop := context.AfterFunc(ctx, leave)
	a, err := t.run(own)
	if err == nil && a.Stream != nil {
		a.Stream = &leading{Stream: a.Stream, share: sh, leave: leave}
		return a, nil
	}
	stop()
	if err != nil {
		sh.settle(nil, err)
		return nil, err
	}
	sh.settle(a.Body, nil)
	return a, nil
}

// shareKey says with what the call could be shared. Only a call that
// stands alone and asks for nothing but its answer can.
func (m *matter) shareKey() (shareKey, bool) {
	c := m.call
	if m.tool == nil || c.Era != upstream.EraModern || c.Message.ProgressToken() != nil {
		return shareKey{}, false
	}
	params := c.Message.Params()
	for name := range strict.Spans(params, strict.Span{To: len(params)}) {
		switch string(name) {
		case "name", "arguments", "_meta":
		default:
			return shareKey{}, false
		}
	}
	beside, ok := c.beside()
	return shareKey{
		server: m.server, session: c.Session, owner: Owner(&c.Principal), dir: c.Dir, tool: m.tool.Name,
		arguments: m.entry.ArgumentsDigest, beside: beside,
	}, ok
}

// beside is what of a call reaches its server beside name and arguments, but for
// what only tells one call from another.
func (c *Call) beside() (string, bool) {
	meta := c.Message.Meta()
	var b []byte
	for name, at := range strict.Spans(meta, strict.Span{To: len(meta)}) {
		switch string(name) {
		case "traceparent", "tracestate", "baggage":
		case "io.modelcontextprotocol/logLevel": // asks for more than the answer
			return "", false
		default:
			b = append(append(append(b, name...), 0), at.Of(meta)...)
			b = append(b, 0)
		}
	}
	for name, values := range c.Header {
		if strings.HasPrefix(name, rpc.HeaderParam) {
			return "", len(values) == 0 // repeats arguments, and nobody has compared them
		}
	}
	return string(b), true
}

// join joins an equal read, or begins a share of its own.
func (s *shares) join(key shareKey, call string, cancel context.CancelFunc) (sh *share, joined bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sh := s.by[key]; sh != nil && sh.changes == s.changes && time.Since(sh.began) < joinWithin {
		sh.waiting++
		if sh.done == nil {
			sh.done = make(chan struct{})
		}
		return sh, true
	}
	sh = &share{all: s, key: key, leader: call, began: time.Now(), changes: s.changes, cancel: cancel, waiting: 1}
	if s.by == nil {
		s.by = map[shareKey]*share{}
	}
	s.by[key] = sh
	return sh, false
}

// leave is called once by everybody who no longer waits.
func (sh *share) leave() {
	sh.all.mu.Lock()
	defer sh.all.mu.Unlock()
	if sh.waiting--; sh.waiting == 0 {
		sh.close()
		sh.cancel()
	}
}

// close lets nobody join any more. The lock is held.
func (sh *share) close() {
	if sh.all.by[sh.key] == sh {
		delete(sh.all.by, sh.key)
	}
}

// settle ends the share with a response or an error, once.
func (sh *share) settle(msg []byte, err error) {
	sh.all.mu.Lock()
	defer sh.all.mu.Unlock()
	sh.close()
	if sh.done == nil || sh.over() {
		return
	}
	if err == nil && !isWhole(msg) {
		err = errAlone
	}
	sh.msg, sh.err = bytes.Clone(msg), err
	close(sh.done)
}

// over reports whether the share has ended. The lock is held.
func (sh *share) over() bool {
	select {
	case <-sh.done:
		return true
	default:
		return false
	}
}

// isWhole reports whether a response ends its call. One that asks for more, or
// names a task, belongs to whoever was answered.
func isWhole(msg []byte) bool {
	kind := strict.Get(msg, "result", "resultType")
	return isResponse(msg) && (kind == nil || string(kind) == `"complete"`)
}

// needed reports whether others wait for an answer that is still to come.
func (sh *share) needed() bool {
	sh.all.mu.Lock()
	defer sh.all.mu.Unlock()
	return sh.waiting > 0 && sh.done != nil && !sh.over()
}

// leading is the answer to the call that was sent.
type leading struct {
	upstream.Stream
	share *share
	leave func()
}

// Next returns the next item.
func (l *leading) Next(ctx context.Context) (upstream.Item, error) {
	it, err := l.Stream.Next(ctx)
	switch {
	case err != nil && ctx.Err() == nil:
		l.share.settle(nil, err)
	case it.Final:
		l.share.settle(it.Msg, nil)
	}
	return it, err
}

// Close gives the answer up, unless others wait for it.
func (l *leading) Close() { l.end(l.Stream.Close) }

// Cancel does the same, and has the server told.
func (l *leading) Cancel() { l.end(l.Stream.Cancel) }

func (l *leading) end(giveUp func()) {
	l.leave()
	if !l.share.needed() {
		giveUp()
		return
	}
	go func() {
		defer l.Stream.Close()
		for l.share.needed() {
			if it, err := l.Next(context.Background()); err != nil || it.Final {
				return
			}
		}
	}()
}

// joiner is the answer to a call that joined.
type joiner struct {
	share *share
	leave func()
	trial *trial
	call  context.Context //nolint:containedctx // of the call, which outlives those of Next
	own   *later          // where the shared answer is not for everybody
	said  bool
}

// Next waits for the response and gives it the id of this call.
func (p *joiner) Next(ctx context.Context) (upstream.Item, error) {
	if p.own != nil {
		return p.own.Next(ctx)
	}
	select {
	case <-p.share.done:
	case <-ctx.Done():
		return upstream.Item{}, ctx.Err()
	}
	switch {
	case errors.Is(p.share.err, errAlone):
		p.own = comeLater(p.call, p.trial.run)
		return p.own.Next(ctx)
	case p.said:
		return upstream.Item{}, io.EOF
	}
	p.trial.course.sharedWith(p.share.leader)
	if p.share.err != nil {
		return upstream.Item{}, p.share.err
	}
	m, err := rpc.Parse(p.share.msg, strict.Limits{})
	if err != nil {
		return upstream.Item{}, upstream.ErrBroken
	}
	p.said = true
	return upstream.Item{Msg: m.Splice(rpc.Splice{ID: p.trial.matter.call.Message.ID()}), Final: true}, nil
}

// Close stops waiting.
func (p *joiner) Close() {
	p.leave()
	if p.own != nil {
		p.own.Close()
	}
}

// Cancel stops waiting.
func (p *joiner) Cancel() {
	p.leave()
	if p.own != nil {
		p.own.Cancel()
	}
}
