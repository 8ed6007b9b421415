package annotary

import (
	"cmp"
	"fmt"
	"slices"
)

// ContradictionConfidence is how sure a derived claim must be to contradict a
// server or evidence, instead of only being careful where nobody has spoken.
const ContradictionConfidence = 0.95

// MinVerifiedCalls is how many successful calls evidence must rest on.
const MinVerifiedCalls = 5

// A Claim is what one party says about one hint.
type Claim struct {
	Hint  HintName `json:"hint"`
	Value Value    `json:"value"`
	By    Source   `json:"by"`
	Why   string   `json:"why,omitempty"`

	// Confidence of a derived claim, 0 to 1.
	Confidence float64 `json:"confidence,omitempty"`
	// Evidence names the observation of an observed claim, or the observation
	// that an operator's override answers.
	Evidence string `json:"evidence,omitempty"`
	// Calls is how many successful calls a verified claim rests on.
	Calls int `json:"calls,omitempty"`
	// TriedNetwork says the verified tool tried to reach the network, where
	// its effects could not be seen.
	TriedNetwork bool `json:"triedNetwork,omitempty"`
}

// Confinement says what the kernel holds the running instance to.
type Confinement struct {
	NoWrite   bool // no writable path outside discarded scratch
	NoNetwork bool // socket() is refused for every family
}

// Known is everything known about one tool on one instance.
type Known struct {
	Claims   []Claim
	Believed bool // the operator believes this server's hints
	Confined Confinement
}

// A Finding is a disagreement: Claim says otherwise than what was decided.
type Finding struct {
	Hint    HintName `json:"hint"`
	Decided Hint     `json:"decided"`
	Claim   Claim    `json:"claim"`
}

// A Resolution is what [Resolve] made of the claims.
type Resolution struct {
	Hints    Hints
	Findings []Finding
	// Proposals are the safe values that were said but do not decide: derived
	// ones, and declared ones of a server that is not believed. Accepting one
	// makes it the operator's.
	Proposals []Claim
}

// The rows of the table, strongest first. Per hint, the first row that has a
// claim decides.
type row uint8

const (
	rowNone         row = iota // says nothing that can decide
	rowObserved                // 1 observed violation
	rowOperator                // 2 operator
	rowConfined                // 3 confined on this instance
	rowDeclaredBad             // 4 declared dangerous, by anyone
	rowContradicted            // 5 derived dangerous, sure
	rowVerified                // 6 verified
	rowBelieved                // 7 declared safe by a believed server
	rowDerivedBad              // 8 derived dangerous, less sure
	rowDefault                 // 9 the specification's default
)

// Resolve makes the effective hints of a tool. It is a pure function: the same
// knowledge gives the same answer, whatever the order of the claims. Two claims
// of the operator that contradict each other are an error, and the hints are
// then the pessimistic ones.
func Resolve(k Known) (Resolution, error) {
	claims := slices.Clone(k.Claims)
	claims = append(claims, k.Confined.claims()...)
	slices.SortStableFunc(claims, compareClaims)
	if err := checkOperator(claims); err != nil {
		return Resolution{Hints: Pessimistic()}, err
	}
	res := Resolution{Hints: Pessimistic()}
	var rows [NumHints]row
	for n := range HintName(NumHints) {
		rows[n] = rowDefault
		best := strongest(n, claims, k.Believed)
		if best != nil {
			rows[n] = rank(*best, claims, k.Believed)
			res.Hints[n] = Hint{Value: best.Value, From: best.By, Why: best.Why}
		}
	}
	makeConsistent(&res.Hints, rows)
	for _, c := range claims {
		decided := res.Hints[c.Hint]
		if c.Value != Unknown && c.Value != decided.Value && decided.From != FromDefault {
			res.Findings = append(res.Findings, Finding{c.Hint, decided, c})
		}
		if c.Value == c.Hint.Safe() && decided.Value != c.Value && rank(c, claims, k.Believed) == rowNone {
			res.Proposals = append(res.Proposals, c)
		}
	}
	return res, nil
}

// strongest returns the claim that decides the hint, or nil.
func strongest(n HintName, claims []Claim, believed bool) *Claim {
	best, at := (*Claim)(nil), rowDefault
	for i, c := range claims {
		if c.Hint != n {
			continue
		}
		if r := rank(c, claims, believed); r != rowNone && r < at {
			best, at = &claims[i], r
		}
	}
	return best
}

