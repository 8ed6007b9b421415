package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/gateway"
	"github.com/annotary/annotary/internal/upstream"
)

// survey asks the servers for their tools and says what waits for the operator:
// tools to accept, and words about tools that do not exist. Calls do not wait for
// it, and a server that does not answer stops nothing.
func (d *daemon) survey(ctx context.Context) {
	if !d.gateway.Judges() {
		return
	}
	tools, waiting := 0, 0
	for _, s := range d.gateway.Survey(ctx) {
		tools, waiting = tools+s.Tools, waiting+s.Waiting
		if s.Err != nil && ctx.Err() == nil {
			d.log.Warn("a server does not say what tools it has; it is asked again when somebody calls it", "server", s.Server, "error", s.Err)
		}
	}
	if ctx.Err() != nil {
		return
	}
	d.mu.Lock()
	judge := d.judged
	d.mu.Unlock()
	for _, err := range judge.Unmatched(d.gateway.Servers()) {
		d.log.Warn(err.Error())
	}
	if waiting > 0 {
		d.log.Info(fmt.Sprintf("%d of %d tools wait for your word: annotary accept --config %s", waiting, tools, d.path))
	}
}

// inherit gives a new judge what the last one was told by the servers that stay,
// and holds what it says of tools against that. What names nothing is refused
// while the operator looks, not found when it was needed.
func (d *daemon) inherit(next *gateway.Judge, servers []*upstream.Server) error {
	if next == nil || d.judged == nil {
		return nil
	}
	running, byName := d.gateway.Servers(), map[string]*upstream.Server{}
	var stay []string
	for _, s := range servers {
		byName[s.Name] = s
		if running[s.Name] == s {
			stay = append(stay, s.Name)
		}
	}
	if err := next.Inherit(d.judged, stay); err != nil {
		return err
	}
	unmatched := next.Unmatched(byName)
	if len(unmatched) > 0 { // a server may have got the tool since it was asked
		ctx, cancel := context.WithTimeout(context.Background(), startWithin)
		defer cancel()
		next.AskAgain(ctx, byName)
		unmatched = next.Unmatched(byName)
	}
	if err := errors.Join(unmatched...); err != nil {
		return annotary.E(annotary.CodeConfig, err.Error(), err).WithHint("mend the name, or remove what is said of it")
	}
	return nil
}
