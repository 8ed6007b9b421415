// Package audit is the log: what an entry says, and how anybody can check that
// no entry was removed, edited or reordered since.
//
// One call leaves entries joined by its id: decided, before anything reaches an
// upstream; attempt, for each try after the first; outcome, at its end. An
// entry says who called what, what the tool declared and what was held to be
// true and by whom, a digest of the arguments (their content only where the
// operator asked for it, redacted), the decision with every reason, and the
// digest of the policies that made it.
//
// The log is a Merkle tree as in Certificate Transparency. Its [Checkpoint] is
// a signed note that names the tree's size and root; [Verify] holds entries
// against checkpoints and names the first that is wrong. It needs the public
// key and nothing else of ours.
//
// The package is pure: it keeps nothing and reads no clock, file or network.
package audit

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/strict"
)

// Version is the version of an entry's form. Fields may be added within one.
const Version = 1

// MaxBytes is the largest an entry may be; what makes it larger is cut.
const MaxBytes = 32 << 10

// A Kind says at what point of a call an entry was written.
type Kind string

// The kinds of entry.
const (
	Decided Kind = "decided" // before the call reaches an upstream
	Attempt Kind = "attempt" // before each try after the first
	Outcome Kind = "outcome" // at the end
	Acted   Kind = "acted"   // no call: an operator changed what holds
)

// An Entry is one line of the log.
type Entry struct {
	Version int       `json:"v"`
	Kind    Kind      `json:"kind"`
	Call    string    `json:"call"`              // joins the entries of one call
	Parent  string    `json:"parent,omitempty"`  // the call this one continues
	Time    time.Time `json:"time"`              // UTC
	Replica string    `json:"replica,omitempty"` // who wrote it

	Tenant       string   `json:"tenant"`
	Issuer       string   `json:"issuer,omitempty"`
	Subject      string   `json:"subject"`
	Client       string   `json:"client,omitempty"`
	Groups       []string `json:"groups,omitempty"`
	Conversation string   `json:"conversation,omitempty"`

	Method     string               `json:"method"`
	Server     string               `json:"server"`
	Tool       string               `json:"tool,omitempty"`
	Definition string               `json:"definition,omitempty"` // digest of the definition that was judged
	Declared   map[string]string    `json:"declared,omitempty"`   // what the server said, where it said something
	Effective  map[string]Effective `json:"effective,omitempty"`
	Believed   bool                 `json:"believed,omitempty"` // the operator believes the server's hints
	Class      string               `json:"class,omitempty"`
	Severity   Severity             `json:"severity"`

	ArgumentsDigest string          `json:"argumentsDigest,omitempty"`
	Arguments       json.RawMessage `json:"arguments,omitempty"` // only where configured, secrets redacted
	Hidden          []string        `json:"hidden,omitempty"`    // JSON Pointers of what was redacted or cut
	Truncated       bool            `json:"truncated,omitempty"` // of a call that was denied: the arguments were more than policies can see

	Effect  string   `json:"effect,omitempty"`
	Reasons []Reason `json:"reasons,omitempty"`
	Policy  string   `json:"policy,omitempty"`  // digest of the policies
	Observe bool     `json:"observe,omitempty"` // decided but not enforced
	// Approval is the question that was asked, or whose yes was used; Grant the
	// grant that was used, ApprovedBy who gave it, and Channel where.
	Approval   string `json:"approval,omitempty"`
	Grant      string `json:"grant,omitempty"`
	ApprovedBy string `json:"approvedBy,omitempty"`
	Channel    string `json:"channel,omitempty"`
	// Spooled says the entry waited on the local disk while the store was lost.
	Spooled bool `json:"spooled,omitempty"`

	// Attempt is the number of the try; of an outcome, how many there were.
	Attempt int `json:"attempt,omitempty"`
	// Waited is how long, in milliseconds, the call waited for others to end.
	Waited float64 `json:"waited,omitempty"`
	// Shared is the call of an equal read whose answer this one got.
	Shared string        `json:"shared,omitempty"`
	Result Result        `json:"result,omitempty"`
	Code   annotary.Code `json:"code,omitempty"` // why it failed
	Millis float64       `json:"millis,omitempty"`
	Bytes  int           `json:"bytes,omitempty"`
	Shaped []string      `json:"shaped,omitempty"` // what was done to the result

	Target string `json:"target,omitempty"` // what an operator acted on
	Note   string `json:"note,omitempty"`   // what the operator said about it
}

// Effective is one effective hint and who stands behind it.
type Effective struct {
	Value annotary.Value  `json:"value"`
	From  annotary.Source `json:"from"`
}

// A Reason is why the decision was what it was.
type Reason struct {
	Code annotary.Code `json:"code"`
	Rule string        `json:"rule,omitempty"`
	At   string        `json:"at,omitempty"`
	Ask  string        `json:"ask,omitempty"` // how a person is to be asked, where the rule asks
}

