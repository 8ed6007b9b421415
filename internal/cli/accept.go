package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/catalog"
	"github.com/annotary/annotary/internal/config"
	"github.com/annotary/annotary/internal/override"
	"github.com/annotary/annotary/internal/upstream"
	"github.com/annotary/annotary/lint"
)

type acceptOptions struct {
	streams *Streams
	config  string
	what    string // SERVER[/GLOB], empty for all
	class   string
	dryRun  bool
	yes     bool
	json    bool
	said    []override.Word // what the store has already
}

func newAcceptCmd(s *Streams) *cobra.Command {
	o := &acceptOptions{streams: s}
	cmd := &cobra.Command{
		Use:     "accept [SERVER[/GLOB]]",
		GroupID: groupRun,
		Short:   "Vouch for what servers say of their tools",
		Long: "Accept asks the servers of a configuration for their tools, shows the safe hints\n" +
			"that they or their definitions suggest and that nobody vouches for yet, and after\n" +
			"your yes writes them into the configuration as your own word. Comments and\n" +
			"everything else in the file stay as they are. A client's own file is not written:\n" +
			"your word goes beside it, into mcp.annotary.yaml for mcp.json. What contradicts\n" +
			"itself is not proposed. No tool is called. A running gateway is asked to read the\n" +
			"file again.\n" +
			"Where gateways share a store, your word goes there, through a running one.",
		Example: "  annotary accept --class read --dry-run\n" +
			"  annotary accept 'notes/list_*' --yes",
		Args: usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.what = strings.Join(args, "")
			return runAccept(cmd.Context(), o)
		},
	}
	cmd.Flags().StringVar(&o.config, "config", "", "annotary.yaml, or a client's file with mcpServers (default: annotary.yaml here or in your configuration folder)")
	cmd.Flags().StringVar(&o.class, "class", "", "only tools that would become: read, write or destructive")
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "show, and write nothing")
	cmd.Flags().BoolVar(&o.yes, "yes", false, "write without asking")
	cmd.Flags().BoolVar(&o.json, "json", false, "print as JSON; writes only with --yes")
	return cmd
}

// A proposal is what accepting would say of one tool.
type proposal struct {
	Server string          `json:"server"`
	Tool   string          `json:"tool"`
	Class  string          `json:"class"`
	Hints  map[string]bool `json:"hints"`
	By     []string        `json:"by"`
	Why    string          `json:"why"`
	hints  map[annotary.HintName]bool
}

// A hearing is what was heard of the servers that were asked.
type hearing struct {
	Proposals    []proposal `json:"proposals"`
	Contradicted []string   `json:"contradicted"`
	Silent       []string   `json:"silent"` // servers that did not say what tools they have, and why
}

func runAccept(ctx context.Context, o *acceptOptions) error {
	path, c, err := loadConfig(o.config)
	if err != nil {
		return err
	}
	if err := checkClass(o.class); err != nil {
		return err
	}
	home := config.Ours(path)
	if c.State.Shared() {
		home = "the store that the gateways share"
		if o.said, err = o.storedWords(ctx, path); err != nil {
			return err
		}
	}
	heard, err := o.collect(ctx, c, path)
	if err != nil {
		return err
	}
	found := heard.Proposals
	if err := o.show(heard); err != nil || o.dryRun || len(found) == 0 {
		return err
	}
	if ok, err := o.confirm(len(found), home); err != nil {
		return err
	} else if !ok {
		_, err = fmt.Fprintln(o.streams.Err, "nothing was written")
		return err
	}
	if c.State.Shared() {
		return o.say(ctx, path, found)
	}
	if err := write(path, found); err != nil {
		return err
	}
	return o.tellGateway(ctx, path)
}

