package gateway

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/audit"
	"github.com/annotary/annotary/internal/catalog"
)

// Kill stops what k names, and records who did. It holds even where it could not
// be recorded; the error then says so. The warning says what could not be
// checked.
func (g *Gateway) Kill(ctx context.Context, k Kill, by *annotary.Principal) (warning string, err error) {
	judge, err := g.killing()
	if err != nil {
		return "", err
	}
	if warning, err = g.checkKill(ctx, judge, &k); err != nil {
		return "", err
	}
	k.By, k.Since = by.Subject, judge.now().UTC()
	if err := judge.Kills.Set(ctx, k); err != nil {
		return "", err
	}
	if err := judge.recordAct(ctx, "kill", &k, by); err != nil {
		return "", annotary.E(annotary.CodeStore, k.String()+" is stopped, but that could not be recorded", err).
			WithHint("'annotary kill' lists what is stopped")
	}
	return warning, nil
}

// Lift lets go of a kill. What cannot be recorded is not lifted.
func (g *Gateway) Lift(ctx context.Context, k Kill, by *annotary.Principal) error {
	judge, err := g.killing()
	if err != nil {
		return err
	}
	k.By, k.Since = by.Subject, judge.now().UTC()
	if !slices.ContainsFunc(judge.Kills.List(), func(o Kill) bool { return o.key() == k.key() }) {
		return errNotKilled(&k)
	}
	if err := judge.recordAct(ctx, "lift", &k, by); err != nil {
		return err
	}
	return judge.Kills.Lift(ctx, k)
}

// Kills returns what is stopped, the oldest first.
func (g *Gateway) Kills() ([]Kill, error) {
	judge, err := g.killing()
	if err != nil {
		return nil, err
	}
	return judge.Kills.List(), nil
}

// killing returns what judges calls, if it can stop them.
func (g *Gateway) killing() (*Judge, error) {
	judge := g.judge.Load()
	if judge == nil || judge.Kills == nil {
		return nil, errUnjudged()
	}
	return judge, nil
}

// checkKill refuses a kill of what does not exist: it would stop nothing. A
// server that cannot be asked for its tools is given the benefit of the doubt.
func (g *Gateway) checkKill(ctx context.Context, judge *Judge, k *Kill) (warning string, err error) {
	if k.Server == "" {
		return "", nil
	}
	s, err := g.resolve(k.Server)
	if err != nil {
		return "", err
	}
	defer s.Release()
	if k.Tool == "" {
		return "", nil
	}
	tools, err := judge.tools(ctx, s)
	if err != nil {
		return fmt.Sprintf("%s did not list its tools, so nobody knows whether it has %s", k.Server, k.Tool), nil
	}
	if !slices.ContainsFunc(tools, func(t *catalog.Tool) bool { return catalog.Match(k.Tool, t.Name) }) {
		return "", annotary.E(annotary.CodeInvalid, k.Server+" has no tool "+k.Tool, nil).
			WithHint("in TOOL, * stands for anything; SERVER alone stops all of its tools")
	}
	return "", nil
}

// recordAct writes down what an operator did, durably.
func (j *Judge) recordAct(ctx context.Context, what string, k *Kill, by *annotary.Principal) error {
	e := audit.Entry{
		Kind: audit.Acted, Call: rand.Text(), Time: k.Since, Method: what, Server: k.Server, Tool: k.Tool,
		Target: k.String(), Note: k.Note, Severity: audit.High,
	}
	e.SetPrincipal(by)
	line, err := e.Encode()
	if err != nil {
		return err
	}
	if j.Log == nil {
		return annotary.E(annotary.CodeStore, "nothing can be recorded", errors.New("there is no log"))
	}
	return j.Log.Append(ctx, line)
}