// rank returns the row a claim speaks from, rowNone if it cannot decide.
func rank(c Claim, all []Claim, believed bool) row {
	if c.Value == Unknown {
		return rowNone
	}
	safe := c.Value == c.Hint.Safe()
	switch c.By {
	case FromObserved:
		if !safe && !answered(c, all) {
			return rowObserved
		}
	case FromOperator:
		return rowOperator
	case FromConfined:
		if safe {
			return rowConfined
		}
	case FromDeclared:
		switch {
		case !safe:
			return rowDeclaredBad
		case believed:
			return rowBelieved
		}
	case FromDerived:
		switch {
		case !safe && c.Confidence >= ContradictionConfidence:
			return rowContradicted
		case !safe:
			return rowDerivedBad
		}
	case FromVerified:
		if safe && verifies(c) {
			return rowVerified
		}
	case FromDefault:
	}
	return rowNone
}

// answered reports whether an operator's claim names this observation.
func answered(observed Claim, all []Claim) bool {
	return observed.Evidence != "" && slices.ContainsFunc(all, func(c Claim) bool {
		return c.By == FromOperator && c.Hint == observed.Hint && c.Evidence == observed.Evidence
	})
}

// verifies reports whether evidence may speak for the hint. A tool that tried
// the network had effects nobody saw.
func verifies(c Claim) bool {
	if c.Calls < MinVerifiedCalls {
		return false
	}
	switch c.Hint {
	case ReadOnly, Destructive, Idempotent:
		return !c.TriedNetwork
	case OpenWorld, Egress:
		return true
	default:
		return false
	}
}

// claims returns what confinement vouches for. A process that cannot write but
// can talk may have another machine write for it, so the network counts for
// every hint.
func (c Confinement) claims() []Claim {
	var claims []Claim
	hold := func(why string, names ...HintName) {
		for _, n := range names {
			claims = append(claims, Claim{Hint: n, Value: n.Safe(), By: FromConfined, Why: why})
		}
	}
	if c.NoNetwork {
		hold("the kernel refuses it every socket", OpenWorld, Egress)
	}
	if c.NoNetwork && c.NoWrite {
		hold("the kernel refuses it every write and every socket", ReadOnly, Destructive)
	}
	return claims
}

// makeConsistent settles what the hints say about each other: a tool that
// changes nothing destroys nothing and can be repeated.
func makeConsistent(h *Hints, rows [NumHints]row) {
	strongRead := h.Is(ReadOnly) && slices.Contains([]row{rowOperator, rowConfined, rowVerified}, rows[ReadOnly])
	strongDestroy := h.Is(Destructive) && slices.Contains([]row{rowObserved, rowOperator, rowDeclaredBad, rowContradicted}, rows[Destructive])
	if !strongRead && strongDestroy && h.Is(ReadOnly) {
		h[ReadOnly] = Hint{No, h[Destructive].From, "it is destructive: " + h[Destructive].Why}
	}
	if h.Is(ReadOnly) {
		for _, n := range []HintName{Destructive, Idempotent} {
			if h[n].Value != n.Safe() {
				h[n] = Hint{n.Safe(), h[ReadOnly].From, "it is read-only: " + h[ReadOnly].Why}
			}
		}
	}
}

// checkOperator refuses an operator who says both yes and no.
func checkOperator(claims []Claim) error {
	var said [NumHints]Value
	for _, c := range claims {
		if c.By != FromOperator || c.Value == Unknown {
			continue
		}
		if said[c.Hint] != Unknown && said[c.Hint] != c.Value {
			return E(CodeConfig, fmt.Sprintf("the operator says both true and false for %s", c.Hint), nil)
		}
		said[c.Hint] = c.Value
	}
	if said[ReadOnly] == Yes && said[Destructive] == Yes {
		return E(CodeConfig, "the operator says a tool is both read-only and destructive", nil)
	}
	return nil
}

// compareClaims orders claims by content, so that their order on arrival never
// shows in the answer.
func compareClaims(a, b Claim) int {
	return cmp.Or(
		cmp.Compare(a.Hint, b.Hint), cmp.Compare(a.By, b.By), cmp.Compare(a.Value, b.Value),
		cmp.Compare(b.Confidence, a.Confidence), cmp.Compare(b.Calls, a.Calls),
		cmp.Compare(a.Why, b.Why), cmp.Compare(a.Evidence, b.Evidence),
		cmp.Compare(ValueOf(a.TriedNetwork), ValueOf(b.TriedNetwork)),
	)
}
