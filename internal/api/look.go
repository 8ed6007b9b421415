package api

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"time"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/gateway"
)

// A Status is how a gateway is doing.
type Status struct {
	Version string   `json:"version"`
	PID     int      `json:"pid"`
	Config  string   `json:"config"`
	Judges  bool     `json:"judges"`
	Servers []string `json:"servers"`
	// Confined says how commands are kept out of the data folder: namespace,
	// landlock or none.
	Confined string `json:"confined"`
	// State is nil while nothing is kept.
	State *StateHealth `json:"state,omitempty"`
	// Audit is nil while nothing is recorded.
	Audit *AuditHealth `json:"audit,omitempty"`
}

// StateHealth is how the store of a gateway is doing.
type StateHealth struct {
	Embedded bool      `json:"embedded"`
	Where    string    `json:"where"` // its folder, or the server this gateway is connected to
	Version  string    `json:"version"`
	Replicas int       `json:"replicas"`
	Lost     bool      `json:"lost"`  // it was silent for too long: what needs it is refused
	Heard    time.Time `json:"heard"` // when it last answered
	Problem  string    `json:"problem,omitempty"`
	// Deaf says that it answers, and counts as lost because this gateway does
	// not hear what others write.
	Deaf bool `json:"deaf,omitempty"`
	// Unwritten is what was not written last, and why: a full disk still answers.
	Unwritten string `json:"unwritten,omitempty"`
	// Forgot is until when conversations start as if they had seen everything,
	// because what they have seen was forgotten.
	Forgot *time.Time `json:"forgot,omitempty"`
}

func (s *server) status(w http.ResponseWriter, _ *http.Request) error {
	status := Status{
		Version: s.Version, PID: os.Getpid(), Config: s.Config, Judges: s.Gateway.Judges(), Confined: s.Confined,
		Servers: append([]string{}, slices.Sorted(maps.Keys(s.Gateway.Servers()))...),
	}
	if s.State != nil {
		status.State = s.State()
	}
	if s.Audit != nil {
		status.Audit = s.Audit()
	}
	return writeJSON(w, http.StatusOK, status)
}

func (s *server) reload(w http.ResponseWriter, _ *http.Request) error {
	if err := s.Reload(); err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, struct{}{})
}

// A Caller is whom a question is asked about. The zero Caller is the local user.
type Caller struct {
	Subject string   `json:"subject"`
	Groups  []string `json:"groups,omitempty"`
	Scopes  []string `json:"scopes,omitempty"`
}

var callerParams = []string{"subject", "group", "scope"}

func callerOf(q url.Values) Caller {
	return Caller{Subject: q.Get("subject"), Groups: q["group"], Scopes: q["scope"]}
}

func (c *Caller) principal() annotary.Principal {
	if c.Subject == "" {
		c.Subject = annotary.LocalSubject
	}
	return annotary.Principal{Tenant: annotary.DefaultTenant, Subject: c.Subject, Groups: c.Groups, Scopes: c.Scopes}
}

// A Reason is one rule's part in a decision.
type Reason struct {
	Code annotary.Code `json:"code"`
	Rule string        `json:"rule,omitempty"`
	At   string        `json:"at,omitempty"` // file and line of the rule
	Text string        `json:"text"`
	Hint string        `json:"hint,omitempty"`
}

// A Decision is an effect with every reason for it.
type Decision struct {
	Effect  string   `json:"effect"`
	Reasons []Reason `json:"reasons"`
}

func decisionOf(d annotary.Decision) Decision {
	out := Decision{Effect: d.Effect.String(), Reasons: []Reason{}}
	for _, r := range d.Reasons {
		out.Reasons = append(out.Reasons, Reason{Code: r.Code, Rule: r.Rule, At: r.At.String(), Text: r.Text, Hint: r.Hint})
	}
	return out
}

// A Tool is what is held to be true of a tool.
type Tool struct {
	Name  string                   `json:"name"`
	Class string                   `json:"class"`
	Hints map[string]annotary.Hint `json:"hints"`
	// Proposals are safe values that were said and do not count, because nobody
	// vouches for them.
	Proposals []Proposal `json:"proposals"`
	Scopes    []string   `json:"scopes"` // that a caller must have
	// See says whether the caller may know of it, and why.
	See Decision `json:"see"`
}

