package console

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/approval"
	"github.com/annotary/annotary/policy"
)

// channel is what answers given here are known as.
const channel = policy.ChannelPage

func (c *Console) home(w http.ResponseWriter, r *http.Request, _ *session) error {
	http.Redirect(w, r, "/approvals", http.StatusSeeOther)
	return nil
}

func (c *Console) style(w http.ResponseWriter, _ *http.Request, _ *session) error {
	w.Header().Set("Content-Type", "text/css; charset=utf-8")
	w.Header().Set("Cache-Control", "max-age=300")
	_, err := w.Write(styleSheet)
	return err
}

// desk is where questions are kept.
func (c *Console) desk() (*approval.Desk, error) {
	if d := c.Gateway.Desk(); d != nil {
		return d, nil
	}
	return nil, errNothingHere
}

// sees reports whether a person may look at a question: who may answer it, and
// whose call it is.
func (c *Console) sees(ctx context.Context, s *session, a *approval.Approval) bool {
	who := s.By.Principal()
	return who.Tenant == a.Requester.Tenant && (s.By.ID() == a.Requester.ID() || c.Gateway.MayAnswer(ctx, a, &who, channel))
}

// list shows what is open, what belongs together beside each other.
func (c *Console) list(w http.ResponseWriter, r *http.Request, s *session) error {
	desk, err := c.desk()
	if err != nil {
		return err
	}
	all, err := desk.List(r.Context(), false)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(a *approval.Approval) bool { return !c.sees(r.Context(), s, a) })
	p := c.page(s, "Questions")
	p.List = [][]question{}
	for _, batch := range approval.Batches(all) {
		p.List = append(p.List, questions(batch))
	}
	slices.Reverse(p.List)
	render(w, "list.html", p)
	return nil
}

// show shows a question, with those that were asked at the same time.
func (c *Console) show(w http.ResponseWriter, r *http.Request, s *session) error {
	a, batch, err := c.find(r.Context(), r.PathValue("id"), s)
	if err != nil {
		return err
	}
	p := c.page(s, a.Prompt.Title)
	who := s.By.Principal()
	if len(batch) > 1 && a.At(time.Now()) == approval.Open && !r.URL.Query().Has("alone") {
		p.Batch = questions(batch)
		p.Title = strconv.Itoa(len(batch)) + " questions"
		p.Scopes = scopesOf(batch...)
		p.May = !slices.ContainsFunc(batch, func(a *approval.Approval) bool { return !c.Gateway.MayAnswer(r.Context(), a, &who, channel) })
		render(w, "batch.html", p)
		return nil
	}
	q := questionOf(a)
	p.Question, p.Scopes = &q, scopesOf(a)
	p.May = c.Gateway.MayAnswer(r.Context(), a, &who, channel)
	p.Together = len(batch)
	if q.State == approval.Open {
		p.Rehearsal = c.rehearsalOf(r.Context(), a.ID)
	}
	render(w, "question.html", p)
	return nil
}

// find returns a question, and all that are open of its batch. Whoever may not see
// it hears what is heard of one that does not exist.
func (c *Console) find(ctx context.Context, id string, s *session) (*approval.Approval, []*approval.Approval, error) {
	desk, err := c.desk()
	if err != nil {
		return nil, nil, err
	}
	a, err := desk.Get(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	if !c.sees(ctx, s, a) {
		return nil, nil, errNothingHere
	}
	open, err := desk.List(ctx, false)
	if err != nil {
		return nil, nil, err
	}
	for _, batch := range approval.Batches(open) {
		if slices.ContainsFunc(batch, func(b *approval.Approval) bool { return b.ID == id }) {
			return a, slices.DeleteFunc(batch, func(b *approval.Approval) bool { return !c.sees(ctx, s, b) }), nil
		}
	}
	return a, nil, nil
}

// answerOne takes the answer to one question.
func (c *Console) answerOne(w http.ResponseWriter, r *http.Request, s *session) error {
	id := r.PathValue("id")
	if _, _, err := c.find(r.Context(), id, s); err != nil {
		return err
	}
	said, err := saidIn(r.PostForm, s)
	if err != nil {
		return err
	}
	if _, err := c.Gateway.Answer(r.Context(), id, said); err != nil {
		return err
	}
	http.Redirect(w, r, "/approvals/"+url.PathEscape(id), http.StatusSeeOther)
	return nil
}

// answerMany takes one answer to several questions of a batch, each of which must
// be ticked.
func (c *Console) answerMany(w http.ResponseWriter, r *http.Request, s *session) error {
	said, err := saidIn(r.PostForm, s)
	if err != nil {
		return err
	}
	ids := r.PostForm["id"]
	if len(ids) == 0 {
		return annotary.E(annotary.CodeInvalid, "none of the calls is ticked", nil).WithHint("go back and tick those you mean")
	}
	var failed []error
	for _, id := range ids {
		if _, _, err := c.find(r.Context(), id, s); err != nil {
			failed = append(failed, err)
		} else if _, err := c.Gateway.Answer(r.Context(), id, said); err != nil {
			failed = append(failed, err)
		}
	}
	if len(failed) > 0 {
		first := failed[0]
		return annotary.E(annotary.CodeOf(first), strconv.Itoa(len(ids)-len(failed))+" of "+strconv.Itoa(len(ids))+" were answered; then: "+first.Error(), errors.Join(failed...))
	}
	http.Redirect(w, r, "/approvals/"+url.PathEscape(ids[0])+"?alone", http.StatusSeeOther)
	return nil
}

// saidIn reads what a person says with a form.
func saidIn(form url.Values, s *session) (approval.Answer, error) {
	said := approval.Answer{By: s.By, Channel: string(channel), Note: approval.Line(form.Get("note"))}
	switch form.Get("answer") {
	case "yes":
		said.Yes = true
	case "no":
		return said, nil
	default:
		return said, errBadForm
	}
	said.Scope.Kind = approval.ScopeKind(form.Get("scope"))
	if said.Scope.Kind == approval.Until {
		hours, err := strconv.Atoi(form.Get("hours"))
		if err != nil || hours < 1 {
			return said, errBadForm
		}
		said.Scope.Until = time.Now().Add(time.Duration(hours) * time.Hour).UTC()
	}
	if said.Scope.Kind == approval.Until || said.Scope.Kind == approval.Unchanged {
		said.Scope.Pattern = patternIn(form)
	}
	return said, nil
}

// patternIn reads which arguments may differ: "let:/pointer" says how, and
// "with:/pointer" how the value must begin.
func patternIn(form url.Values) approval.Pattern {
	p := approval.Pattern{}
	for name, values := range form {
		pointer, ok := strings.CutPrefix(name, "let:")
		if !ok || len(values) != 1 {
			continue
		}
		switch prefix := ""; values[0] {
		case "begins":
			prefix = form.Get("with:" + pointer)
			p[pointer] = approval.Match{Prefix: &prefix}
		case "any":
			p[pointer] = approval.Match{Prefix: &prefix}
		}
	}
	if len(p) == 0 {
		return nil
	}
	return p
}
