package approval

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/annotary/annotary"
)

// A Bucket is compare-and-set on keys.
type Bucket interface {
	Get(ctx context.Context, key string) (value []byte, revision uint64, err error)
	Swap(ctx context.Context, key string, value []byte, revision uint64) (uint64, error)
	Watch(ctx context.Context, prefix string, ready func(), each func(value []byte, revision uint64)) error
	List(ctx context.Context, prefix string) ([][]byte, error)
}

// Keep is how long the bucket of questions must keep what is written to it: what
// was spent or denied outlives every seal, and an absent id refuses.
const Keep = 30 * 24 * time.Hour

// Options say what a desk goes by. The zero value means the defaults.
type Options struct {
	// Open is how long a question may be answered, and a yes for once be used
	// after it. If zero, an hour; at most a day.
	Open time.Duration
	// Max is how many questions of one requester may be open at a time. If zero,
	// DefaultMax.
	Max int
}

// DefaultOpen is how long a question is open unless told otherwise.
const DefaultOpen = time.Hour

// A Desk keeps questions and answers.
type Desk struct {
	questions Bucket // approvals/ID, asked/BINDING, queues/REQUESTER, nonces/NONCE
	grants    Bucket // grants/PRINCIPAL/SERVER+TOOL
	opts      Options

	mu    sync.Mutex
	bells map[string]*bell // of approvals that are waited for here, by id
}

// NewDesk makes a desk. The bucket of questions may forget what was not written
// for [Keep], that of grants nothing.
func NewDesk(questions, grants Bucket, o Options) *Desk {
	if o.Open == 0 {
		o.Open = DefaultOpen
	}
	if o.Max == 0 {
		o.Max = DefaultMax
	}
	return &Desk{questions: questions, grants: grants, opts: o, bells: map[string]*bell{}}
}

// OpenFor is how long a question is open.
func (d *Desk) OpenFor() time.Duration { return d.opts.Open }

// A Yes is what lets a call happen.
type Yes struct {
	Approval string // the question that was answered
	Grant    string // the grant, where the yes is wider than once
	By       Person
	Channel  string
	Answered []string // the keys of the reasons it answers
}

// A Standing is what stands about a call: at most one of the first three is set.
type Standing struct {
	Yes    *Yes
	Denied *Approval // a no that holds
	Asked  *Approval // the question is open already
	// Gaps are why earlier answers do not count.
	Gaps []Gap
}

// Changed names what is different in the definition since an earlier yes.
func (s *Standing) Changed() []string {
	for _, g := range s.Gaps {
		if g.Code == annotary.CodeGrantDefinition {
			return g.Changed
		}
	}
	return nil
}

// Spend finds out what stands about a call and, if that is a yes, uses it. Of
// all who use a yes for once, one gets it.
func (d *Desk) Spend(ctx context.Context, r *Request) (Standing, error) { return d.stand(ctx, r, true) }

// Look finds out what stands about a call and uses nothing.
func (d *Desk) Look(ctx context.Context, r *Request) (Standing, error) { return d.stand(ctx, r, false) }

func (d *Desk) stand(ctx context.Context, r *Request, spend bool) (Standing, error) {
	now := time.Now()
	var s Standing
	yes, gaps, err := d.granted(ctx, r, now, spend)
	if err != nil || yes != nil {
		return Standing{Yes: yes}, err
	}
	s.Gaps = gaps
	a, rev, err := d.last(ctx, r)
	if err != nil || a == nil {
		return s, err
	}
	switch state := a.At(now); {
	case state == Open && a.asksFor(r):
		s.Asked = a
	case a.denies(now):
		s.Denied = a
	case state == Approved && a.Answer.Scope.Kind == Once:
		if s.Yes, err = d.spendOnce(ctx, a, rev, r, now, spend, &s.Gaps); err != nil {
			return s, err
		}
	case state == Approved:
		s.Yes, err = d.heal(ctx, a, r, now, &s.Gaps)
	case state == Spent:
		s.Gaps = append(s.Gaps, Gap{ID: a.ID, Code: annotary.CodeGrantSpent})
	case state == Expired && a.State == Approved:
		s.Gaps = append(s.Gaps, Gap{ID: a.ID, Code: annotary.CodeGrantExpired})
	}
	return s, err
}

