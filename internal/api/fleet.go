package api

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/approval"
	"github.com/annotary/annotary/internal/identity"
	"github.com/annotary/annotary/policy"
)

// resourcePath is what tokens for the channel are meant for, below its address.
const resourcePath = "/v1"

// A Door is who may come in over the network, and what for.
type Door struct {
	// Identity says who asks. It is asked anew for every request, so that a
	// reload counts.
	Identity func() *identity.Identity
	// MayAct says whether somebody has a role over the gateway.
	MayAct func(who *annotary.Principal, role policy.Role) annotary.Decision
}

// ServeFleet answers on l those who prove who they are and have the role that
// each route names, until the context ends. Pages of browsers are not answered.
func ServeFleet(ctx context.Context, l net.Listener, o Options, d Door) error {
	s := &http.Server{
		Handler:           d.guard(handler(o, d.admit)),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	context.AfterFunc(ctx, func() { _ = s.Close() })
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// guard serves what is public, and refuses pages: a browser would show its
// certificate for any of them.
func (d *Door) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if path, ok := strings.CutPrefix(r.URL.Path, identity.MetadataPath); ok {
			doc := d.Identity().Metadata(path)
			if doc == nil || path != resourcePath {
				http.NotFound(w, r)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(doc) // whoever asked is gone if this fails
			return
		}
		if r.Header.Get("Origin") != "" {
			writeError(w, annotary.E(annotary.CodeDenied, "the operator's channel does not answer pages of browsers", nil))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// approve is the role of who answers questions. It is not held over the gateway:
// policy says for each question who may answer it.
const approve policy.Role = "approve"

// admit says who asks, if they have the role.
func (d *Door) admit(r *http.Request, role policy.Role) (*http.Request, error) {
	who, err := d.Identity().Identify(r, resourcePath)
	if err != nil {
		return nil, err
	}
	if role != approve && d.MayAct(&who, role).Effect != annotary.Allow {
		return nil, annotary.E(annotary.CodeDenied, "this wants the role "+string(role)+" over the gateway, which "+who.Subject+" does not have", nil).
			WithHint("a policy gives it: permit(principal in Group::\"…\", action == Action::\"" + string(role) + "\", resource);")
	}
	return r.WithContext(context.WithValue(r.Context(), fromAfar{}, &who)), nil
}

// fromAfar is the key under which a request carries who made it.
type fromAfar struct{}

// operator is who asks. Whoever may open the socket is the local user.
func operator(r *http.Request) *annotary.Principal {
	if who, ok := r.Context().Value(fromAfar{}).(*annotary.Principal); ok {
		return who
	}
	who := identity.Local()
	return &who
}

// shows reports whether who asks may look at a question: on the socket at all, from
// afar at one's own and at those one may answer.
func (s *server) shows(r *http.Request, a *approval.Approval) bool {
	who, ok := r.Context().Value(fromAfar{}).(*annotary.Principal)
	return !ok || a.Requester.ID() == who.ID() || s.Gateway.MayAnswer(r.Context(), a, who, policy.ChannelCLI)
}

// challenged writes the answer to who could not prove who they are.
func challenged(w http.ResponseWriter, c *identity.Challenge) {
	if c.Status != http.StatusServiceUnavailable {
		w.Header().Set("WWW-Authenticate", c.Header())
	}
	_ = writeJSON(w, c.Status, Failure{
		Code: annotary.CodeDenied, Message: c.Error(), Hint: "put a token or an API key into ANNOTARY_TOKEN",
	})
}
