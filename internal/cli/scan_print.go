package cli

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/annotary/annotary/internal/clients"
	"github.com/annotary/annotary/internal/scan"
)

// shownContradictions is how many are spelled out before the rest is counted.
const shownContradictions = 5

// printScan writes the report for a person, 80 columns wide.
func printScan(w io.Writer, r *scan.Report, place clients.Place) error {
	p := &page{home: place.Home}
	p.headline(r)
	p.servers(r)
	p.warnings(r)
	p.contradictions(r)
	p.unlisted(r)
	p.trifecta(r)
	p.clients(r)
	p.problems(r)
	p.printf("\nTry next (%s):\n  %s\n", r.Next.Why, r.Next.Command)
	_, err := w.Write(p.out.Bytes())
	return err
}

func (p *page) headline(r *scan.Report) {
	s := r.Summary
	if s.Servers == 0 {
		p.printf("No MCP server is configured in any of the clients I know.\n")
		return
	}
	p.printf("%s in %s, %d listed: %s.\n",
		count(s.Servers, "server"), count(s.Clients, "client"), s.Listed, count(s.Tools, "tool"))
	if s.Tools > 0 {
		p.printf("%d of %d tools say what they do (%s). A model reads ≈ %s tokens of them.\n",
			s.Annotated, s.Tools, percent(s.Annotated, s.Tools), thousands(s.Tokens))
	}
	if silent := s.Tools - s.Annotated; silent > 0 {
		p.printf("Of the %d silent, %d can be told from the definition.\n", silent, s.Derived)
	}
}

func (p *page) servers(r *scan.Report) {
	if r.Summary.Listed == 0 {
		return
	}
	const form = "%s %6s %10s %13s %9s  %s\n"
	p.printf("\n"+form, pad("SERVER", 22), "TOOLS", "ANNOTATED", "CONTRADICTED", "≈ TOKENS", "IN")
	for _, s := range r.Servers {
		if s.Status != scan.Listed {
			continue
		}
		name := strings.Join(append([]string{s.Name}, s.AlsoNamed...), ", ")
		p.printf(form, pad(name, 22), strconv.Itoa(s.Tools), percent(s.Annotated, s.Tools),
			orDash(s.Contradictions), thousands(s.Tokens), clientList(s.Clients))
	}
}

func (p *page) warnings(r *scan.Report) {
	first := true
	for _, s := range r.Servers {
		for _, w := range s.Warnings {
			p.section(&first, "Listed with a warning")
			p.item(s.Name, w, "")
		}
	}
}

func (p *page) contradictions(r *scan.Report) {
	if len(r.Contradictions) == 0 {
		return
	}
	p.printf("\nContradicted: a tool says it is safe, its definition says otherwise\n")
	for i, c := range r.Contradictions {
		if i == shownContradictions {
			p.printf("  … and %d more: annotary scan --json\n", len(r.Contradictions)-i)
			break
		}
		text := fmt.Sprintf("says %s is %s; %s", c.Hint, c.Stated, c.Why)
		if len(c.RunsUnasked) > 0 {
			text += ". It can run unasked in " + names(c.RunsUnasked)
		}
		p.item(c.Server+"/"+c.Tool, text, "")
	}
}

func (p *page) unlisted(r *scan.Report) {
	first := true
	for _, s := range r.Servers {
		if s.Status == scan.Listed {
			continue
		}
		p.section(&first, "Not listed")
		problem, hint := s.Problem, s.Hint
		if s.Status == scan.NotStarted {
			problem, hint = problem+"; it would start: "+s.Line+with(s.Env.Names()), "annotary scan --project starts it"
		}
		p.item(s.Name, problem, hint)
	}
}

// with names the variables that an entry sets.
func with(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return " (with " + strings.Join(names, ", ") + ")"
}

func (p *page) trifecta(r *scan.Report) {
	t := r.Trifecta
	if r.Summary.Listed == 0 {
		return
	}
	if len(t.Possible) == 0 {
		p.printf("\nLethal trifecta: not seen. No client has private data, strangers' words and a\nway out together, as far as the definitions tell.\n")
		return
	}
	p.printf("\nLethal trifecta: possible in %s.\n", names(t.Possible))
	p.wrapped("", "A stranger's words in one result can talk a model into sending your data away.")
	p.leg("private data", t.Private, t.Possible)
	p.leg("strangers' words", t.Strangers, t.Possible)
	p.leg("a way out", t.Out, t.Possible)
}

// leg names the servers of the clients that have all three.
func (p *page) leg(name string, legs []scan.Leg, in []clients.ID) {
	var parts []string
	for _, l := range legs {
		if !slices.ContainsFunc(l.Clients, func(id clients.ID) bool { return slices.Contains(in, id) }) {
			continue
		}
		parts = append(parts, fmt.Sprintf("%s (%s)", l.Server, count(len(l.Tools), "tool")))
	}
	p.item(name, strings.Join(parts, ", "), "")
}

func (p *page) clients(r *scan.Report) {
	if r.Summary.Tools == 0 {
		return
	}
	p.printf("\nWhat your clients do with these tools today\n")
	const form = "  %s %s %14s %8s %9s\n"
	p.printf(form, pad("CLIENT", 17), pad("MODE", 18), "RUN UNASKED", "ASK", "BLOCKED")
	for _, c := range r.Clients {
		if c.Tools == 0 {
			continue
		}
		name := c.Name
		for _, m := range c.Modes {
			p.printf(form, pad(name, 17), pad(m.Mode, 18), orDash(m.Runs), orDash(m.Asks), orDash(m.Blocked))
			name = ""
		}
	}
	for _, c := range r.Clients {
		if c.Ruled > 0 {
			p.wrapped("  ", fmt.Sprintf("By your permission rules for %s in %s; else as they come.", count(c.Ruled, "tool"), c.Name))
			return
		}
	}
	p.printf("  As they come, without rules of your own.\n")
}

func (p *page) problems(r *scan.Report) {
	first := true
	for _, f := range r.Files {
		if f.Problem == "" {
			continue
		}
		p.section(&first, "Configurations that cannot be read in full")
		p.item(f.Path, f.Problem, "")
	}
}

func names(ids []clients.ID) string {
	var list []string
	for _, id := range ids {
		list = append(list, id.Name())
	}
	return strings.Join(list, ", ")
}

// clientList names the first client and counts the others.
func clientList(ids []clients.ID) string {
	if len(ids) == 1 {
		return ids[0].Name()
	}
	return fmt.Sprintf("%s +%d", ids[0].Name(), len(ids)-1)
}
