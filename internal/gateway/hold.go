package gateway

import (
	"bytes"
	"context"
	"crypto/rand"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/annotary/annotary/internal/approval"
	"github.com/annotary/annotary/internal/rpc"
	"github.com/annotary/annotary/internal/strict"
	"github.com/annotary/annotary/internal/upstream"
)

// A held call is one of the legacy era that waits for its person: the client is
// asked on the stream of the call itself, and what it answers is awaited here.
// Nothing was forwarded yet, so waiting takes nothing of the time a tool may take.
// Then the call goes through the whole line again.
type held struct {
	gateway *Gateway
	m       *matter
	form    bool
	id      string        // of the question
	say     [][]byte      // what the client is to hear next
	reply   <-chan []byte // what it answers
	until   time.Time
	inner   *upstream.Answer
	over    bool
}

// waits reports whether an answer waits for a person.
func waits(a *upstream.Answer) bool {
	if a == nil {
		return false
	}
	_, ok := a.Stream.(*held)
	return ok
}

// streams reports whether the client takes more than one message in answer.
func (c *Call) streams() bool {
	accept := strings.Join(c.Header["Accept"], ",")
	return c.Header == nil || strings.Contains(accept, "text/event-stream") || strings.Contains(accept, "*/*")
}

// hold asks the client on the stream of its call.
func (g *Gateway) hold(m *matter, form bool) *upstream.Answer {
	id := "annotary/" + rand.Text()
	question := slices.Concat([]byte(`{"jsonrpc":"2.0","id":`), strict.Quote(id), []byte(`,"method":"elicitation/create","params":`), m.elicitation(form), []byte("}"))
	h := &held{
		gateway: g, m: m, form: form, id: id, say: [][]byte{question},
		reply: m.call.Session.expect(id, m.call.Message.ID()), until: time.Now().Add(m.judge.Ladder.wait()),
	}
	return &upstream.Answer{Status: http.StatusOK, Stream: h}
}

// Next returns our question, then what becomes of the call.
func (h *held) Next(ctx context.Context) (upstream.Item, error) {
	for {
		if len(h.say) > 0 {
			msg := h.say[0]
			h.say = h.say[1:]
			return upstream.Item{Msg: msg}, nil
		}
		if h.inner != nil {
			return h.rest(ctx)
		}
		if err := h.settle(ctx); err != nil {
			return upstream.Item{}, err
		}
	}
}

// settle waits for the person, as long as it may, and has the call go on.
func (h *held) settle(ctx context.Context) error {
	again := *h.m.call
	again.asked = true
	timer := time.NewTimer(time.Until(h.until))
	defer timer.Stop()
	select {
	case response := <-h.reply:
		if response == nil {
			return context.Canceled
		}
		again.refused = h.heard(ctx, response)
	case <-timer.C:
		h.say = append(h.say, rpc.NewNotification("notifications/cancelled",
			slices.Concat([]byte(`{"requestId":`), strict.Quote(h.id), []byte(`,"reason":"nobody answered in time"}`))))
	case <-ctx.Done():
		return ctx.Err()
	}
	h.m.call.Session.forget(h.id)
	var err error
	h.inner, err = h.gateway.Call(ctx, &again)
	return err
}

// heard takes in what the client answered. A page that it opened is waited for no
// longer than a form.
func (h *held) heard(ctx context.Context, response []byte) error {
	if !h.form {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, h.until)
		defer cancel()
	}
	_, err := h.m.hear(ctx, h.m.question.ID, h.form, response)
	return err
}

// rest returns what the call came to.
func (h *held) rest(ctx context.Context) (upstream.Item, error) {
	switch {
	case h.over:
		return upstream.Item{}, io.EOF
	case h.inner.Stream == nil && h.inner.Body == nil:
		return upstream.Item{}, upstream.ErrBroken
	case h.inner.Stream == nil:
		h.over = true
		return upstream.Item{Msg: bytes.Clone(h.inner.Body), Final: true}, nil // the client may ask for it again
	}
	for {
		it, err := h.inner.Stream.Next(ctx)
		if err != nil || it.Msg == nil {
			if err != nil {
				return it, err
			}
			continue
		}
		h.over = it.Final || strict.Get(it.Msg, "result") != nil || strict.Get(it.Msg, "error") != nil
		return upstream.Item{Msg: it.Msg, Final: h.over}, nil
	}
}

// Cancel tells the server of the call, if it heard of it.
func (h *held) Cancel() {
	if h.inner != nil && h.inner.Stream != nil {
		h.inner.Stream.Cancel()
	}
}

// Close gives the call up. The question stays open for other channels.
func (h *held) Close() {
	h.m.call.Session.forget(h.id)
	if h.inner != nil {
		h.inner.Close()
	}
}

// A pending question is one of ours that waits for the client's answer.
type pending struct {
	reply chan []byte // nil says that the call was cancelled
	call  string      // the id of the call it was asked for
}

// expect prepares for the answer to a question of ours about a call.
func (s *Session) expect(id string, call []byte) <-chan []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.own == nil {
		s.own = map[string]pending{}
	}
	p := pending{make(chan []byte, 1), string(call)}
	s.own[string(strict.Quote(id))] = p
	return p.reply
}

func (s *Session) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.own, string(strict.Quote(id)))
}

// answered takes an answer to a question of ours, once, and reports whether it is
// one. An error of the client's is no answer: it could not ask.
func (s *Session) answered(m *rpc.Message) bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok := s.own[string(m.ID())]
	if !ok {
		return false
	}
	delete(s.own, string(m.ID()))
	response := bytes.Clone(m.Result())
	if response == nil {
		response = []byte(`{"action":"cancel"}`)
	}
	p.reply <- response
	return true
}

// cancelled lets go of a call that waits for its person, when the client no longer
// wants it.
func (s *Session) cancelled(m *rpc.Message) {
	if s == nil || m.Method != "notifications/cancelled" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, p := range s.own {
		if p.call == string(m.RequestID()) {
			delete(s.own, id)
			p.reply <- nil
		}
	}
}

// elicitation is our question to a client's person.
func (m *matter) elicitation(form bool) []byte {
	q := m.question
	if !form {
		text := "A person must approve this call on a page of the gateway.\n\n" + q.Prompt.Text()
		params := strict.Set([]byte(`{"mode":"url"}`), strict.Quote(text), "message")
		params = strict.Set(params, strict.Quote(m.judge.Ladder.link(q.ID)), "url")
		if m.call.Era == upstream.EraLegacy {
			params = strict.Set(params, strict.Quote(q.ID), "elicitationId")
		}
		return params
	}
	params := strict.Set([]byte(`{"mode":"form"}`), strict.Quote("May this call happen?\n\n"+q.Prompt.Text()), "message")
	return strict.Set(params, scopeSchema(q), "requestedSchema")
}

// scopeSchema lets the person say how far the yes goes.
func scopeSchema(q *approval.Approval) []byte {
	usual, other := approval.Once, approval.Conversation
	if q.Usual() == approval.Conversation {
		usual, other = other, usual
	}
	return slices.Concat([]byte(`{"type":"object","properties":{"scope":{"type":"string","title":"How far does a yes go?",`+
		`"description":"once: this call; conversation: this tool, whatever the arguments, while this conversation lasts","enum":[`),
		strict.Quote(string(usual)), []byte(","), strict.Quote(string(other)), []byte(`],"default":`), strict.Quote(string(usual)), []byte(`}}}`))
}
