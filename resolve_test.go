package annotary_test

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/annotary/annotary"
)

// say makes a claim; confident and well founded unless the test changes it.
func say(n annotary.HintName, v annotary.Value, by annotary.Source) annotary.Claim {
	return annotary.Claim{Hint: n, Value: v, By: by, Why: "said by " + by.String(), Confidence: 1, Calls: 5}
}

func unsure(c annotary.Claim) annotary.Claim { c.Confidence = 0.6; return c }

func TestResolveRows(t *testing.T) {
	const (
		ro = annotary.ReadOnly
		de = annotary.Destructive
	)
	observed := say(ro, annotary.No, annotary.FromObserved)
	observed.Evidence = "run-7"
	answer := say(ro, annotary.Yes, annotary.FromOperator)
	answer.Evidence = "run-7"
	fewCalls := say(ro, annotary.Yes, annotary.FromVerified)
	fewCalls.Calls = 4
	network := say(ro, annotary.Yes, annotary.FromVerified)
	network.TriedNetwork = true

	for _, tt := range []struct {
		name     string
		claims   []annotary.Claim
		believed bool
		confined annotary.Confinement
		want     annotary.Value
		from     annotary.Source
	}{
		{name: "nobody-spoke", want: annotary.No, from: annotary.FromDefault},
		{name: "observed-beats-operator", want: annotary.No, from: annotary.FromObserved,
			claims: []annotary.Claim{observed, say(ro, annotary.Yes, annotary.FromOperator)}},
		{name: "operator-who-names-the-evidence-wins", want: annotary.Yes, from: annotary.FromOperator,
			claims: []annotary.Claim{observed, answer}},
		{name: "operator-beats-declared", want: annotary.Yes, from: annotary.FromOperator,
			claims: []annotary.Claim{say(ro, annotary.No, annotary.FromDeclared), say(ro, annotary.Yes, annotary.FromOperator)}},
		{name: "confined-beats-declared", want: annotary.Yes, from: annotary.FromConfined,
			confined: annotary.Confinement{NoWrite: true, NoNetwork: true},
			claims:   []annotary.Claim{say(ro, annotary.No, annotary.FromDeclared)}},
		{name: "no-write-alone-vouches-nothing", want: annotary.No, from: annotary.FromDefault,
			confined: annotary.Confinement{NoWrite: true}},
		{name: "declared-dangerous-beats-verified", want: annotary.No, from: annotary.FromDeclared,
			claims: []annotary.Claim{say(ro, annotary.No, annotary.FromDeclared), say(ro, annotary.Yes, annotary.FromVerified)}},
		{name: "contradiction-beats-verified", want: annotary.No, from: annotary.FromDerived,
			claims: []annotary.Claim{say(ro, annotary.No, annotary.FromDerived), say(ro, annotary.Yes, annotary.FromVerified)}},
		{name: "verified-beats-unsure-derivation", want: annotary.Yes, from: annotary.FromVerified,
			claims: []annotary.Claim{unsure(say(ro, annotary.No, annotary.FromDerived)), say(ro, annotary.Yes, annotary.FromVerified)}},
		{name: "four-calls-verify-nothing", want: annotary.No, from: annotary.FromDefault,
			claims: []annotary.Claim{fewCalls}},
		{name: "a-tool-that-talked-is-not-verified-read-only", want: annotary.No, from: annotary.FromDefault,
			claims: []annotary.Claim{network}},
		{name: "believed-server", believed: true, want: annotary.Yes, from: annotary.FromDeclared,
			claims: []annotary.Claim{say(ro, annotary.Yes, annotary.FromDeclared), unsure(say(ro, annotary.No, annotary.FromDerived))}},
		{name: "believed-server-contradicted", believed: true, want: annotary.No, from: annotary.FromDerived,
			claims: []annotary.Claim{say(ro, annotary.Yes, annotary.FromDeclared), say(ro, annotary.No, annotary.FromDerived)}},
		{name: "server-not-believed", want: annotary.No, from: annotary.FromDefault,
			claims: []annotary.Claim{say(ro, annotary.Yes, annotary.FromDeclared)}},
		{name: "derived-safe-never-decides", want: annotary.No, from: annotary.FromDefault,
			claims: []annotary.Claim{say(ro, annotary.Yes, annotary.FromDerived)}},
		{name: "derived-dangerous-is-heard-last", want: annotary.No, from: annotary.FromDerived,
			claims: []annotary.Claim{unsure(say(ro, annotary.No, annotary.FromDerived))}},
		{name: "read-only-falls-to-declared-destruction", believed: true, want: annotary.No, from: annotary.FromDeclared,
			claims: []annotary.Claim{say(ro, annotary.Yes, annotary.FromDeclared), say(de, annotary.Yes, annotary.FromDeclared)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			res, err := annotary.Resolve(annotary.Known{Claims: tt.claims, Believed: tt.believed, Confined: tt.confined})
			if err != nil {
				t.Fatal(err)
			}
			if got := res.Hints[ro]; got.Value != tt.want || got.From != tt.from {
				t.Errorf("readOnly = %v from %v, want %v from %v", got.Value, got.From, tt.want, tt.from)
			}
		})
	}
}