// A Proposal is a safe value that waits for the operator's word.
type Proposal struct {
	Hint  string          `json:"hint"`
	Value annotary.Value  `json:"value"`
	By    annotary.Source `json:"by"`
	Why   string          `json:"why,omitempty"`
}

func (s *server) tools(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	caller := callerOf(q)
	who := caller.principal()
	sights, err := s.Gateway.Tools(r.Context(), q.Get("server"), &who)
	if err != nil {
		return err
	}
	out := make([]Tool, len(sights))
	for i, t := range sights {
		out[i] = Tool{
			Name: t.Name, Class: t.Hints.Class().String(), Hints: hintsOf(&t.Hints),
			Proposals: proposalsOf(t.Resolution.Proposals),
			Scopes:    append([]string{}, t.Scopes...), See: decisionOf(t.See),
		}
	}
	return writeJSON(w, http.StatusOK, map[string][]Tool{"tools": out})
}

func hintsOf(h *annotary.Hints) map[string]annotary.Hint {
	out := make(map[string]annotary.Hint, len(h))
	for n := range annotary.HintName(annotary.NumHints) {
		out[n.String()] = h[n]
	}
	return out
}

func proposalsOf(claims []annotary.Claim) []Proposal {
	out := make([]Proposal, len(claims))
	for i, c := range claims {
		out[i] = Proposal{c.Hint.String(), c.Value, c.By, c.Why}
	}
	return out
}

// A WhyRequest asks what would become of a call.
type WhyRequest struct {
	Server    string          `json:"server"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	As        Caller          `json:"as"`
	// ReadOnly asks about the address that serves reads only.
	ReadOnly bool `json:"readOnly,omitempty"`
}

// A WhyAnswer says it, and why.
type WhyAnswer struct {
	Server  string `json:"server"`
	Tool    string `json:"tool"`
	Subject string `json:"subject"`
	// Told is the code the caller would hear; empty if the call would go through.
	Told annotary.Code `json:"told"`
	// Observed is the code the caller would hear if policies were not only
	// observed, and ObservedUntil until when they are.
	Observed      annotary.Code `json:"observed,omitempty"`
	ObservedUntil time.Time     `json:"observedUntil,omitzero"`
	See           Decision      `json:"see"`
	Call          Decision      `json:"call"`
	// Class and Hints are those of a call with these arguments; empty if the
	// server has no such tool.
	Class     string                   `json:"class,omitempty"`
	Hints     map[string]annotary.Hint `json:"hints,omitempty"`
	Narrowed  string                   `json:"narrowed,omitempty"` // why the arguments only read
	Proposals []Proposal               `json:"proposals"`
	// Approval is the person's yes that lets it happen although Call asks.
	Approval string `json:"approval,omitempty"`
}

func (s *server) why(w http.ResponseWriter, r *http.Request) error {
	var q WhyRequest
	if err := readBody(w, r, &q); err != nil {
		return err
	}
	p, err := s.Gateway.Predict(r.Context(), &gateway.Question{
		Principal: q.As.principal(), Server: q.Server, Tool: q.Tool, Arguments: q.Arguments, Open: q.Arguments == nil, ReadOnly: q.ReadOnly,
	})
	if err != nil {
		return err
	}
	a := WhyAnswer{
		Server: q.Server, Tool: q.Tool, Subject: q.As.Subject, Told: p.Told, Observed: p.Observed, ObservedUntil: p.ObservedUntil,
		See: decisionOf(p.See), Call: decisionOf(p.Call), Narrowed: p.Narrowed, Proposals: []Proposal{},
	}
	if p.Yes != nil {
		a.Approval = p.Yes.Approval
	}
	if p.Tool != nil {
		a.Class, a.Hints = p.Hints.Class().String(), hintsOf(&p.Hints)
		a.Proposals = proposalsOf(p.Tool.Resolution.Proposals)
	}
	return writeJSON(w, http.StatusOK, a)
}
