package storetest

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/approval"
)

// RunDesk holds the desk where people answer to its contract, on buckets of one
// kind. Every call of open gives an empty one.
func RunDesk(t *testing.T, open func(t *testing.T) Bucket) {
	for name, test := range map[string]func(*testing.T, *replicas){
		"one-question": oneQuestion,
		"one-answer":   oneAnswer,
		"one-use":      oneUse,
		"denial":       denial,
		"standing":     standing,
		"nonce":        nonce,
		"await":        await,
		"absent":       absentQuestion,
	} {
		t.Run(name, func(t *testing.T) {
			questions, grants := open(t), open(t)
			test(t, &replicas{
				here:  approval.NewDesk(questions, grants, approval.Options{}),
				there: approval.NewDesk(questions, grants, approval.Options{}),
			})
		})
	}
}

// replicas are two desks over one store.
type replicas struct{ here, there *approval.Desk }

// both calls f many times at once, on both replicas.
func (r *replicas) both(f func(*approval.Desk)) {
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() { f([]*approval.Desk{r.here, r.there}[i%2]) })
	}
	wg.Wait()
}

func anybody(*annotary.Principal, string, []annotary.Reason) annotary.Decision {
	return annotary.Decision{Effect: annotary.Allow}
}

var ann = annotary.Principal{Tenant: "default", Subject: "ann"}

func request(args string) *approval.Request {
	return &approval.Request{
		Principal: ann, Conversation: "c", Call: "call",
		About:     approval.About{Server: "s", Method: "tools/call", Tool: "t", Behaviour: "b", Arguments: args},
		Arguments: []byte(args), May: anybody,
		Reasons: approval.ReasonsOf([]annotary.Reason{{Code: annotary.CodeClass, Rule: "r", Ask: annotary.VerdictAsk}}),
	}
}

func yes(scope approval.Scope) approval.Answer {
	return approval.Answer{Yes: true, By: approval.PersonOf(&ann), Channel: "cli", Scope: scope}
}

// oneQuestion: many who ask the same at once open one question.
func oneQuestion(t *testing.T, r *replicas) {
	var ids sync.Map
	r.both(func(d *approval.Desk) {
		a, err := d.Open(t.Context(), request(`{"a":1}`))
		if err != nil {
			t.Error(err)
			return
		}
		ids.Store(a.ID, true)
	})
	var list []*approval.Approval
	eventually(t, "not one question is open", func() bool {
		var err error
		list, err = r.there.List(t.Context(), false)
		return len(list) == 1 && err == nil
	})
	ids.Range(func(id, _ any) bool {
		if id != list[0].ID {
			t.Errorf("somebody was told of %v, open is %s", id, list[0].ID)
		}
		return true
	})
	other := must2(r.here.Open(t.Context(), request(`{"a":2}`)))
	if other.ID == list[0].ID {
		t.Error("other arguments are the same question")
	}
}

// oneAnswer: of many answers one counts.
func oneAnswer(t *testing.T, r *replicas) {
	a := must2(r.here.Open(t.Context(), request(`{}`)))
	var won atomic.Int32
	r.both(func(d *approval.Desk) {
		_, err := d.Answer(t.Context(), a.ID, yes(approval.Scope{Kind: approval.Once}), anybody)
		switch annotary.CodeOf(err) {
		case "":
			won.Add(1)
		case annotary.CodeAnswered:
		default:
			t.Error(err)
		}
	})
	if n := won.Load(); n != 1 {
		t.Errorf("%d answers counted", n)
	}
}

// oneUse: a yes for once is used once, whoever tries, on whichever replica.
func oneUse(t *testing.T, r *replicas) {
	for i := range 5 {
		req := request(fmt.Sprintf(`{"n":%d}`, i))
		a := must2(r.here.Open(t.Context(), req))
		must2(r.there.Answer(t.Context(), a.ID, yes(approval.Scope{Kind: approval.Once}), anybody))
		var used atomic.Int32
		r.both(func(d *approval.Desk) {
			s, err := d.Spend(t.Context(), req)
			if err != nil {
				t.Error(err)
			}
			if s.Yes != nil {
				used.Add(1)
			}
		})
		if n := used.Load(); n != 1 {
			t.Errorf("a yes for once was used %d times", n)
		}
		s := must2(r.here.Spend(t.Context(), req))
		if s.Yes != nil || len(s.Gaps) != 1 || s.Gaps[0].Code != annotary.CodeGrantSpent {
			t.Errorf("afterwards stands %+v", s)
		}
		if next := must2(r.here.Open(t.Context(), req)); next.ID == a.ID {
			t.Error("the spent question was asked again")
		}
	}
}

