package approval

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/annotary/annotary"
)

// A sheet is all grants of one principal for one tool: one read finds them.
type sheet struct {
	Grants []Grant `json:"grants"`
}

// maxGrants bounds a sheet. The oldest goes first: its owner is asked again.
const maxGrants = 64

func sheetKey(p *Person, about *About) string {
	return "grants/" + p.ID() + "\x00" + p.Client + "/" + about.Server + "\x00" + about.Method + "\x00" + about.Tool
}

// change reads a sheet, has it changed and writes it, again if somebody else
// wrote meanwhile. The function reports whether there is anything to write.
func (d *Desk) change(ctx context.Context, key string, f func(*sheet) bool) error {
	for {
		raw, rev, err := d.grants.Get(ctx, key)
		if err != nil {
			return err
		}
		s := &sheet{}
		if raw != nil {
			if s, err = decode[sheet](raw); err != nil {
				return err
			}
		}
		if !f(s) {
			return nil
		}
		if raw, err = json.Marshal(s); err != nil {
			return err
		}
		if _, err = d.grants.Swap(ctx, key, raw, rev); annotary.CodeOf(err) != annotary.CodeConflict {
			return err
		}
	}
}

// addGrant puts a grant on its sheet, once. Grants that ended longer ago than
// anybody remembers make room.
func (d *Desk) addGrant(ctx context.Context, g Grant) error {
	now := time.Now()
	return d.change(ctx, sheetKey(&g.Principal, &g.About), func(s *sheet) bool {
		if slices.ContainsFunc(s.Grants, func(o Grant) bool { return o.ID == g.ID }) {
			return false
		}
		s.Grants = slices.DeleteFunc(s.Grants, func(o Grant) bool { return !o.Live(now) && now.Sub(o.Given) > Keep })
		s.Grants = append(s.Grants[max(0, len(s.Grants)-maxGrants+1):], g)
		return true
	})
}

// granted finds a grant that covers the call.
func (d *Desk) granted(ctx context.Context, r *Request, now time.Time, use bool) (*Yes, []Gap, error) {
	who := PersonOf(&r.Principal)
	key := sheetKey(&who, &r.About)
	raw, _, err := d.grants.Get(ctx, key)
	if err != nil || raw == nil {
		return nil, nil, err
	}
	s, err := decode[sheet](raw)
	if err != nil {
		return nil, nil, err
	}
	var gaps []Gap
	for i := len(s.Grants) - 1; i >= 0; i-- { // the newest first
		g := &s.Grants[i]
		ok, gap := g.Covers(r, now)
		if !ok {
			gaps = append(gaps, gap)
			continue
		}
		if use {
			if err := d.touch(ctx, key, g, now); err != nil {
				return nil, nil, err
			}
		}
		return yesOf(g), nil, nil
	}
	return nil, gaps, nil
}

func yesOf(g *Grant) *Yes {
	return &Yes{Approval: g.ID, Grant: g.ID, By: g.By, Channel: g.Channel, Answered: g.Answers}
}

// touch keeps a conversation's grant alive, at most once a quarter window.
func (d *Desk) touch(ctx context.Context, key string, g *Grant, now time.Time) error {
	if g.Conversation == "" || now.Sub(g.Used) < IdleWindow/4 {
		return nil
	}
	return d.change(ctx, key, func(s *sheet) bool {
		i := slices.IndexFunc(s.Grants, func(o Grant) bool { return o.ID == g.ID })
		if i < 0 {
			return false
		}
		s.Grants[i].Used = now
		return true
	})
}

// heal puts a grant on its sheet whose writer died between the answer and that,
// and uses it.
func (d *Desk) heal(ctx context.Context, a *Approval, r *Request, now time.Time, gaps *[]Gap) (*Yes, error) {
	g := grantOf(a)
	for _, gap := range *gaps {
		if gap.ID == g.ID { // it is there, and does not cover the call
			return nil, nil
		}
	}
	ok, gap := g.Covers(r, now)
	if !ok {
		*gaps = append(*gaps, gap)
		return nil, nil
	}
	return yesOf(&g), d.addGrant(ctx, g)
}

// Grants returns the standing grants, the oldest first: those alive, or all that
// are remembered.
func (d *Desk) Grants(ctx context.Context, all bool) ([]Grant, error) {
	values, err := d.grants.List(ctx, "grants")
	if err != nil {
		return nil, err
	}
	now := time.Now()
	var out []Grant
	for _, raw := range values {
		s, err := decode[sheet](raw)
		if err != nil {
			return nil, err
		}
		for _, g := range s.Grants {
			if all || g.Live(now) {
				out = append(out, g)
			}
		}
	}
	slices.SortFunc(out, func(x, y Grant) int { return cmp.Or(x.Given.Compare(y.Given), cmp.Compare(x.ID, y.ID)) })
	return out, nil
}

// Revoke ends a grant. It reports CodeUnknownApproval for an id nobody knows.
func (d *Desk) Revoke(ctx context.Context, id string) error {
	grants, err := d.Grants(ctx, true)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(grants, func(g Grant) bool { return g.ID == id })
	if i < 0 {
		return annotary.E(annotary.CodeUnknownApproval, "there is no grant of this id", nil).
			WithHint("'annotary grants list' shows what there is")
	}
	g, now := &grants[i], time.Now().UTC()
	err = d.change(ctx, sheetKey(&g.Principal, &g.About), func(s *sheet) bool {
		for i := range s.Grants {
			if s.Grants[i].ID == id && s.Grants[i].Revoked.IsZero() {
				s.Grants[i].Revoked = now
				return true
			}
		}
		return false
	})
	if err != nil {
		return err
	}
	return d.revokeAnswer(ctx, id, now)
}

// revokeAnswer says of a question that its yes was taken back: its grant may leave
// the sheet for later ones, and is not to be put there again.
func (d *Desk) revokeAnswer(ctx context.Context, id string, now time.Time) error {
	for {
		a, rev, err := d.get(ctx, id)
		if err != nil || a == nil || !a.Revoked.IsZero() {
			return err
		}
		a.Revoked = now
		if _, err = d.put(ctx, a, rev); annotary.CodeOf(err) != annotary.CodeConflict {
			return err
		}
	}
}
