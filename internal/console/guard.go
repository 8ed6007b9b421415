package console

import (
	"errors"
	"net/http"

	"github.com/annotary/annotary"
)

// What a browser is told when nothing of what it asked for is shown.
var (
	errNothingHere = errors.New("there is nothing here")
	errForeign     = errors.New("this did not come from a page of ours; open the question again and answer there")
	errBadForm     = errors.New("the form could not be read")
	errNoSession   = errors.New("nobody is signed in")
)

// policyHeader is the content policy: our style sheet, our forms, nothing else,
// and nobody may put the page in a frame.
const policyHeader = "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

var securityHeaders = map[string]string{
	"Content-Security-Policy":      policyHeader,
	"X-Frame-Options":              "DENY",
	"X-Content-Type-Options":       "nosniff",
	"Referrer-Policy":              "no-referrer",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Permissions-Policy":           "camera=(), geolocation=(), microphone=()",
	"Cache-Control":                "no-store",
}

// guard is in front of everything: a request for a name that somebody else points
// at this machine is refused, and so is a change that another site asks for.
func (c *Console) guard(next http.Handler) http.Handler {
	next = http.NewCrossOriginProtection().Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range securityHeaders {
			w.Header().Set(name, value)
		}
		if c.secure {
			w.Header().Set("Strict-Transport-Security", "max-age=31536000")
		}
		if !c.hosts[r.Host] {
			http.Error(w, "this page is not served under that name", http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// fail shows what went wrong. Who is not signed in learns only that.
func (c *Console) fail(w http.ResponseWriter, r *http.Request, err error) {
	v := notice{Title: "It did not work", Text: err.Error()}
	if e, ok := errors.AsType[*annotary.Error](err); ok {
		v.Hint = e.Hint
	}
	status := http.StatusInternalServerError
	switch code := annotary.CodeOf(err); {
	case errors.Is(err, errNoSession):
		if c.Login != nil && r.Method == http.MethodGet {
			c.Login.begin(w, r, c)
			return
		}
		status, v = http.StatusUnauthorized, notice{
			Title: "Please sign in", Text: "Nothing is shown to whoever has only a link.",
			Command: "annotary approvals open", Hint: "Run this on the machine of the gateway: it opens this page, signed in.",
		}
	case errors.Is(err, errNothingHere) || code == annotary.CodeUnknownApproval:
		status, v = http.StatusNotFound, notice{
			Title: "There is no such question", Text: "It may have been answered long ago, or it is not yours to see.", Next: "/approvals",
		}
	case errors.Is(err, errForeign):
		status = http.StatusForbidden
	case errors.Is(err, errBadForm), code == annotary.CodeInvalid, code == annotary.CodeScopeTooWide:
		status = http.StatusBadRequest
	case code == annotary.CodeNotApprover:
		status = http.StatusForbidden
	case code == annotary.CodeAnswered, code == annotary.CodeGrantDefinition:
		status = http.StatusConflict
	case code == annotary.CodeStore:
		status = http.StatusServiceUnavailable
	default:
		c.Log.Error("a page could not be shown", "path", r.URL.Path, "error", err)
	}
	w.WriteHeader(status)
	render(w, "notice.html", page{Title: v.Title, Notice: &v})
}
