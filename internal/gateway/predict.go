package gateway

import (
	"context"
	"slices"
	"time"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/approval"
	"github.com/annotary/annotary/internal/catalog"
	"github.com/annotary/annotary/internal/rpc"
	"github.com/annotary/annotary/internal/strict"
	"github.com/annotary/annotary/internal/upstream"
)

// CodeUnjudged is said of questions about decisions where none are made.
const CodeUnjudged annotary.Code = "not_judged"

// A Question asks what would become of a tool call.
type Question struct {
	Principal    annotary.Principal
	Server, Tool string
	Arguments    []byte // JSON; nil for none
	// Open says that the arguments are not known yet: what the tool's input
	// schema demands of them is not asked.
	Open     bool
	ReadOnly bool // where only reads are served
}

// A Prediction is what the line would do with a call, and all it would go by. It
// is for the operator: the caller must not learn most of it.
type Prediction struct {
	// Told is the code the caller would hear; empty if the call would go through.
	Told annotary.Code
	// Observed is the code the caller would hear if policies were not only
	// observed, and ObservedUntil is until when they are.
	Observed      annotary.Code
	ObservedUntil time.Time
	// Scopes are what the caller would be told to ask its issuer for.
	Scopes []string
	// Tool is what the call is about, nil if the server has no such tool.
	Tool *catalog.Tool
	// Hints are those of a call with these arguments. Narrowed says why they are
	// those of a read, where the arguments make them so.
	Hints    annotary.Hints
	Narrowed string
	// See says whether the caller may know of the tool, and Call what becomes of
	// the call.
	See, Call annotary.Decision
	// Yes is the person's yes that would let it happen although Call asks.
	Yes *approval.Yes
}

// Predict says what would become of a call without making or recording it. It
// resolves and decides as [Gateway.Call] does.
func (g *Gateway) Predict(ctx context.Context, q *Question) (*Prediction, error) {
	server, judge, err := g.judging(q.Server)
	if err != nil {
		return nil, err
	}
	defer server.Release()
	msg, err := q.message()
	if err != nil {
		return nil, err
	}
	m := judge.open(server, &Call{Principal: q.Principal, Server: q.Server, Era: upstream.EraModern, Message: msg, ReadOnly: q.ReadOnly})
	m.openArguments = q.Open
	if judge.bars(&q.Principal, q.Server) {
		m.bar()
	} else if err := m.resolve(ctx); err != nil {
		return nil, err
	}
	m.decide()
	yes, err := m.foresee(ctx)
	if err != nil {
		return nil, err
	}
	p := &Prediction{Yes: yes, Told: m.told, Tool: m.tool, Hints: m.hints, Narrowed: m.narrowed, See: m.see, Call: m.decision, Scopes: m.wants}
	if p.Observed = m.observed; p.Observed != "" {
		p.ObservedUntil = judge.Observe
	}
	return p, nil
}

// message is the call that the question is about.
func (q *Question) message() (rpc.Message, error) {
	raw := slices.Concat([]byte(`{"jsonrpc":"2.0","id":0,"method":"tools/call","params":{"name":`), strict.Quote(q.Tool))
	if q.Arguments != nil {
		raw = slices.Concat(raw, []byte(`,"arguments":`), q.Arguments)
	}
	msg, err := rpc.Parse(append(raw, "}}"...), strict.Limits{})
	if err != nil {
		return msg, annotary.E(annotary.CodeInvalid, "the arguments cannot be read: "+err.Error(), err)
	}
	return msg, nil
}

// A Sight is a tool and whether somebody may know of it.
type Sight struct {
	*catalog.Tool
	See annotary.Decision
}

// Tools returns every tool of a server, those hidden from the principal too.
func (g *Gateway) Tools(ctx context.Context, server string, who *annotary.Principal) ([]Sight, error) {
	s, judge, err := g.judging(server)
	if err != nil {
		return nil, err
	}
	defer s.Release()
	tools, err := judge.tools(ctx, s)
	if err != nil {
		return nil, err
	}
	subject, sights := judge.subject(who), make([]Sight, len(tools))
	for i, t := range tools {
		sights[i] = Sight{t, judge.see(who, subject, t)}
	}
	return sights, nil
}

// judging returns a server, kept in service, and what judges the calls to it.
func (g *Gateway) judging(server string) (*upstream.Server, *Judge, error) {
	judge := g.judge.Load()
	if judge == nil {
		return nil, nil, errUnjudged()
	}
	s, err := g.resolve(server)
	return s, judge, err
}

func errUnjudged() error {
	return annotary.E(CodeUnjudged, "this gateway judges nothing: every call passes", nil).
		WithHint("write 'preset: careful' into the configuration")
}

// Judges reports whether calls are judged.
func (g *Gateway) Judges() bool { return g.judge.Load() != nil }