// denial: a no holds for exactly this call, on every replica.
func denial(t *testing.T, r *replicas) {
	a := must2(r.here.Open(t.Context(), request(`{}`)))
	no := approval.Answer{By: approval.PersonOf(&ann), Channel: "cli", Note: "not today"}
	must2(r.here.Answer(t.Context(), a.ID, no, anybody))
	s := must2(r.there.Spend(t.Context(), request(`{}`)))
	if s.Denied == nil || s.Denied.Answer.Note != "not today" || s.Yes != nil {
		t.Errorf("after a no stands %+v", s)
	}
	if s := must2(r.there.Spend(t.Context(), request(`{"a":1}`))); s.Denied != nil || s.Yes != nil {
		t.Errorf("for other arguments stands %+v", s)
	}
}

// standing: a wider yes covers what its scope says until it is revoked.
func standing(t *testing.T, r *replicas) {
	a := must2(r.here.Open(t.Context(), request(`{"repo":"x"}`)))
	must2(r.here.Answer(t.Context(), a.ID, yes(approval.Scope{Kind: approval.Until, Until: time.Now().Add(time.Hour)}), anybody))
	for range 3 {
		s := must2(r.there.Spend(t.Context(), request(`{"repo":"x"}`)))
		if s.Yes == nil || s.Yes.Grant != a.ID {
			t.Fatalf("stands %+v", s)
		}
	}
	if s := must2(r.there.Spend(t.Context(), request(`{"repo":"y"}`))); s.Yes != nil || s.Gaps[0].Code != annotary.CodeGrantArguments {
		t.Errorf("for another repository stands %+v", s)
	}
	// A list is read, and a read may be out of date.
	eventually(t, "what was granted is not listed", func() bool {
		grants := must2(r.there.Grants(t.Context(), false))
		return len(grants) == 1 && grants[0].ID == a.ID
	})
	if err := r.there.Revoke(t.Context(), a.ID); err != nil {
		t.Fatal(err)
	}
	s := must2(r.here.Spend(t.Context(), request(`{"repo":"x"}`)))
	if s.Yes != nil || len(s.Gaps) != 1 || s.Gaps[0].Code != annotary.CodeGrantRevoked {
		t.Errorf("revoked, stands %+v", s)
	}
	eventually(t, "what was revoked is still listed", func() bool { return len(must2(r.here.Grants(t.Context(), false))) == 0 })
}

func nonce(t *testing.T, r *replicas) {
	var first atomic.Int32
	r.both(func(d *approval.Desk) {
		ok, err := d.Consume(t.Context(), "n")
		if err != nil {
			t.Error(err)
		}
		if ok {
			first.Add(1)
		}
	})
	if n := first.Load(); n != 1 {
		t.Errorf("%d were the first", n)
	}
}

// await: who waits learns of an answer, from here or there.
func await(t *testing.T, r *replicas) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for i, answering := range []*approval.Desk{r.here, r.there} {
		a := must2(r.here.Open(ctx, request(fmt.Sprint(i))))
		got := make(chan *approval.Approval, 1)
		go func() { got <- must2(r.here.Await(ctx, a.ID)) }()
		must2(answering.Answer(ctx, a.ID, yes(approval.Scope{Kind: approval.Once}), anybody))
		if a := <-got; a.State != approval.Approved {
			t.Errorf("waited for %s", a.State)
		}
	}
	a := must2(r.here.Open(ctx, request(`"never"`)))
	short, stop := context.WithTimeout(ctx, 50*time.Millisecond)
	defer stop()
	if a := must2(r.here.Await(short, a.ID)); a.State != approval.Open {
		t.Errorf("it is %s", a.State)
	}
}

func absentQuestion(t *testing.T, r *replicas) {
	if _, err := r.here.Answer(t.Context(), "nobody", yes(approval.Scope{}), anybody); annotary.CodeOf(err) != annotary.CodeUnknownApproval {
		t.Errorf("answering nothing: %v", err)
	}
	if err := r.here.Revoke(t.Context(), "nobody"); annotary.CodeOf(err) != annotary.CodeUnknownApproval {
		t.Errorf("revoking nothing: %v", err)
	}
}

// must2 is for what cannot fail in a test that goes well.
func must2[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
