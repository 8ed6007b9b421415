package gateway

import (
	"context"
	"crypto/rand"
	"sync"
	"time"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/audit"
	"github.com/annotary/annotary/internal/approval"
	"github.com/annotary/annotary/internal/catalog"
	"github.com/annotary/annotary/internal/detect"
	"github.com/annotary/annotary/internal/rpc"
	"github.com/annotary/annotary/internal/seal"
	"github.com/annotary/annotary/internal/strict"
	"github.com/annotary/annotary/internal/upstream"
	"github.com/annotary/annotary/policy"
)

// A Judge is what stands between receive and forward: it knows every tool,
// decides about every call, and records it. It does not change; a reload makes a
// new one.
type Judge struct {
	// Policies decide. Nil denies everything.
	Policies *policy.Set
	// Rules are the short rules among them for everybody, by which models are told
	// what is asked about, and by whom. If nil, they are told to be careful.
	Rules *annotary.Rules
	// Stances are what the operator says of each server, by name.
	Stances map[string]catalog.Stance
	// Methods that pass although we do not know them, by server; "*" is all.
	Methods map[string][]string
	// StepUp lists tools for which the caller lacks a scope, and tells a call
	// which. If false, they are hidden.
	StepUp bool
	// Content has the arguments of calls recorded, without the secrets in them;
	// else only their digest is.
	Content bool
	// Profiles are sets of callers with servers of their own.
	Profiles []Profile
	// Log takes the entries. Without one nothing is called.
	Log Log
	// Spool takes the entries of calls that may happen while the log is lost.
	// Without one, none may.
	Spool Log
	// Kills are what the operator stopped. Nil stops nothing.
	Kills *Kills
	// ReadOnly lets nothing pass but calls that somebody vouches only read.
	ReadOnly bool
	// Observe is until when policies decide and are recorded but block nothing;
	// zero is never.
	Observe time.Time
	// Now tells the time. If nil, time.Now.
	Now func() time.Time
	// Ladder is how people are asked. Without one, what asks is refused.
	Ladder *Ladder

	mu      sync.Mutex
	shelves map[string]*shelf
	library library
	writing sync.WaitGroup
	callers callers
}

// A Log keeps entries. What Append returned without an error for is durable.
type Log interface {
	Append(ctx context.Context, line []byte) error
}

// An Instant log takes entries without making anybody wait.
type Instant interface{ Instant() }

// Wait returns when everything that was being recorded is.
func (j *Judge) Wait() { j.writing.Wait() }

// A matter is one call before the judge.
type matter struct {
	judge  *Judge
	call   *Call
	server *upstream.Server
	action policy.Action
	who    *policy.Subject
	began  time.Time

	tool     *catalog.Tool     // nil for what is no tool
	see      annotary.Decision // whether the caller may know of the tool
	hints    annotary.Hints
	narrowed string // why the arguments only read, where a rule says that they do
	target   *policy.Target
	extra    []*policy.Target // what else the message names
	payload  []byte           // what policies see of it; nil for the arguments
	parent   *matter          // the call within which a server asked
	answers  *question        // what the message answers
	// unchecked says why the arguments could not be held against the schema;
	// those that are not known yet are not.
	unchecked     *annotary.Reason
	openArguments bool
	decision      annotary.Decision
	told          annotary.Code // what a caller who is refused hears
	fault         *rpc.Fault    // the answer that is no result: what is absent, what wants a scope
	wants         []string      // the scopes to ask for
	observed      annotary.Code // what the caller would hear if policies were enforced
	entry         audit.Entry   // as it was decided; nothing changes it from then on
	course        *course       // nil while it was not sent
	ended         func()        // called when the call has ended
	flight        *flight       // nil for what is not under way

	yes      *approval.Yes      // what lets it happen although policies ask
	question *approval.Approval // what a person is asked
	gaps     []approval.Gap     // why earlier answers do not count
	state    *seal.State        // of the rounds before
}

