package scan

import (
	"slices"
	"strings"

	"github.com/annotary/annotary/internal/clients"
)

// Next is the one command to try after a scan.
type Next struct {
	Command string `json:"command"`
	Why     string `json:"why"`
}

// next chooses what helps most: a server whose word is contradicted, then the
// one that leaves most tools unsaid, then what was not started.
func next(r *Report) Next {
	if worst := worstServer(r.Servers); worst != nil {
		why := worst.Name + " leaves open what its tools do"
		if worst.Contradictions > 0 {
			why = worst.Name + " says of a tool what its definition contradicts"
		}
		return Next{"annotary lint " + typed(worst.args), why}
	}
	if has(r.Servers, NotStarted) != nil {
		return Next{"annotary scan --project", "this project brings servers along that were not started"}
	}
	if s := has(r.Servers, Listed); s != nil {
		return Next{"annotary tools " + typed(s.args), "each tool, and who vouches for what it does"}
	}
	if s := has(r.Servers, Failed); s != nil {
		return Next{"annotary scan --timeout 60s", "a first start may take longer than this one had"}
	}
	return Next{"annotary tools -- npx -y @modelcontextprotocol/server-everything", "that server is made for trying"}
}

// has returns the first server of that status; of listed ones, the first that
// can be typed again.
func has(servers []Server, status Status) *Server {
	for i, s := range servers {
		if s.Status == status && (status != Listed || s.args != nil) {
			return &servers[i]
		}
	}
	return nil
}

// worstServer returns the server most worth linting that can be typed again,
// nil if all say enough.
func worstServer(servers []Server) *Server {
	var worst *Server
	for i := range servers {
		s := &servers[i]
		if s.args == nil || (s.Contradictions == 0 && s.Annotated == s.Tools) {
			continue
		}
		if worst == nil || slices.Compare(s.badness(), worst.badness()) > 0 {
			worst = s
		}
	}
	return worst
}

func (s *Server) badness() []int { return []int{s.Contradictions, s.Tools - s.Annotated} }

// typed writes a target as the commands take it: an address, or -- and words.
func typed(words []string) string {
	if len(words) == 1 && strings.Contains(words[0], "://") {
		return words[0]
	}
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = clients.Quote(w)
	}
	return "-- " + strings.Join(quoted, " ")
}