// tellGateway has a running gateway read what was written. The file is written
// whether one runs or not.
func (o *acceptOptions) tellGateway(ctx context.Context, path string) error {
	operator, err := operatorOf(path)
	if err != nil {
		return err
	}
	defer operator.Close()
	switch err := operator.Reload(ctx); annotary.CodeOf(err) {
	case "":
		_, err = fmt.Fprintln(o.streams.Err, "written; the running gateway has read it")
		return err
	case annotary.CodeConnect:
		_, err = fmt.Fprintln(o.streams.Err, "written; no gateway is running, the next one reads it when it starts")
		return err
	default:
		return annotary.E(annotary.CodeConfig, "written, but the running gateway did not take it: "+err.Error(), err).
			WithHint("it goes on with what it had; mend the configuration and send it SIGHUP")
	}
}

// storedWords asks a running gateway what was said to it already.
func (o *acceptOptions) storedWords(ctx context.Context, path string) ([]override.Word, error) {
	operator, err := operatorOf(path)
	if err != nil {
		return nil, err
	}
	defer operator.Close()
	all, err := operator.Overrides(ctx)
	if err != nil {
		return nil, err
	}
	var words []override.Word
	for _, w := range all.Overrides {
		if w.Stored {
			words = append(words, override.Word{Server: w.Server, Tool: w.Tools, Hints: w.Hints, Believe: w.Believe, Reason: w.Reason, By: w.By, At: w.At})
		}
	}
	return words, nil
}

// say has a running gateway write the proposals into the store that it shares
// with others.
func (o *acceptOptions) say(ctx context.Context, path string, found []proposal) error {
	operator, err := operatorOf(path)
	if err != nil {
		return err
	}
	defer operator.Close()
	words := make([]override.Word, len(found))
	for i, p := range found {
		words[i] = override.Word{Server: p.Server, Tool: p.Tool, Hints: p.Hints, Reason: "accepted: " + p.Why}
		for _, w := range o.said { // a word takes the place of the one before
			if w.Key() == words[i].Key() {
				words[i].Hints = mergedHints(w.Hints, p.Hints)
			}
		}
	}
	if err := operator.Say(ctx, words); err != nil {
		return err
	}
	_, err = fmt.Fprintln(o.streams.Err, "written; every gateway that shares the store goes by it")
	return err
}

func mergedHints(old, more map[string]bool) map[string]bool {
	all := maps.Clone(old)
	maps.Copy(all, more)
	return all
}

// collect asks the servers that are meant and gathers what they propose. One
// that cannot be asked does not keep the others waiting, unless it is the one
// that was named.
func (o *acceptOptions) collect(ctx context.Context, c *config.Config, path string) (hearing, error) {
	h := hearing{Proposals: []proposal{}, Contradicted: []string{}, Silent: []string{}}
	server, glob, _ := strings.Cut(o.what, "/")
	if _, ok := c.Servers[server]; server != "" && !ok {
		return h, annotary.E(annotary.CodeUsage, fmt.Sprintf("there is no server %q in %s", server, path), nil).
			WithHint("write SERVER or SERVER/GLOB, as in the configuration")
	}
	for _, name := range slices.Sorted(maps.Keys(c.Servers)) {
		s := c.Servers[name]
		if s.Disabled || server != "" && server != name {
			continue
		}
		tools, err := o.ask(ctx, name, s)
		if err != nil && (server != "" || ctx.Err() != nil) {
			return h, err
		}
		if err != nil {
			h.Silent = append(h.Silent, err.Error())
		}
		for _, t := range tools {
			if glob == "" || catalog.Match(glob, t.Name) {
				o.add(t, &h)
			}
		}
	}
	return h, nil
}

// ask lists one server's tools with what the configuration says of them.
func (o *acceptOptions) ask(ctx context.Context, name string, s config.Server) ([]*catalog.Tool, error) {
	done := progress(o.streams.Err, "asking "+name+" …")
	listing, err := upstream.List(ctx, targetOf(name, s), upstream.Options{})
	done()
	if err != nil {
		return nil, err
	}
	stances := map[string]catalog.Stance{name: stanceOf(s)}
	heed(stances, map[string]config.Server{name: s}, o.said)
	known, err := catalog.New(name, listing.Tools, stances[name], time.Now())
	if err != nil {
		return nil, err
	}
	return known.Tools, nil
}