// resolve finds out what the call is about: which tool, and what holds of it for
// these arguments. A call about nothing, or nothing the caller may know of, is
// refused here; an error says that a server could not be asked.
func (m *matter) resolve(ctx context.Context) error {
	msg := &m.call.Message
	m.begin(msg.Method)
	if m.action != policy.Call || m.answers != nil {
		return m.resolveOther(msg)
	}
	name, _ := msg.Target()
	tool, err := m.judge.tool(ctx, m.server, name)
	if err != nil {
		return err
	}
	if tool == nil {
		m.entry.Tool = recorded(name)
	}
	if m.see = m.judge.seeThrough(m.call, m.who, tool); m.judge.hides(m.see, m.began) {
		m.refuse(annotary.CodeUnknownTool, m.see)
		m.fault = &rpc.Fault{Code: rpc.CodeInvalidParams, Message: "unknown tool: " + recorded(name), Data: reasonData(m.told)}
	} else if missing := lacking(&m.call.Principal, tool.Scopes); missing != "" {
		m.stepUp(tool.Scopes, missing)
	} else if err := m.digestArguments(msg.Arguments()); err != nil {
		return err
	}
	if tool != nil {
		m.about(tool)
		m.checkArguments()
	}
	return nil
}

// begin starts the entry.
func (m *matter) begin(method string) {
	if _, ours := actions[method]; !ours {
		method = recorded(method)
	}
	m.entry = audit.Entry{Kind: audit.Decided, Call: rand.Text(), Time: m.began, Method: method, Server: m.server.Name}
	m.entry.SetPrincipal(&m.call.Principal)
}

// about takes in what holds of the tool. Only arguments that everybody reads
// alike, of a caller who may know of the tool, can say that the call only reads.
func (m *matter) about(tool *catalog.Tool) {
	m.tool, m.hints = tool, tool.Hints
	if m.told == "" {
		m.hints, m.target, m.narrowed = tool.For(m.call.Message.Arguments())
		m.passDoor()
	}
	told := tool.Told(m.narrowed != "")
	m.entry.Server, m.entry.Tool, m.entry.Class = told.Server, told.Tool, told.Class
	m.entry.Declared, m.entry.Effective, m.entry.Definition = told.Declared, told.Effective, told.Definition
	m.entry.Believed = tool.Believed
}

// maxName is as much as is recorded of a name that the caller made up.
const maxName = 4096

// recorded is what is recorded of a name that the caller made up.
func recorded(name string) string { return detect.Text(name[:min(len(name), maxName)]) }

// refuse decides the matter before policies are asked about the call.
func (m *matter) refuse(told annotary.Code, d annotary.Decision) { m.told, m.decision = told, d }

func refusing(code annotary.Code, text string) annotary.Decision {
	return annotary.Decision{Reasons: []annotary.Reason{{Code: code, Text: text}}}
}

// digestArguments puts what was asked into the entry, as a digest, and its content
// without secrets where the operator wants it. Arguments
// that two readers could read in two ways are refused.
func (m *matter) digestArguments(args []byte) error {
	if args == nil {
		return nil
	}
	if err := strict.Unambiguous(args); err != nil {
		m.refuse(annotary.CodeAmbiguous, refusing(annotary.CodeAmbiguous, err.Error()))
		return nil
	}
	sum, err := strict.SumChecked(args)
	m.entry.ArgumentsDigest = sum.String()
	if m.judge.Content {
		m.entry.Arguments, m.entry.Hidden = detect.JSON(args)
	}
	return err
}

// see says whether the principal may know of the tool: it exists, the principal
// has the scopes, and no policy hides it. The subject is the principal, prepared
// once for a whole list.
func (j *Judge) see(who *annotary.Principal, subject *policy.Subject, t *catalog.Tool) annotary.Decision {
	if t == nil {
		return refusing(annotary.CodeUnknownTool, "the server has no tool of this name")
	}
	if j.bars(who, t.Server) {
		return barring()
	}
	if missing := lacking(who, t.Scopes); missing != "" && !j.StepUp {
		return refusingScope(annotary.CodeScope, missing)
	}
	return j.callers.see(j.Policies, subject, t.Target())
}

