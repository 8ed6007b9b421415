package gateway

import (
	"bytes"
	"context"
	"errors"
	"hash/maphash"
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
	by      map[uint64]*share // by the hash of what makes reads equal
	changes uint64            // how often a call that may change something began or ended
}

// joinWithin is for how long after its begin a read can be joined: an answer
// must not be much older than the question.
const joinWithin = 5 * time.Second

// A share is one read and those who wait for its answer.
type share struct {
	all     *shares
	hash    uint64
	leader  *matter // whose call was sent
	began   time.Time
	changes uint64

	// Guarded by the lock of all shares.
	joined int           // how many
	done   chan struct{} // closed when it is over; nil while nobody has joined
	msg    []byte
	err    error
}

// These end a share without an answer for those who joined: the answer is for
// its leader alone, or the leader left before it came.
var (
	errAlone = errors.New("the answer is not for everybody")
	errLeft  = errors.New("who asked has left")
)

// change says that something may be different now: who asks from here on must
// not get an answer from before.
func (s *shares) change() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changes++
}

// take carries a read out, or joins an equal one.
func (s *shares) take(ctx context.Context, t *trial) (*upstream.Answer, error) {
	if !t.matter.shareable() {
		return t.run(ctx)
	}
	sh, joined := s.join(t.matter)
	if joined {
		return &upstream.Answer{Status: http.StatusOK, Stream: &joiner{share: sh, trial: t, call: ctx}}, nil
	}
	a, err := t.run(ctx)
	switch {
	case err != nil && ctx.Err() != nil:
		sh.settle(nil, errLeft)
	case err != nil:
		sh.settle(nil, err)
	case a.Stream != nil:
		a.Stream = &leading{Stream: a.Stream, share: sh}
	default:
		sh.settle(a.Body, nil)
	}
	return a, err
}

// shareable reports whether the call stands alone and asks for nothing but its
// answer.
func (m *matter) shareable() bool {
	c := m.call
	if m.tool == nil || c.Era != upstream.EraModern || c.Message.ProgressToken() != nil {
		return false
	}
	params := c.Message.Params()
	for name := range strict.Spans(params, strict.Span{To: len(params)}) {
		switch string(name) {
		case "name", "arguments", "_meta":
		default:
			return false
		}
	}
	for name := range strict.Spans(c.meta()) {
		if string(name) == "io.modelcontextprotocol/logLevel" { // asks for more than the answer
			return false
		}
	}
	for name, values := range c.Header {
		if strings.HasPrefix(name, rpc.HeaderParam) && len(values) > 0 {
			return false // repeats arguments, and nobody has compared them
		}
	}
	return true
}

func (c *Call) meta() (strict.Raw, strict.Span) {
	meta := c.Message.Meta()
	return meta, strict.Span{To: len(meta)}
}

// tellsApart reports whether a member of _meta does no more than tell one call
// from another.
func tellsApart(name []byte) bool {
	switch string(name) {
	case "traceparent", "tracestate", "baggage":
		return true
	}
	return false
}

var shareSeed = maphash.MakeSeed()

// shareHash is the same for equal reads.
func (m *matter) shareHash() uint64 {
	var h maphash.Hash
	h.SetSeed(shareSeed)
	for _, s := range [...]string{m.call.Principal.Subject, m.call.Dir, m.server.Name, m.tool.Name, m.entry.ArgumentsDigest} {
		_, _ = h.WriteString(s)
		_ = h.WriteByte(0)
	}
	meta, all := m.call.meta()
	for name, at := range strict.Spans(meta, all) {
		if !tellsApart(name) {
			_, _ = h.Write(name)
			_, _ = h.Write(at.Of(meta))
		}
	}
	return h.Sum64()
}

// equals reports whether two reads are one question: nothing that their server
// can tell apart differs, nor who asks. The hash only finds whom to compare with.
func (m *matter) equals(o *matter) bool {
	a, b := m.call, o.call
	return m.server == o.server && a.Session == b.Session && Owner(&a.Principal) == Owner(&b.Principal) && a.Dir == b.Dir &&
		m.tool.Name == o.tool.Name && m.entry.ArgumentsDigest == o.entry.ArgumentsDigest && bytes.Equal(a.beside(), b.beside())
}

// beside is what of a call reaches its server beside name and arguments, but for
// what only tells one call from another.
func (c *Call) beside() []byte {
	var b []byte
	meta, all := c.meta()
	for name, at := range strict.Spans(meta, all) {
		if !tellsApart(name) {
			b = append(append(append(b, name...), 0), at.Of(meta)...)
			b = append(b, 0)
		}
	}
	return b
}

// join joins an equal read, or begins a share of its own.
func (s *shares) join(m *matter) (sh *share, joined bool) {
	hash := m.shareHash()
	s.mu.Lock()
	defer s.mu.Unlock()
	if sh := s.by[hash]; sh != nil && sh.changes == s.changes && time.Since(sh.began) < joinWithin && sh.leader.equals(m) {
		if sh.joined++; sh.joined == 1 {
			sh.done = make(chan struct{})
		}
		return sh, true
	}
	sh = &share{all: s, hash: hash, leader: m, began: time.Now(), changes: s.changes}
	if s.by == nil {
		s.by = map[uint64]*share{}
	}
	s.by[hash] = sh
	return sh, false
}

// settle ends the share with a response or an error. Only the first counts.
func (sh *share) settle(msg []byte, err error) {
	sh.all.mu.Lock()
	defer sh.all.mu.Unlock()
	if sh.all.by[sh.hash] == sh {
		delete(sh.all.by, sh.hash)
	}
	if sh.joined == 0 || sh.msg != nil || sh.err != nil {
		return
	}
	if err == nil && !isWhole(msg) {
		err = errAlone
	}
	sh.msg, sh.err = bytes.Clone(msg), err
	close(sh.done)
}

// isWhole reports whether a response ends its call. One that asks for more, or
// names a task, belongs to whoever was answered.
func isWhole(msg []byte) bool {
	kind := strict.Get(msg, "result", "resultType")
	return isResponse(msg) && (kind == nil || string(kind) == `"complete"`)
}

// leading is the answer to the call that was sent.
type leading struct {
	upstream.Stream
	share *share
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

// Close gives the answer up: who waits for it asks anew.
func (l *leading) Close() {
	l.share.settle(nil, errLeft)
	l.Stream.Close()
}

// Cancel does the same, and has the server told.
func (l *leading) Cancel() {
	l.share.settle(nil, errLeft)
	l.Stream.Cancel()
}

// joiner is the answer to a call that joined.
type joiner struct {
	share *share
	trial *trial
	call  context.Context //nolint:containedctx // of the call, which outlives those of Next
	own   *later          // where the shared answer did not come, or is not for everybody
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
		return p.anew(p.trial.run).Next(ctx)
	case errors.Is(p.share.err, errLeft): // the first of those who waited leads the others
		return p.anew(p.again).Next(ctx)
	case p.said:
		return upstream.Item{}, io.EOF
	}
	p.trial.course.sharedWith(p.share.leader.entry.Call)
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

func (p *joiner) again(ctx context.Context) (*upstream.Answer, error) {
	return p.share.all.take(ctx, p.trial)
}

// anew has the answer made by f.
func (p *joiner) anew(f func(context.Context) (*upstream.Answer, error)) *later {
	p.own = comeLater(p.call, f)
	return p.own
}

// Close stops waiting.
func (p *joiner) Close() {
	if p.own != nil {
		p.own.Close()
	}
}

// Cancel stops waiting.
func (p *joiner) Cancel() {
	if p.own != nil {
		p.own.Cancel()
	}
}
