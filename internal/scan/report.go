package scan

import (
	"slices"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/clients"
)

// A Report is what a scan found. Its JSON form is a contract, described in
// docs/scan.md: members are added, never renamed or removed.
type Report struct {
	Summary        Summary         `json:"summary"`
	Servers        []Server        `json:"servers"`
	Contradictions []Contradiction `json:"contradictions"`
	Trifecta       Trifecta        `json:"trifecta"`
	Clients        []Client        `json:"clients"`
	Files          []clients.File  `json:"files"`
	// HostFacts is when the clients' behaviour was last looked at.
	HostFacts string `json:"hostFacts"`
	Next      Next   `json:"next"`
}

// A Summary counts.
type Summary struct {
	Clients        int `json:"clients"`
	Servers        int `json:"servers"`
	Listed         int `json:"listed"`
	Tools          int `json:"tools"`
	Annotated      int `json:"annotated"`
	Derived        int `json:"derived"` // not annotated, but the definition tells
	Contradictions int `json:"contradictions"`
	Tokens         int `json:"tokens"` // estimated
}

// A Server is one distinct server, however many clients name it.
type Server struct {
	Name      string            `json:"name"`
	AlsoNamed []string          `json:"alsoNamed"`
	Clients   []clients.ID      `json:"clients"`
	Scope     clients.Scope     `json:"scope"`
	Files     []string          `json:"files"`
	Transport clients.Transport `json:"transport"`
	// Line is its command or address, without secrets.
	Line string `json:"line"`
	// Env and Headers are names only.
	Env     clients.Vars `json:"env"`
	Headers clients.Vars `json:"headers"`
	Outcome
	Warnings       []string `json:"warnings"`
	Tools          int      `json:"tools"`
	Annotated      int      `json:"annotated"`
	Contradictions int      `json:"contradictions"`
	Tokens         int      `json:"tokens"`

	args []string // to be typed again
}

// A Contradiction is a hint stated as safe that the definition speaks against.
type Contradiction struct {
	Server string         `json:"server"`
	Tool   string         `json:"tool"`
	Hint   string         `json:"hint"`
	Stated annotary.Value `json:"stated"`
	Why    string         `json:"why"`
	// RunsUnasked names the clients that run it unasked in one of their modes.
	RunsUnasked []clients.ID `json:"runsUnasked"`
}

// A Trifecta says which servers supply the legs of an attack that needs all
// three: private data, strangers' words, and a way out. Only what a definition
// gives reason to believe is counted, so silence is no alarm, and no proof.
type Trifecta struct {
	// Possible names the clients whose servers supply all three.
	Possible  []clients.ID `json:"possible"`
	Private   []Leg        `json:"private"`
	Strangers []Leg        `json:"strangers"`
	Out       []Leg        `json:"out"`
}

// A Leg is one server's part.
type Leg struct {
	Server  string       `json:"server"`
	Clients []clients.ID `json:"clients"`
	Tools   []string     `json:"tools"`
}

// A Client is one client and what it does with its tools today.
type Client struct {
	Client  clients.ID `json:"client"`
	Name    string     `json:"name"`
	Servers int        `json:"servers"`
	Listed  int        `json:"listed"`
	Tools   int        `json:"tools"`
	// Ruled counts the tools that a permission rule of the user's speaks of.
	Ruled int    `json:"ruled"`
	Modes []Mode `json:"modes"`
}

// A Mode counts what one mode of a client does.
type Mode struct {
	Mode    string `json:"mode"`
	Default bool   `json:"default"`
	Runs    int    `json:"runs"`
	Asks    int    `json:"asks"`
	Blocked int    `json:"blocked"`
}

// describe says what the entries have in common.
func describe(entries []clients.Server) Server {
	first := &entries[0]
	s := Server{
		Name: first.Name, Scope: clients.Project, Transport: first.Transport, Line: first.Line(),
		Env: first.Env, Headers: first.Launch.Headers,
		AlsoNamed: []string{}, Warnings: []string{},
		args: first.Typed(),
	}
	for _, e := range entries {
		if e.Name != s.Name && !slices.Contains(s.AlsoNamed, e.Name) {
			s.AlsoNamed = append(s.AlsoNamed, e.Name)
		}
		if !slices.Contains(s.Clients, e.Client) {
			s.Clients = append(s.Clients, e.Client)
		}
		if !slices.Contains(s.Files, e.File) {
			s.Files = append(s.Files, e.File)
		}
		if e.Scope == clients.User {
			s.Scope = clients.User
		}
	}
	return s
}

func (s *Server) count(tools []judged) {
	bytes := 0
	for i := range tools {
		t := &tools[i]
		s.Tools++
		bytes += len(t.Raw)
		if annotated(&t.Tool) {
			s.Annotated++
		}
		if t.contradicted != nil {
			s.Contradictions++
		}
	}
	s.Tokens = annotary.Tokens(bytes)
}

