package gateway

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/catalog"
	"github.com/annotary/annotary/internal/upstream"
	"github.com/annotary/annotary/policy"
)

// A Survey is what one server says of its tools.
type Survey struct {
	Server  string
	Tools   int
	Waiting int // tools of which something safe is said that nobody vouches for
	Err     error
}

// surveying is how many servers are asked at once: each may start a program.
const surveying = 4

// Survey asks every server for its tools. A server that does not answer delays
// no other.
func (g *Gateway) Survey(ctx context.Context) []Survey {
	names := slices.Sorted(maps.Keys(g.Servers()))
	surveys := make([]Survey, len(names))
	places := make(chan struct{}, surveying)
	var all sync.WaitGroup
	for i, name := range names {
		all.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			surveys[i] = g.survey(ctx, name)
		})
	}
	all.Wait()
	return surveys
}

func (g *Gateway) survey(ctx context.Context, name string) Survey {
	server, judge, err := g.judging(name)
	if err != nil {
		return Survey{Server: name, Err: err}
	}
	defer server.Release()
	tools, err := judge.tools(ctx, server)
	s := Survey{Server: name, Tools: len(tools), Err: err}
	for _, t := range tools {
		if claims, contradicted := t.Proposed(); len(claims) > 0 && contradicted == "" {
			s.Waiting++
		}
	}
	return s
}

// Unmatched returns what is said of tools and servers that do not exist: of
// those whose servers have told all their tools. What is said of the others may
// yet come true.
func (j *Judge) Unmatched(servers map[string]*upstream.Server) []error {
	told := map[string]*catalog.Server{}
	for name := range servers {
		if s := j.shelf(name).told(); s != nil {
			told[name] = s
		}
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(told)) {
		stance := j.Stances[name]
		errs = append(errs, stance.Unmatched(told[name])...)
	}
	for _, m := range j.Policies.Mentions() {
		if !mentioned(&m, servers, told) {
			errs = append(errs, fmt.Errorf("%s: the policy %s names %s, and there is no such thing", m.At, m.Rule, m.Text))
		}
	}
	return errs
}

// mentioned reports whether what is named is there, or may yet be.
func mentioned(m *policy.Mention, servers map[string]*upstream.Server, told map[string]*catalog.Server) bool {
	for name := range servers {
		if m.Server != "" && m.Server != name {
			continue
		}
		known := told[name]
		if m.Tool == nil || known == nil ||
			slices.ContainsFunc(known.Tools, func(t *catalog.Tool) bool { return m.Tool(t.Name) }) {
			return true
		}
	}
	return false
}

// AskAgain has the servers that told their tools tell them once more. Those that
// do not answer keep what they told.
func (j *Judge) AskAgain(ctx context.Context, servers map[string]*upstream.Server) {
	var all sync.WaitGroup
	for name, server := range servers {
		s := j.shelf(name)
		if s.told() == nil {
			continue
		}
		all.Go(func() {
			s.turn.Lock()
			defer s.turn.Unlock()
			_, _ = s.ask(ctx, server, j.Stances[name]) // what it told before stands
		})
	}
	all.Wait()
}

// told returns the tools of a server that told all of them, else nil.
func (s *shelf) told() *catalog.Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.whole {
		return nil
	}
	return s.server
}

// Inherit takes over what another judge was told by these servers, so that a
// reload neither asks them again nor forgets them.
func (j *Judge) Inherit(last *Judge, servers []string) error {
	var errs []error
	for _, name := range servers {
		old := last.shelf(name)
		old.mu.Lock()
		defs, order, asked, whole := maps.Clone(old.defs), slices.Clone(old.order), old.asked, old.whole
		old.mu.Unlock()
		if len(order) == 0 {
			continue
		}
		s := j.shelf(name)
		s.mu.Lock()
		s.defs, s.order, s.asked, s.whole = defs, order, asked, whole
		_, err := s.learn(name, nil, j.Stances[name])
		s.mu.Unlock()
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return annotary.E(annotary.CodeConfig, err.Error(), err).WithHint("mend what is said of this tool")
	}
	return nil
}