// decide puts the matter to the policies, unless it is refused already.
func (m *matter) decide() {
	m.restrain()
	if m.told == "" {
		m.decision = m.withUnchecked(m.along(m.ask(m.action, m.target, m.arguments())))
		m.told = toldOf(m.decision.Effect)
		m.observe()
	}
	m.noteDecision()
}

// noteDecision puts the decision into the entry.
func (m *matter) noteDecision() {
	m.entry.SetDecision(m.decision)
	m.entry.Truncated = m.decision.Effect == annotary.Deny && policy.Truncated(m.arguments())
	m.entry.Severity = audit.SeverityOf(&m.hints, m.decision.Effect)
	if m.tool == nil && m.action == policy.Call { // what is not there harms nobody
		m.entry.Severity = audit.Low
	}
	if m.judge.Policies != nil {
		m.entry.Policy = m.judge.Policies.Name()
	}
}

// ask puts one question to the policies.
func (m *matter) ask(action policy.Action, target *policy.Target, args []byte) annotary.Decision {
	return m.judge.callers.decide(m.judge.Policies, &policy.Request{
		Action: action, Who: m.who, Target: target, Arguments: args, Seen: annotary.CleanLabel(), Now: m.began,
	})
}

// toldOf is the code of a decision for who must not learn its reasons.
func toldOf(e annotary.Effect) annotary.Code {
	switch e {
	case annotary.Allow:
		return ""
	case annotary.Ask:
		return annotary.CodeApproval
	default:
		return annotary.CodeDenied
	}
}

// mayOverlap reports whether the call may be forwarded while its entry is still
// being written: it can change nothing, reach nothing outside and carry nothing
// out, and somebody we rely on says so.
func (m *matter) mayOverlap() bool {
	return m.hints.Vouched(annotary.ReadOnly) && m.hints.Vouched(annotary.OpenWorld) && m.hints.Vouched(annotary.Egress)
}

// record writes the entry as it stands and returns a function that waits until
// it is durable.
func (m *matter) record(ctx context.Context) func() error { return m.write(ctx, &m.entry) }

// write writes an entry of the matter.
func (m *matter) write(ctx context.Context, e *audit.Entry) func() error {
	line, err := e.Encode()
	if err != nil {
		return func() error { return err }
	}
	if m.judge.Log == nil {
		return func() error { return annotary.E(annotary.CodeStore, "calls cannot be recorded", nil) }
	}
	to := m.log()
	if e.Kind != audit.Outcome && !m.mayOverlap() { // nothing happens until it is written
		return func() error { return to.Append(ctx, line) }
	}
	if _, ok := to.(Instant); ok {
		err := to.Append(ctx, line)
		return func() error { return err }
	}
	done := make(chan error, 1)
	m.judge.writing.Go(func() { done <- to.Append(ctx, line) })
	return func() error { return <-done }
}

// finish records how the call ended. Nobody waits for it: an entry "decided"
// without an outcome says that the outcome is unknown.
func (m *matter) finish(result audit.Result, code annotary.Code, size int) {
	if m.ended != nil {
		m.ended()
	}
	e := m.entry
	e.Kind, e.Result, e.Code, e.Bytes = audit.Outcome, result, code, size
	e.Time = m.judge.now()
	e.Millis = float64(e.Time.Sub(m.began).Microseconds()) / 1000
	e.Brief()
	if m.flight.killed() != nil { // whatever came back, the caller did not get it
		e.Code = annotary.CodeKilled
	}
	if m.course != nil {
		m.course.tell(&e)
	}
	m.write(context.Background(), &e)
}