func report(found clients.Found, all []surveyed) Report {
	r := Report{
		Servers: []Server{}, Contradictions: []Contradiction{}, Clients: []Client{},
		Files: append([]clients.File{}, found.Files...), HostFacts: clients.HostFacts,
	}
	for i := range all {
		r.add(&all[i], found.Rules)
	}
	for _, id := range clients.All {
		if c, ok := clientReport(id, all, found.Rules); ok || hasFile(found.Files, id) {
			r.Clients = append(r.Clients, c)
			if ok {
				r.Summary.Clients++
			}
		}
	}
	r.Trifecta = trifecta(all)
	r.Next = next(&r)
	return r
}

func (r *Report) add(s *surveyed, rules clients.Rules) {
	r.Servers = append(r.Servers, s.server)
	sum := &r.Summary
	sum.Servers++
	if s.server.Status == Listed {
		sum.Listed++
	}
	sum.Tools += s.server.Tools
	sum.Annotated += s.server.Annotated
	sum.Contradictions += s.server.Contradictions
	sum.Tokens += s.server.Tokens
	for _, t := range s.tools {
		if t.derived {
			sum.Derived++
		}
		if c := t.contradicted; c != nil {
			c.RunsUnasked = s.runsUnasked(&t, rules)
			r.Contradictions = append(r.Contradictions, *c)
		}
	}
}

func hasFile(files []clients.File, id clients.ID) bool {
	return slices.ContainsFunc(files, func(f clients.File) bool { return f.Client == id })
}

// clientReport counts for one client, and reports whether it has a server.
func clientReport(id clients.ID, all []surveyed, rules clients.Rules) (Client, bool) {
	c := Client{Client: id, Name: id.Name(), Modes: []Mode{}}
	hosts := clients.HostsOf(id)
	for _, h := range hosts {
		c.Modes = append(c.Modes, Mode{Mode: h.Mode, Default: h.Default})
	}
	for i := range all {
		s := &all[i]
		entry := s.enabledIn(id)
		if entry == nil {
			continue
		}
		c.Servers++
		if s.server.Status == Listed {
			c.Listed++
		}
		for _, t := range s.tools {
			c.Tools++
			rule := rules.For(id, entry.Name, t.Name)
			if rule != clients.NoRule {
				c.Ruled++
			}
			for m := range hosts {
				c.Modes[m].count(hosts[m].Judge(t.Stated, rule).Effect)
			}
		}
	}
	return c, c.Servers > 0
}

func (m *Mode) count(e annotary.Effect) {
	switch e {
	case annotary.Allow:
		m.Runs++
	case annotary.Ask:
		m.Asks++
	case annotary.Deny:
		m.Blocked++
	}
}

// enabledIn returns the client's entry for the server, nil if it has none that
// is switched on.
func (s *surveyed) enabledIn(id clients.ID) *clients.Server {
	i := slices.IndexFunc(s.entries, func(e clients.Server) bool { return e.Client == id && !e.Disabled })
	if i < 0 {
		return nil
	}
	return &s.entries[i]
}

// runsUnasked names the clients of which some mode runs the tool unasked.
func (s *surveyed) runsUnasked(t *judged, rules clients.Rules) []clients.ID {
	ids := []clients.ID{}
	for _, h := range clients.Hosts {
		entry := s.enabledIn(h.Client)
		if entry == nil || slices.Contains(ids, h.Client) {
			continue
		}
		if h.Judge(t.Stated, rules.For(h.Client, entry.Name, t.Name)).Effect == annotary.Allow {
			ids = append(ids, h.Client)
		}
	}
	return ids
}

func (s *surveyed) enabledClients() []clients.ID {
	return slices.DeleteFunc(slices.Clone(clients.All), func(id clients.ID) bool { return s.enabledIn(id) == nil })
}

// trifecta collects the legs. A conversation lives in one client, so the attack
// is possible where one client has all three.
func trifecta(all []surveyed) Trifecta {
	t := Trifecta{Possible: []clients.ID{}, Private: []Leg{}, Strangers: []Leg{}, Out: []Leg{}}
	legs := []struct {
		hint annotary.HintName
		into *[]Leg
	}{{annotary.Sensitive, &t.Private}, {annotary.Untrusted, &t.Strangers}, {annotary.Egress, &t.Out}}
	has := map[clients.ID]map[annotary.HintName]bool{}
	for _, leg := range legs {
		for i := range all {
			tools := all[i].with(leg.hint)
			if len(tools) == 0 {
				continue
			}
			on := all[i].enabledClients()
			*leg.into = append(*leg.into, Leg{all[i].server.Name, on, tools})
			for _, id := range on {
				if has[id] == nil {
					has[id] = map[annotary.HintName]bool{}
				}
				has[id][leg.hint] = true
			}
		}
	}
	for _, id := range clients.All {
		if len(has[id]) == len(legs) {
			t.Possible = append(t.Possible, id)
		}
	}
	return t
}

// with names the tools for which the hint is known to hold.
func (s *surveyed) with(hint annotary.HintName) []string {
	var names []string
	for _, t := range s.tools {
		if t.hints.Is(hint) {
			names = append(names, t.Name)
		}
	}
	return names
}
