package gateway

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/catalog"
	"github.com/annotary/annotary/internal/upstream"
)

// A shelf is what is known of one server's tools. It learns them from the lists
// that pass to clients, and asks the server itself for a tool it never saw.
type shelf struct {
	// turn is held by who hears from the server, for as long as that takes: what
	// was heard last is what holds.
	turn sync.Mutex

	mu     sync.Mutex               // for a moment, of what follows
	defs   map[string]annotary.Tool // by name, as last sent
	order  []string
	server *catalog.Server
	asked  time.Time // when the server was last asked
	failed error     // why it did not tell then; nil if it did
	whole  bool      // it told all its tools; a list on its way to a client is one page

	known  atomic.Pointer[catalog.Server] // server, for who must not wait
	asking atomic.Bool                    // somebody asks it for the library's sake
}

// askAgain is how long a server is not asked again for a tool that it did not
// have, or for its tools if it did not answer.
const askAgain = 2 * time.Second

func (j *Judge) shelf(server string) *shelf {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.shelves == nil {
		j.shelves = map[string]*shelf{}
	}
	s := j.shelves[server]
	if s == nil {
		s = &shelf{defs: map[string]annotary.Tool{}}
		j.shelves[server] = s
	}
	return s
}

// learn takes in definitions that a server sent and returns its catalogue.
// Nothing is made anew if nothing changed.
func (j *Judge) learn(server string, tools []annotary.Tool) (*catalog.Server, error) {
	s := j.shelf(server)
	s.turn.Lock()
	defer s.turn.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.learn(server, tools, j.Stances[server])
}

func (s *shelf) learn(server string, tools []annotary.Tool, stance catalog.Stance) (*catalog.Server, error) {
	changed := s.server == nil
	for _, t := range tools {
		old, known := s.defs[t.Name]
		if known && string(old.Raw) == string(t.Raw) {
			continue
		}
		if !known {
			s.order = append(s.order, t.Name)
		}
		s.defs[t.Name], changed = t, true
	}
	if !changed {
		return s.server, nil
	}
	all := make([]annotary.Tool, len(s.order))
	for i, name := range s.order {
		all[i] = s.defs[name]
	}
	// What cannot be judged as a whole is not called in part.
	made, err := catalog.New(server, all, stance, time.Now())
	s.server = made
	s.known.Store(made)
	return made, err
}

// tool finds a tool of a server, nil if it has none of that name. Who calls a tool
// that is known does not wait for somebody who asks for another.
func (j *Judge) tool(ctx context.Context, server *upstream.Server, name string) (*catalog.Tool, error) {
	s := j.shelf(server.Name)
	if t := s.find(name); t != nil {
		return t, nil
	}
	s.turn.Lock()
	defer s.turn.Unlock()
	if t := s.find(name); t != nil {
		return t, nil
	}
	if lately, err := s.askedLately(); lately {
		return nil, err
	}
	made, err := s.ask(ctx, server, j.Stances[server.Name])
	if err != nil {
		return nil, err
	}
	return made.Tool(name), nil
}

func (s *shelf) find(name string) *catalog.Tool {
	if known := s.known.Load(); known != nil {
		return known.Tool(name)
	}
	return nil
}

// tools returns all tools of a server that are known, and asks it if none is.
func (j *Judge) tools(ctx context.Context, server *upstream.Server) ([]*catalog.Tool, error) {
	s := j.shelf(server.Name)
	s.turn.Lock()
	defer s.turn.Unlock()
	if known := s.told(); known != nil {
		return known.Tools, nil
	}
	made, err := s.ask(ctx, server, j.Stances[server.Name])
	if err != nil {
		return nil, err
	}
	return made.Tools, nil
}

// askedLately reports whether the server was asked a moment ago, and why it did
// not tell.
func (s *shelf) askedLately() (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Since(s.asked) < askAgain, s.failed
}

// ask has the server list all its tools, and remembers how that went. Who left
// meanwhile has learnt nothing of the server. It must be the caller's turn.
func (s *shelf) ask(ctx context.Context, server *upstream.Server, stance catalog.Stance) (made *catalog.Server, err error) {
	listing, err := upstream.List(ctx, server.Target, upstream.Options{})
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		server.Learn(&listing)
		made, err = s.fill(server.Name, catalog.Firsts(listing.Tools), stance)
	}
	if err == nil || ctx.Err() == nil {
		s.asked, s.failed = time.Now(), err
	}
	return made, err
}

// fill takes in all tools of a server: what it no longer has is not there.
func (s *shelf) fill(server string, tools []annotary.Tool, stance catalog.Stance) (*catalog.Server, error) {
	s.whole = true
	if s.lacks(tools) {
		s.defs, s.order, s.server = map[string]annotary.Tool{}, nil, nil
	}
	return s.learn(server, tools, stance)
}

// lacks reports whether the list lacks a tool that is on the shelf.
func (s *shelf) lacks(tools []annotary.Tool) bool {
	listed := make(map[string]bool, len(tools))
	for _, t := range tools {
		listed[t.Name] = true
	}
	return slices.ContainsFunc(s.order, func(name string) bool { return !listed[name] })
}