// spendOnce uses a yes for once up, if it covers the call as it is now. Whoever
// loses the race finds it spent.
func (d *Desk) spendOnce(ctx context.Context, a *Approval, rev uint64, r *Request, now time.Time, spend bool, gaps *[]Gap) (*Yes, error) {
	if gap := a.gap(r); gap.Code != "" {
		*gaps = append(*gaps, gap)
		return nil, nil
	}
	yes := &Yes{Approval: a.ID, By: a.Answer.By, Channel: a.Answer.Channel, Answered: keys(a.Reasons)}
	if !spend {
		return yes, nil
	}
	next := *a
	next.State, next.SpentBy, next.SpentAt = Spent, r.Call, &now
	_, err := d.put(ctx, &next, rev)
	if annotary.CodeOf(err) == annotary.CodeConflict {
		*gaps = append(*gaps, Gap{ID: a.ID, Code: annotary.CodeGrantSpent})
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return yes, nil
}

// gap says why a yes for once does not cover the call; the zero Gap if it does.
// Who asked, for what and with which arguments is the same: the question was
// found by them.
func (a *Approval) gap(r *Request) Gap {
	switch {
	case a.About.Behaviour != r.About.Behaviour:
		return Gap{a.ID, annotary.CodeGrantDefinition, changed(a.Prompt.Parts, r.Parts)}
	case a.About != r.About:
		return Gap{ID: a.ID, Code: annotary.CodeGrantArguments}
	case !Answers(keys(a.Reasons), r.Reasons):
		return Gap{ID: a.ID, Code: annotary.CodeGrantReasons}
	case !r.May.allows(&a.Answer.By, a.Answer.Channel, r.Reasons):
		return Gap{ID: a.ID, Code: annotary.CodeGrantApprover}
	}
	return Gap{}
}

// last returns the question that was last asked about exactly this call.
func (d *Desk) last(ctx context.Context, r *Request) (*Approval, uint64, error) {
	raw, _, err := d.questions.Get(ctx, "asked/"+r.Binding())
	if err != nil || raw == nil {
		return nil, 0, err
	}
	return d.get(ctx, string(raw))
}

// get returns an approval and its revision, nil if there is none.
func (d *Desk) get(ctx context.Context, id string) (*Approval, uint64, error) {
	raw, rev, err := d.questions.Get(ctx, "approvals/"+id)
	if err != nil || raw == nil {
		return nil, 0, err
	}
	a, err := decode[Approval](raw)
	return a, rev, err
}

func (d *Desk) put(ctx context.Context, a *Approval, rev uint64) (uint64, error) {
	raw, err := json.Marshal(a)
	if err != nil {
		return 0, err
	}
	return d.questions.Swap(ctx, "approvals/"+a.ID, raw, rev)
}

func decode[T any](raw []byte) (*T, error) {
	v := new(T)
	if err := json.Unmarshal(raw, v); err != nil {
		return nil, annotary.E(annotary.CodeStore, "an answer in the store cannot be read", err)
	}
	return v, nil
}

// Open asks a person about a call. If exactly this is being asked already, it is
// the same question. A requester who has as many open as may be is CodeQuestions.
func (d *Desk) Open(ctx context.Context, r *Request) (*Approval, error) {
	for {
		now := time.Now()
		pointer, pointed, err := d.questions.Get(ctx, "asked/"+r.Binding())
		if err != nil {
			return nil, err
		}
		if pointer != nil {
			old, _, err := d.get(ctx, string(pointer))
			if err != nil {
				return nil, err
			}
			if old != nil && old.At(now) == Open && old.asksFor(r) {
				return old, nil
			}
		}
		a := d.question(r, now)
		if err := d.admit(ctx, a); err != nil {
			return nil, err
		}
		rev, err := d.put(ctx, a, 0)
		if err != nil {
			return nil, err
		}
		_, err = d.questions.Swap(ctx, "asked/"+r.Binding(), []byte(a.ID), pointed)
		switch {
		case err == nil:
			return a, nil
		case annotary.CodeOf(err) != annotary.CodeConflict:
			return nil, err
		}
		a.State = Expired // somebody asked the same at this moment: theirs is the question
		if _, err := d.put(ctx, a, rev); err != nil {
			return nil, err
		}
	}
}

// idLetters of randomness, five bits each, make an id that people can type.
const idLetters = 12

func (d *Desk) question(r *Request, now time.Time) *Approval {
	return &Approval{
		ID: strings.ToLower(rand.Text()[:idLetters]), State: Open, Asked: now.UTC(), Expires: now.Add(d.opts.Open).UTC(),
		Requester: PersonOf(&r.Principal), Conversation: r.Conversation, Call: r.Call, About: r.About,
		Leaves: leavesOf(r.Arguments), Destination: Destination(r.About.Server, r.Arguments),
		Reasons: r.Reasons, Prompt: r.Prompt,
	}
}

// Get returns an approval. An id nobody knows is CodeUnknownApproval.
func (d *Desk) Get(ctx context.Context, id string) (*Approval, error) {
	a, _, err := d.get(ctx, id)
	if err == nil && a == nil {
		err = annotary.E(annotary.CodeUnknownApproval, "there is no approval of this id", nil).
			WithHint("'annotary approvals list' shows what is open")
	}
	return a, err
}

// Answer records what a person says. The first answer counts; may is asked
// whether this person may give it.
func (d *Desk) Answer(ctx context.Context, id string, said Answer, may May) (*Approval, error) {
	for {
		a, rev, err := d.get(ctx, id)
		if err == nil && a == nil {
			_, err = d.Get(ctx, id)
		}
		if err != nil {
			return nil, err
		}
		now := time.Now()
		if state := a.At(now); state != Open {
			return a, annotary.E(annotary.CodeAnswered, "this question is no longer open: it is "+string(state), nil)
		}
		if err := mayAnswer(a, &said, may); err != nil {
			return a, err
		}
		if said.Yes {
			if said.Scope, err = said.Scope.settle(a, now); err != nil {
				return a, err
			}
		}
		said.At = now.UTC()
		next := *a
		next.Answer, next.State = &said, Denied
		if said.Yes {
			next.State, next.Expires = Approved, now.Add(d.opts.Open).UTC()
		}
		_, err = d.put(ctx, &next, rev)
		switch {
		case annotary.CodeOf(err) == annotary.CodeConflict:
			continue // somebody else answered at this moment
		case err != nil:
			return nil, err
		}
		if said.Yes && said.Scope.Kind != Once {
			if err := d.addGrant(ctx, grantOf(&next)); err != nil {
				return nil, err
			}
		}
		d.told(id)
		return &next, nil
	}
}

// mayAnswer: a yes needs who may give it; a no may come from whoever asked, too.
func mayAnswer(a *Approval, said *Answer, may May) error {
	own := said.By.ID() == a.Requester.ID()
	if may.allows(&said.By, said.Channel, a.Reasons) || (!said.Yes && own) {
		return nil
	}
	return annotary.E(annotary.CodeNotApprover, "policy does not let you answer this here", nil).
		WithHint("a policy says who may approve, and through which channel; see docs/approvals.md")
}

// List returns what was asked, the oldest first: only what is open, or all.
func (d *Desk) List(ctx context.Context, all bool) ([]*Approval, error) {
	values, err := d.questions.List(ctx, "approvals")
	if err != nil {
		return nil, err
	}
	now := time.Now()
	out := make([]*Approval, 0, len(values))
	for _, raw := range values {
		a, err := decode[Approval](raw)
		if err != nil {
			return nil, err
		}
		if all || a.At(now) == Open {
			out = append(out, a)
		}
	}
	Sort(out)
	return out, nil
}

// Watch calls each for every approval, first those that are there, then, after
// ready, each whenever it changes, until the context ends.
func (d *Desk) Watch(ctx context.Context, ready func(), each func(*Approval)) error {
	return d.questions.Watch(ctx, "approvals", ready, func(raw []byte, _ uint64) {
		if a, err := decode[Approval](raw); err == nil {
			each(a)
		}
	})
}

// Consume uses a nonce up and reports whether it was the first to.
func (d *Desk) Consume(ctx context.Context, nonce string) (bool, error) {
	_, err := d.questions.Swap(ctx, "nonces/"+nonce, []byte("1"), 0)
	if annotary.CodeOf(err) == annotary.CodeConflict {
		return false, nil
	}
	return err == nil, err
}
