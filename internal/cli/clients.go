package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/clients"
)

type clientsOptions struct {
	streams *Streams
	target  *target // nil: what is configured
	only    string
	json    bool
}

func newClientsCmd(s *Streams) *cobra.Command {
	o := clientsOptions{streams: s}
	cmd := &cobra.Command{
		Use:     "clients [TARGET | -- COMMAND [ARG...]]",
		Short:   "See which servers your clients have, and what they do with tools",
		GroupID: groupLook,
		Long: "Clients lists the MCP servers in your configurations of Claude Code, Claude\n" +
			"Desktop, Cursor, VS Code and Codex, and starts none of them. Secrets are not shown.\n\n" +
			"With a target it says what each client does with the tools there: run them\n" +
			"unasked, ask, or block them, and why.\n\n" + targetHelp,
		Example: "  annotary clients\n" +
			"  annotary clients --client codex tools.json",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 || cmd.ArgsLenAtDash() >= 0 {
				t, err := oneTarget(cmd, args)
				if err != nil {
					return err
				}
				o.target = &t
			}
			return runClients(cmd.Context(), o)
		},
	}
	targetFlags(cmd)
	cmd.Flags().StringVar(&o.only, "client", "", "only this client: claude-code, claude-desktop, cursor, vscode or codex")
	cmd.Flags().BoolVar(&o.json, "json", false, "print it as JSON")
	return cmd
}

func runClients(ctx context.Context, o clientsOptions) error {
	ids := clients.All
	if o.only != "" {
		if ids = []clients.ID{clients.ID(o.only)}; !slices.Contains(clients.All, ids[0]) {
			return annotary.E(annotary.CodeUsage, fmt.Sprintf("unknown client %q", o.only), nil).
				WithHint("use claude-code, claude-desktop, cursor, vscode or codex")
		}
	}
	if o.target == nil {
		return listClients(o, ids)
	}
	listing, err := o.target.load(ctx, o.streams)
	if err != nil {
		return err
	}
	cases := hostCases(listing.tools, ids)
	if o.json {
		return printJSON(o.streams.Out, map[string]any{"hostFacts": clients.HostFacts, "cases": cases})
	}
	return printCases(o.streams.Out, cases)
}

// configured is one client as the JSON contract of this command has it.
type configured struct {
	Client  clients.ID         `json:"client"`
	Name    string             `json:"name"`
	Files   []clients.File     `json:"files"`
	Servers []configuredServer `json:"servers"`
}

type configuredServer struct {
	Name      string            `json:"name"`
	Scope     clients.Scope     `json:"scope"`
	Folder    string            `json:"folder,omitempty"`
	File      string            `json:"file"`
	Transport clients.Transport `json:"transport"`
	Line      string            `json:"line"`
	Env       clients.Vars      `json:"env"`
	Headers   clients.Vars      `json:"headers"`
	Disabled  bool              `json:"disabled"`
	Missing   []string          `json:"missing"`
}

// listClients prints what is configured.
func listClients(o clientsOptions, ids []clients.ID) error {
	place, err := thisPlace()
	if err != nil {
		return err
	}
	found := clients.Find(place)
	list := []configured{}
	for _, id := range ids {
		c := configured{Client: id, Name: id.Name(), Files: []clients.File{}, Servers: []configuredServer{}}
		for _, f := range found.Files {
			if f.Client == id {
				c.Files = append(c.Files, f)
			}
		}
		for i := range found.Servers {
			if s := &found.Servers[i]; s.Client == id {
				c.Servers = append(c.Servers, configuredServer{
					s.Name, s.Scope, s.Folder, s.File, s.Transport, s.Line(), s.Env, s.Launch.Headers, s.Disabled,
					append([]string{}, s.Launch.Missing...),
				})
			}
		}
		if len(c.Files) > 0 {
			list = append(list, c)
		}
	}
	if o.json {
		return printJSON(o.streams.Out, map[string]any{"clients": list})
	}
	return printConfigured(o.streams.Out, list, place.Home)
}

func printConfigured(w io.Writer, list []configured, home string) error {
	p := &page{home: home}
	if len(list) == 0 {
		p.printf("None of the clients I know has a configuration here.\n")
	}
	for i, c := range list {
		if i > 0 {
			p.printf("\n")
		}
		p.printf("%s\n", c.Name)
		for _, s := range c.Servers {
			note := ""
			switch {
			case s.Disabled:
				note = " (switched off)"
			case s.Scope == clients.Project:
				note = " (this project)"
			case s.Folder != "":
				note = " (in " + s.Folder + ")"
			}
			p.item(s.Name, s.Line+note, "")
		}
		for _, f := range c.Files {
			text := f.Path
			if f.Problem != "" {
				text += ": " + f.Problem
			}
			p.wrapped("  from ", p.short(text))
		}
	}
	_, err := w.Write(p.out.Bytes())
	return err
}

// A hostCase is what the clients do with all tools that state the same.
type hostCase struct {
	Tools  []string          `json:"tools"`
	Stated map[string]string `json:"stated"`
	Hosts  []hostVerdict     `json:"hosts"`
}

type hostVerdict struct {
	Client clients.ID `json:"client"`
	Mode   string     `json:"mode"`
	Does   string     `json:"does"`
	Why    string     `json:"why"`
}

// hostCases groups tools by what clients look at, in the order they come.
func hostCases(tools []annotary.Tool, ids []clients.ID) []hostCase {
	cases := []hostCase{}
	at := map[string]int{}
	for i := range tools {
		t := &tools[i]
		stated := map[string]string{}
		for n := annotary.ReadOnly; n.InSpec(); n++ {
			if n != annotary.Idempotent { // no client looks at it
				stated[n.Wire()] = t.Stated[n].String()
			}
		}
		key := fmt.Sprint(stated)
		if _, ok := at[key]; !ok {
			at[key] = len(cases)
			cases = append(cases, hostCase{Stated: stated, Hosts: verdicts(t, ids)})
		}
		c := &cases[at[key]]
		c.Tools = append(c.Tools, t.Name)
	}
	return cases
}

func verdicts(t *annotary.Tool, ids []clients.ID) []hostVerdict {
	does := map[annotary.Effect]string{annotary.Allow: "runs", annotary.Ask: "asks", annotary.Deny: "blocked"}
	var out []hostVerdict
	for _, id := range ids {
		for _, h := range clients.HostsOf(id) {
			v := h.Judge(t.Stated, clients.NoRule)
			out = append(out, hostVerdict{id, h.Mode, does[v.Effect], v.Why})
		}
	}
	return out
}

func printCases(w io.Writer, cases []hostCase) error {
	p := &page{}
	for i, c := range cases {
		if i > 0 {
			p.printf("\n")
		}
		p.wrapped(count(len(c.Tools), "tool")+": ", strings.Join(c.Tools, ", "))
		var said []string
		for _, n := range []annotary.HintName{annotary.ReadOnly, annotary.Destructive, annotary.OpenWorld} {
			said = append(said, n.Wire()+" "+c.Stated[n.Wire()])
		}
		p.wrapped("  ", strings.Join(said, ", "))
		for _, h := range c.Hosts {
			lead := "  " + pad(h.Client.Name()+", "+h.Mode, 27) + " " + pad(h.Does, 8) + " "
			p.wrapped(lead, h.Why)
		}
	}
	if len(cases) > 0 {
		p.printf("\nAs the clients come, without rules of your own (looked at in %s).\n", clients.HostFacts)
	}
	_, err := w.Write(p.out.Bytes())
	return err
}