func (o *acceptOptions) add(t *catalog.Tool, h *hearing) {
	p, contradicted := propose(t)
	switch {
	case contradicted != "":
		h.Contradicted = append(h.Contradicted, t.Server+"/"+t.Name+": "+contradicted)
	case len(p.hints) > 0 && (o.class == "" || p.Class == o.class):
		h.Proposals = append(h.Proposals, p)
	}
}

// propose gathers the safe values that were said of a tool.
func propose(t *catalog.Tool) (p proposal, contradicted string) {
	p = proposal{Server: t.Server, Tool: t.Name, Hints: map[string]bool{}, hints: map[annotary.HintName]bool{}}
	proposed, contradicted := t.Proposed()
	var claims []annotary.Claim
	for _, c := range proposed {
		p.hints[c.Hint], p.Hints[c.Hint.String()] = c.Value == annotary.Yes, c.Value == annotary.Yes
		if !slices.Contains(p.By, c.By.String()) {
			p.By = append(p.By, c.By.String())
		}
		if p.Why == "" || c.By == annotary.FromDerived && c.Hint == annotary.ReadOnly {
			p.Why = c.Why
		}
		claims = append(claims, annotary.Claim{Hint: c.Hint, Value: c.Value, By: annotary.FromOperator})
	}
	res, err := annotary.Resolve(annotary.Known{Claims: claims})
	if err != nil {
		return p, err.Error()
	}
	p.Class = res.Hints.Class().String()
	return p, contradicted
}

// show prints each tool with what it would count as, then who says so and why.
func (o *acceptOptions) show(h hearing) error {
	if o.json {
		return printJSON(o.streams.Out, h)
	}
	for _, s := range h.Silent {
		fmt.Fprintln(o.streams.Err, "warning: "+lint.Printable(s))
	}
	var text page
	if len(h.Proposals) == 0 {
		text.printf("nothing is waiting for your word\n")
	}
	for _, p := range h.Proposals {
		text.wrapped("", p.Server+"/"+p.Tool+": "+p.wouldBe())
		text.wrapped("    ", strings.Join(p.By, ", ")+": "+p.Why)
	}
	for _, s := range h.Contradicted {
		text.wrapped("", "not proposed: "+s)
	}
	_, err := text.out.WriteTo(o.streams.Out)
	return err
}

// wouldBe is the class and what it does not imply: read, not openWorld.
func (p *proposal) wouldBe() string {
	more := maps.Clone(p.Hints)
	delete(more, annotary.ReadOnly.String())
	delete(more, annotary.Destructive.String())
	if p.Class == annotary.Read.String() {
		delete(more, annotary.Idempotent.String())
		delete(more, annotary.Reversible.String())
	}
	return strings.TrimSuffix(p.Class+", "+hintsText(more), ", ")
}

// confirm asks a person. Without a terminal only --yes is a yes.
func (o *acceptOptions) confirm(n int, path string) (bool, error) {
	if o.yes {
		return true, nil
	}
	if o.json || !isTerminal(o.streams.In) {
		return false, annotary.E(annotary.CodeUsage, "there is nobody to ask", nil).
			WithHint("add --yes to write, or --dry-run to look")
	}
	fmt.Fprintf(o.streams.Err, "Write your word on %d tools into %s? [y/N] ", n, path)
	return saidYes(o.streams.In)
}

// write puts the proposals into the configuration, all or none.
func write(path string, found []proposal) error {
	var edits []config.Edit
	for _, p := range found {
		set := func(key string, value any) {
			edits = append(edits, config.Edit{Path: []string{"servers", p.Server, "overrides", p.Tool, key}, Value: value})
		}
		for n := range annotary.HintName(annotary.NumHints) {
			if v, ok := p.hints[n]; ok {
				set(n.String(), v)
			}
		}
		set("reason", "accepted: "+p.Why)
	}
	return config.SetFile(path, edits...)
}
