package console

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/approval"
)

//go:embed pages/*.html
var files embed.FS

//go:embed pages/style.css
var styleSheet []byte

var templates = template.Must(template.New("").Funcs(template.FuncMap{
	// name is an argument as people would call it.
	"name": func(pointer string) string { return strings.TrimPrefix(pointer, "/") },
	// means says in words what it means that a hint is true.
	"means": func(hint string) string { return meanings[hint] },
}).ParseFS(files, "pages/*.html"))

// A page is what every template gets.
type page struct {
	Title string
	Who   string // who is signed in; empty if nobody is
	CSRF  string
	// May says whether the person may say yes.
	May bool
	// One of these is what the page is about.
	Notice   *notice
	List     [][]question
	Batch    []question
	Question *question
	// Together is how many were asked at the same time, if it is shown alone.
	Together int
	Scopes   scopes
	// Rehearsal is how the call can be tried, nil if it cannot.
	Rehearsal *rehearsal
}

// A notice says one thing.
type notice struct{ Title, Text, Command, Hint, Next string }

func (c *Console) page(s *session, title string) page {
	return page{Title: title, Who: s.By.Subject, CSRF: s.csrf()}
}

// A question is an approval as people see it.
type question struct {
	*approval.Approval
	Ago   string
	State approval.State
	// Said is what became of it, in a sentence.
	Said string
	// Grave are the hints that speak against it.
	Grave []string
}

func questions(as []*approval.Approval) []question {
	out := make([]question, len(as))
	for i, a := range as {
		out[i] = questionOf(a)
	}
	return out
}

func questionOf(a *approval.Approval) question {
	now := time.Now()
	q := question{Approval: a, Ago: ago(now.Sub(a.Asked)), State: a.At(now)}
	q.Said = said(a, q.State)
	for _, h := range a.Prompt.Hints {
		if h.Value == annotary.Yes.String() && slices.Contains(grave, h.Name) {
			q.Grave = append(q.Grave, meanings[h.Name])
		}
	}
	return q
}

// meanings are the hints in words, as what is said of a tool of which they are
// true.
var meanings = map[string]string{
	annotary.ReadOnly.String():    "changes nothing",
	annotary.Destructive.String(): "may delete or overwrite something",
	annotary.Idempotent.String():  "changes nothing more when called again",
	annotary.OpenWorld.String():   "may reach the outside",
	annotary.Sensitive.String():   "may return private data",
	annotary.Untrusted.String():   "may return strangers’ words",
	annotary.Egress.String():      "may send its arguments out",
	annotary.Reversible.String():  "has a way back",
}

// grave are the hints that whoever decides should think of.
var grave = []string{
	annotary.OpenWorld.String(), annotary.Egress.String(), annotary.Sensitive.String(), annotary.Untrusted.String(),
}

// said tells what became of a question.
func said(a *approval.Approval, state approval.State) string {
	by := ""
	if a.Answer != nil {
		by = " by " + a.Answer.By.Subject
	}
	switch state {
	case approval.Approved:
		return "Approved" + by + ", " + scopeWords(&a.Answer.Scope) + ". The call can be made again now."
	case approval.Denied:
		return "Denied" + by + ". The same call is refused for an hour."
	case approval.Spent:
		return "Approved" + by + ", and used."
	case approval.Expired:
		return "It was not answered in time. The call can ask again."
	default:
		return ""
	}
}

func scopeWords(s *approval.Scope) string {
	switch s.Kind {
	case approval.Conversation:
		return "for this tool, whatever the arguments, while the conversation lasts"
	case approval.Until:
		return "until " + s.Until.Local().Format("Monday 15:04")
	case approval.Unchanged:
		return "until the tool changes"
	default:
		return "once"
	}
}

func ago(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s ago", max(0, int(d.Seconds())))
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	default:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	}
}

// scopes are how far a yes may go for some questions.
type scopes struct {
	Usual approval.ScopeKind // the one that is ticked
	Wide  bool               // more than once and the conversation can be given
	// Destination is where a yes for the conversation is held to.
	Destination string
	// Arguments are the values that may be let differ; empty for several questions.
	Arguments []approval.Argument
}

func scopesOf(as ...*approval.Approval) scopes {
	s := scopes{Usual: approval.Conversation, Wide: true}
	for _, a := range as {
		if !approval.AsksOnce(a.Reasons) {
			s.Usual = approval.Once
		}
		if slices.ContainsFunc(a.Reasons, func(r approval.Reason) bool { return r.Code == annotary.CodeTrifecta }) {
			s.Wide, s.Destination = false, a.Destination
		}
	}
	if len(as) == 1 {
		s.Arguments = as[0].Prompt.Arguments
	}
	return s
}

// render shows a page. A template that fails leaves nothing half-shown.
func render(w http.ResponseWriter, name string, p page) {
	var b bytes.Buffer
	if err := templates.ExecuteTemplate(&b, name, p); err != nil {
		http.Error(w, "the page could not be made", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(b.Bytes())
}