// A Result is how a call ended.
type Result string

// The results.
const (
	OK        Result = "ok"
	ToolError Result = "tool_error" // the tool said it failed
	Failed    Result = "failed"     // the call did not reach an end
	Refused   Result = "refused"    // we did not let it happen
	Cancelled Result = "cancelled"
	Unknown   Result = "unknown" // it was sent, and no answer came back
)

// A Severity grades an entry for whoever reviews the log.
type Severity string

// The severities. They follow the hints: reads are informational, writes are
// low, destruction is high, and what was refused is one step more worth a look.
const (
	Info   Severity = "info"
	Low    Severity = "low"
	Medium Severity = "medium"
	High   Severity = "high"
)

// SeverityOf grades a decision about a tool.
func SeverityOf(h *annotary.Hints, e annotary.Effect) Severity {
	grades := []Severity{Info, Low, Medium, High, High}
	grade := 0
	switch h.Class() {
	case annotary.Read:
		if h[annotary.Sensitive].Value == annotary.Yes {
			grade = 1
		}
	case annotary.Write:
		grade = 1
	case annotary.Destroy:
		grade = 3
	}
	if e == annotary.Deny {
		grade++
	}
	return grades[grade]
}

// SetTool fills in what is known of the tool that was called.
func (e *Entry) SetTool(t *annotary.Tool, h *annotary.Hints) {
	e.Server, e.Tool, e.Class = t.Server, t.Name, h.Class().String()
	e.Declared = map[string]string{}
	e.Effective = map[string]Effective{}
	for n := range annotary.HintName(annotary.NumHints) {
		if s := t.Stated[n]; s != annotary.StatedAbsent {
			e.Declared[n.String()] = s.String()
		}
		e.Effective[n.String()] = Effective{h[n].Value, h[n].From}
	}
}

// Brief drops what the entry "decided" of the same call says already and nobody
// looks for in another.
func (e *Entry) Brief() {
	e.Definition, e.Declared, e.Effective, e.Policy = "", nil, nil, ""
	e.ArgumentsDigest, e.Arguments, e.Hidden = "", nil, nil
}

// SetPrincipal fills in who called.
func (e *Entry) SetPrincipal(p *annotary.Principal) {
	e.Tenant, e.Issuer, e.Subject, e.Client, e.Groups = p.Tenant, p.Issuer, p.Subject, p.Client, p.Groups
}

// SetDecision fills in what was decided and why.
func (e *Entry) SetDecision(d annotary.Decision) {
	e.Effect = d.Effect.String()
	e.Reasons = nil
	for _, r := range d.Reasons {
		said := Reason{Code: r.Code, Rule: r.Rule, At: r.At.String()}
		if d.Effect == annotary.Ask {
			said.Ask = r.Ask.String()
		}
		e.Reasons = append(e.Reasons, said)
	}
}

// Encode writes the entry as one line without its line feed. An entry that is
// too large loses its arguments, then its groups, then all reasons but the
// first; Hidden says so.
func (e Entry) Encode() ([]byte, error) {
	e.Version = Version
	e.Time = e.Time.UTC().Truncate(time.Microsecond)
	line, err := e.marshal()
	if err != nil || len(line) <= MaxBytes {
		return line, err
	}
	return e.encodeCut()
}

// encodeCut writes as much of an entry that is too large as may be.
func (e Entry) encodeCut() ([]byte, error) {
	for _, cut := range []func(*Entry){
		func(e *Entry) { e.Arguments = nil; e.hide("/arguments") },
		func(e *Entry) { e.Groups = nil; e.hide("/groups") },
		func(e *Entry) { e.Reasons = e.Reasons[:min(len(e.Reasons), 1)]; e.hide("/reasons") },
	} {
		cut(&e)
		line, err := e.marshal()
		if err != nil || len(line) <= MaxBytes {
			return line, err
		}
	}
	return nil, annotary.E(annotary.CodeInternal, "an audit entry is too large", fmt.Errorf("over %d bytes without what can be cut", MaxBytes))
}

func (e *Entry) hide(pointer string) {
	e.Hidden = append(slices.Clip(e.Hidden), pointer)
}

// Decode reads an entry. Fields it does not know are skipped: a newer gateway
// may have written them.
func Decode(line []byte) (Entry, error) {
	var e Entry
	if err := strict.Check(line, strict.Limits{Bytes: MaxBytes}); err != nil {
		return e, annotary.E(annotary.CodeInvalid, "an audit entry cannot be read: "+err.Error(), err)
	}
	if err := json.Unmarshal(line, &e); err != nil {
		return e, annotary.E(annotary.CodeInvalid, "an audit entry cannot be read: "+err.Error(), err)
	}
	if e.Version != Version {
		return e, annotary.E(annotary.CodeInvalid, fmt.Sprintf("an audit entry has version %d, this program reads %d", e.Version, Version), nil)
	}
	return e, nil
}
