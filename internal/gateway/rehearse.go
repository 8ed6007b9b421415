package gateway

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/approval"
	"github.com/annotary/annotary/internal/rpc"
	"github.com/annotary/annotary/internal/strict"
	"github.com/annotary/annotary/shape"
)

// Drafts are the calls behind questions whose tools can be told to only pretend.
// They are kept in memory, here, and nowhere else: the store has only digests of
// arguments. The oldest make room.
type drafts struct {
	mu    sync.Mutex
	byID  map[string]draft
	order []string
	bytes int
}

type draft struct {
	call Call
	at   string // the argument that has the tool pretend
}

const (
	maxDrafts     = 1000
	maxDraftBytes = 16 << 20
)

// keep remembers the call of a question, as it was sent.
func (d *drafts) keep(id string, c *Call, at string) {
	msg, err := rpc.Parse(bytes.Clone(c.Message.Raw), strict.Limits{})
	if err != nil {
		return // it was read once; then it simply cannot be tried
	}
	call := Call{
		Principal: c.Principal, Server: c.Server, Era: c.Era, Dir: c.Dir, Message: msg, Header: c.Header.Clone(),
		Session: c.Session, ReadOnly: c.ReadOnly, asked: true, // its client is not asked about a try
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.byID == nil {
		d.byID = map[string]draft{}
	}
	if _, ok := d.byID[id]; ok {
		return
	}
	d.byID[id], d.order, d.bytes = draft{call, at}, append(d.order, id), d.bytes+len(msg.Raw)
	for len(d.order) > maxDrafts || d.bytes > maxDraftBytes {
		old := d.order[0]
		d.bytes -= len(d.byID[old].call.Message.Raw)
		delete(d.byID, old)
		d.order = d.order[1:]
	}
}

func (d *drafts) get(id string) (draft, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	found, ok := d.byID[id]
	return found, ok
}

// keepDraft remembers the call if it can be tried.
func (g *Gateway) keepDraft(m *matter, id string) {
	if m.tool == nil {
		return
	}
	stance := m.judge.Stances[m.server.Name]
	if at := stance.Rehearsal(&m.tool.Tool); at != "" {
		g.drafts.keep(id, m.call, at)
	}
}

// rehearsed is the call with the argument set that has the tool pretend.
func (d *draft) rehearsed() (*Call, error) {
	msg := &d.call.Message
	args := strict.Get(msg.Params(), "arguments")
	if strict.KindOf(args) != strict.Object {
		args = []byte("{}")
	}
	var names []string
	for name := range strings.SplitSeq(strings.TrimPrefix(d.at, "/"), "/") {
		names = append(names, strict.UnescapePointer(name))
	}
	args = strict.Set(args, []byte("true"), names...)
	params := strict.Set(strict.Without(msg.Params(), "inputResponses", "requestState"), args, "arguments")
	call := d.call
	var err error
	call.Message, err = rpc.Parse(rpc.NewRequest(0, msg.Method, params), strict.Limits{})
	return &call, err
}

// A Rehearsal is how the call behind a question can be tried.
type Rehearsal struct {
	// Argument has the tool pretend.
	Argument string
	// Unasked says that policy lets the try happen without a person: the server is
	// believed, or the operator bound the argument.
	Unasked bool
}

// Rehearsal says how the call behind a question can be tried; nil if it cannot.
func (g *Gateway) Rehearsal(ctx context.Context, id string) *Rehearsal {
	d, ok := g.drafts.get(id)
	if !ok {
		return nil
	}
	call, err := d.rehearsed()
	if err != nil {
		return nil
	}
	name, _ := call.Message.Target()
	p, err := g.Predict(ctx, &Question{
		Principal: call.Principal, Server: call.Server, Tool: name, Arguments: strict.Get(call.Message.Params(), "arguments"), ReadOnly: call.ReadOnly,
	})
	if err != nil {
		return nil
	}
	return &Rehearsal{strings.TrimPrefix(d.at, "/"), p.Told == ""}
}

// Rehearse tries the call behind a question: a call of its own, judged and recorded
// like any other. Where it asks, the person's word is its answer, for once; without
// one it does not happen. What the server says to it is a stranger's text.
func (g *Gateway) Rehearse(ctx context.Context, id string, word *approval.Answer) (string, error) {
	d, ok := g.drafts.get(id)
	if !ok {
		return "", annotary.E(annotary.CodeUnknownApproval, "this call cannot be tried here", nil).
			WithHint("it was made through another gateway, or before this one was started")
	}
	call, err := d.rehearsed()
	if err != nil {
		return "", err
	}
	result, err := g.finish(ctx, call)
	question := textAt(result, "_meta", MetaDecision, "approval", "id")
	if err == nil && question != "" {
		if word == nil {
			return "", annotary.E(annotary.CodeApproval, "the try needs a person's word", nil)
		}
		said := *word
		said.Yes, said.Scope = true, approval.Scope{Kind: approval.Once}
		if _, err := g.Answer(ctx, question, said); err != nil {
			return "", err
		}
		result, err = g.finish(ctx, call)
	}
	if err != nil {
		return "", err
	}
	return resultText(result), nil
}

// finish takes a call through the line and returns its result.
func (g *Gateway) finish(ctx context.Context, call *Call) ([]byte, error) {
	answer, err := g.Call(ctx, call)
	if err != nil {
		return nil, err
	}
	defer answer.Close()
	msg := answer.Body
	for answer.Stream != nil {
		item, err := answer.Stream.Next(ctx)
		if err != nil {
			return nil, err
		}
		if item.Final || strict.Get(item.Msg, "result") != nil || strict.Get(item.Msg, "error") != nil {
			msg = item.Msg
			break
		}
	}
	if text := textAt(msg, "error", "message"); text != "" {
		return nil, annotary.E(annotary.CodeConnect, "the try failed: "+approval.Line(text), nil)
	}
	return slices.Clone(strict.Get(msg, "result")), nil
}

// maxRehearsed is how much of an answer is shown.
const maxRehearsed = 4000

// resultText is what a result says, cleaned.
func resultText(result []byte) string {
	var b strings.Builder
	for _, item := range strict.Elements(strict.Get(result, "content")) {
		if text, ok := strict.Text(strict.Get(item, "text")); ok {
			b.WriteString(text + "\n")
		}
	}
	text := []rune(strings.TrimSpace(shape.Clean(b.String())))
	if len(text) > maxRehearsed {
		return string(text[:maxRehearsed]) + "…"
	}
	return string(text)
}