func TestResolveConfinementReach(t *testing.T) {
	res, err := annotary.Resolve(annotary.Known{Confined: annotary.Confinement{NoNetwork: true}})
	if err != nil {
		t.Fatal(err)
	}
	for n := range annotary.HintName(annotary.NumHints) {
		want := n == annotary.OpenWorld || n == annotary.Egress
		if got := res.Hints[n].From == annotary.FromConfined; got != want {
			t.Errorf("no network vouches for %s: %v, want %v", n, got, want)
		}
	}
}

func TestResolveConsistency(t *testing.T) {
	for _, by := range []annotary.Source{annotary.FromOperator, annotary.FromVerified, annotary.FromDeclared} {
		res, err := annotary.Resolve(annotary.Known{
			Believed: true,
			Claims:   []annotary.Claim{say(annotary.ReadOnly, annotary.Yes, by)},
		})
		if err != nil {
			t.Fatal(err)
		}
		h := res.Hints
		if !h.Is(annotary.ReadOnly) || h.Is(annotary.Destructive) || !h.Is(annotary.Idempotent) {
			t.Errorf("read-only by %v is not consistent: %v", by, h)
		}
	}
}

// TestResolveOperatorDestructive: a believed server's read-only does not undo
// what the operator says.
func TestResolveOperatorDestructive(t *testing.T) {
	res, err := annotary.Resolve(annotary.Known{
		Believed: true,
		Claims: []annotary.Claim{
			say(annotary.ReadOnly, annotary.Yes, annotary.FromDeclared),
			say(annotary.Destructive, annotary.Yes, annotary.FromOperator),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if h := res.Hints; h.Is(annotary.ReadOnly) || !h.Is(annotary.Destructive) || h.Class() != annotary.Destroy {
		t.Errorf("got %v, want a destructive tool", h)
	}
}

func TestResolveOperatorContradiction(t *testing.T) {
	for name, claims := range map[string][]annotary.Claim{
		"yes-and-no":            {say(annotary.Egress, annotary.Yes, annotary.FromOperator), say(annotary.Egress, annotary.No, annotary.FromOperator)},
		"read-only-destructive": {say(annotary.ReadOnly, annotary.Yes, annotary.FromOperator), say(annotary.Destructive, annotary.Yes, annotary.FromOperator)},
	} {
		res, err := annotary.Resolve(annotary.Known{Claims: claims})
		if annotary.CodeOf(err) != annotary.CodeConfig {
			t.Errorf("%s: error %v, want code %s", name, err, annotary.CodeConfig)
		}
		if res.Hints != annotary.Pessimistic() {
			t.Errorf("%s: hints are not pessimistic after an error: %v", name, res.Hints)
		}
	}
}

func TestResolveProposalsAndFindings(t *testing.T) {
	declared := say(annotary.ReadOnly, annotary.Yes, annotary.FromDeclared)
	derived := say(annotary.ReadOnly, annotary.No, annotary.FromDerived)
	res, err := annotary.Resolve(annotary.Known{Claims: []annotary.Claim{declared, derived}})
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Proposals) != 1 || res.Proposals[0] != declared {
		t.Errorf("proposals = %v, want the server's claim", res.Proposals)
	}
	if len(res.Findings) != 1 || res.Findings[0].Claim != declared || res.Findings[0].Decided.From != annotary.FromDerived {
		t.Errorf("findings = %v, want the server contradicted by derivation", res.Findings)
	}
}

// knownFrom makes knowledge out of fuzz bytes: one claim from each three.
func knownFrom(data []byte) annotary.Known {
	k := annotary.Known{}
	if len(data) > 0 {
		k.Believed = data[0]&1 != 0
		k.Confined = annotary.Confinement{NoWrite: data[0]&2 != 0, NoNetwork: data[0]&4 != 0}
		data = data[1:]
	}
	for ; len(data) >= 3 && len(k.Claims) < 40; data = data[3:] {
		k.Claims = append(k.Claims, annotary.Claim{
			Hint:         annotary.HintName(data[0] % annotary.NumHints),
			Value:        annotary.Value(data[1] % 3),
			By:           annotary.Source(data[1] / 3 % 7),
			Confidence:   float64(data[2]) / 255,
			Calls:        int(data[2] % 8),
			TriedNetwork: data[2]&8 != 0,
			Evidence:     []string{"", "run-1", "run-2"}[data[2]%3],
		})
	}
	return k
}

// Claims that differ in one field only are told in the same order, whichever
// came first.
func TestResolve_order(t *testing.T) {
	claim := annotary.Claim{Hint: annotary.OpenWorld, Value: annotary.No, By: annotary.FromVerified, Calls: 5}
	tried := claim
	tried.TriedNetwork = true
	operator := annotary.Claim{Hint: annotary.OpenWorld, Value: annotary.Yes, By: annotary.FromOperator}
	one, err := annotary.Resolve(annotary.Known{Claims: []annotary.Claim{operator, claim, tried}})
	if err != nil || len(one.Findings) != 2 {
		t.Fatal(one.Findings, err)
	}
	other, err := annotary.Resolve(annotary.Known{Claims: []annotary.Claim{tried, claim, operator}})
	if err != nil || !reflect.DeepEqual(one, other) {
		t.Errorf("the order of claims shows:\n%v\n%v %v", one, other, err)
	}
}

// FuzzResolve holds the table to its promises: the order of claims never shows,
// the spec's four are always decided and consistent, a safe value is always
// vouched for, and a claim of a server that is not believed (or a derived one)
// never makes any hint safer.
func FuzzResolve(f *testing.F) {
	f.Add([]byte{0, 0, 5, 255, 1, 7, 9}, byte(0), byte(2))
	f.Add([]byte{1, 0, 8, 255, 1, 17, 9, 0, 16, 40}, byte(1), byte(2))
	f.Fuzz(func(t *testing.T, data []byte, hint, value byte) {
		k := knownFrom(data)
		before, err := annotary.Resolve(k)
		if err != nil {
			if before.Hints != annotary.Pessimistic() {
				t.Fatalf("an error left hints behind: %v", before.Hints)
			}
			return
		}
		checkSound(t, before.Hints)
		shuffled := k
		shuffled.Claims = append([]annotary.Claim(nil), k.Claims...)
		rand.New(rand.NewPCG(1, 2)).Shuffle(len(shuffled.Claims), func(i, j int) {
			shuffled.Claims[i], shuffled.Claims[j] = shuffled.Claims[j], shuffled.Claims[i]
		})
		if again, _ := annotary.Resolve(shuffled); !reflect.DeepEqual(again, before) {
			t.Fatalf("the order of claims changed the answer:\n%v\n%v", before, again)
		}
		k.Believed = false
		before, err = annotary.Resolve(k)
		if err != nil {
			return
		}
		for _, by := range []annotary.Source{annotary.FromDeclared, annotary.FromDerived} {
			more := k
			more.Claims = append(append([]annotary.Claim(nil), k.Claims...),
				annotary.Claim{Hint: annotary.HintName(hint % annotary.NumHints), Value: annotary.Value(value % 3), By: by, Confidence: float64(value) / 255})
			after, err := annotary.Resolve(more)
			if err != nil {
				t.Fatalf("a claim of %v made an error: %v", by, err)
			}
			for n := range annotary.HintName(annotary.NumHints) {
				if after.Hints[n].Value == n.Safe() && before.Hints[n].Value != n.Safe() {
					t.Fatalf("a claim of %v (%v) made %s safer: %v, was %v", by, more.Claims[len(more.Claims)-1], n, after.Hints[n], before.Hints[n])
				}
			}
		}
	})
}

func checkSound(t *testing.T, h annotary.Hints) {
	t.Helper()
	for n := range annotary.HintName(annotary.NumHints) {
		if n.InSpec() && h[n].Value == annotary.Unknown {
			t.Fatalf("%s is undecided", n)
		}
		if h.Vouched(n) && (h[n].From == annotary.FromDefault || h[n].From == annotary.FromDerived || h[n].From == annotary.FromObserved) {
			t.Fatalf("%s is safe but only %v says so", n, h[n].From)
		}
	}
	if h.Is(annotary.ReadOnly) && (h.Is(annotary.Destructive) || !h.Is(annotary.Idempotent)) {
		t.Fatalf("read-only but destructive or not idempotent: %v", h)
	}
}
