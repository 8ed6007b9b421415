package gateway

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/annotary/annotary/internal/rpc"
	"github.com/annotary/annotary/internal/session"
	"github.com/annotary/annotary/internal/strict"
	"github.com/annotary/annotary/internal/upstream"
)

// bridge takes a dispatched call to a server of either era: who reaches many
// servers at once cannot choose the era of each. In the legacy era nobody could
// bring a question back, so the server is told that none can be asked.
func (d *dispatcher) bridge(ctx context.Context, s *upstream.Server, call *Call, params []byte) (*upstream.Answer, error) {
	if d.judge.bars(&call.Principal, s.Name) {
		return d.send(ctx, call, upstream.EraModern, params)
	}
	if s.Era() == upstream.EraUnknown {
		if _, err := d.judge.tools(ctx, s); err != nil {
			return nil, err
		}
	}
	if s.Era() == upstream.EraModern {
		if call.Era == upstream.EraLegacy {
			params = strict.Set(params, strict.Quote(rpc.Modern), "_meta", rpc.MetaVersion)
			params = strict.Set(params, []byte(`{}`), "_meta", rpc.MetaCapabilities)
		}
		return d.send(ctx, call, upstream.EraModern, params)
	}
	key := branchKey{Owner(&call.Principal), "", s.Name}
	if d.msg.Session != nil {
		key.session = d.msg.Session.ID
	}
	for again := false; ; again = true {
		call.Session = d.gateway.branches.get(key, call)
		answer, err := d.send(ctx, call, upstream.EraLegacy, params)
		if again || !errors.Is(err, upstream.ErrNoSession) {
			return answer, err
		}
		d.gateway.branches.drop(key)
	}
}

// send makes the call in the given era. A modern client is owed the type of its
// result.
func (d *dispatcher) send(ctx context.Context, call *Call, era upstream.Era, params []byte) (*upstream.Answer, error) {
	raw := append([]byte(`{"jsonrpc":"2.0","id":`), d.msg.Message.ID()...)
	raw = append(append(append(raw, `,"method":"tools/call","params":`...), params...), '}')
	msg, err := rpc.Parse(raw, strict.Limits{})
	if err != nil {
		return nil, err
	}
	call.Era, call.Message, call.matter = era, msg, nil
	answer, err := d.gateway.Call(ctx, call)
	if d.msg.Era != upstream.EraModern || era == upstream.EraModern {
		return answer, err
	}
	return onFinal(answer, err, func(msg []byte) ([]byte, error) {
		if result := strict.Get(msg, "result"); result != nil && strict.Get(result, "resultType") == nil {
			msg = strict.Set(msg, []byte(`"complete"`), "result", "resultType")
		}
		return msg, nil
	})
}

// branches are the sessions that dispatched calls have with servers of the
// legacy era. They last as long as the client's own, or until nobody has used
// them for a while.
type branches struct {
	mu    sync.Mutex
	byKey map[branchKey]*branch
}

// A branchKey says whose a branch is. Nobody's calls go by another's session.
type branchKey struct{ owner, session, server string }

type branch struct {
	session *Session
	used    time.Time
}

// branchIdle is how long a branch lives that nobody uses.
const branchIdle = 10 * time.Minute

// maxBranches is how many there are at most; the one unused for longest goes.
const maxBranches = 10_000

// get returns the session of a key. It makes its handshake when it is first used.
func (bs *branches) get(key branchKey, call *Call) *Session {
	bs.mu.Lock()
	defer bs.mu.Unlock()
	b := bs.byKey[key]
	if b == nil {
		bs.sweep()
		b = &branch{session: &Session{
			ID: session.NewID(), Era: upstream.EraLegacy, Principal: call.Principal, Server: key.server, Dir: call.Dir, mute: true,
			hello: rpc.NewRequest(0, "initialize", []byte(`{"protocolVersion":"`+rpc.Legacy+`","capabilities":{},"clientInfo":{"name":"annotary","version":"1"}}`)),
			ready: rpc.NewNotification("notifications/initialized", nil),
		}}
		bs.byKey[key] = b
	}
	b.used = time.Now()
	return b.session
}

// sweep ends what is idle, and makes room. The lock is held.
func (bs *branches) sweep() {
	if bs.byKey == nil {
		bs.byKey = map[branchKey]*branch{}
	}
	var oldest branchKey
	first := time.Now()
	for key, b := range bs.byKey {
		if time.Since(b.used) > branchIdle {
			bs.leave(key)
		} else if b.used.Before(first) {
			oldest, first = key, b.used
		}
	}
	if len(bs.byKey) >= maxBranches {
		bs.leave(oldest)
	}
}

func (bs *branches) leave(key branchKey) {
	if b := bs.byKey[key]; b != nil {
		delete(bs.byKey, key)
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), leaveTimeout)
			defer cancel()
			b.session.end(ctx)
		}()
	}
}

// drop forgets a session that its server no longer knows.
func (bs *branches) drop(key branchKey) {
	bs.mu.Lock()
	defer bs.mu.Unlock()
	bs.leave(key)
}

// end ends all that belongs to a client's session.
func (bs *branches) end(id string) {
	bs.mu.Lock()
	defer bs.mu.Unlock()
	for key := range bs.byKey {
		if key.session == id {
			bs.leave(key)
		}
	}
}
