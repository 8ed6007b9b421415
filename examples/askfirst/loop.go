package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/agent"
	"github.com/annotary/annotary/prompt"
)

// A turn is what the scripted model says and wants to call.
type turn struct {
	say   string
	calls []agent.Call
}

var script = []turn{
	{"Let me look at your orders.", []agent.Call{
		{Tool: "orders_list", Arguments: []byte(`{"status":"open"}`)},
		{Tool: "orders_list", Arguments: []byte(`{"status":"shipped"}`)},
	}},
	{"I will note the wish and cancel A-17.", []agent.Call{
		{Tool: "note_add", Arguments: []byte(`{"id":"A-17","text":"wants to cancel"}`)},
		{Tool: "order_cancel", Arguments: []byte(`{"id":"A-17"}`)},
	}},
	{"This is where it stands now.", []agent.Call{
		{Tool: "orders_list", Arguments: []byte(`{"status":"open"}`)},
		{Tool: "orders_list", Arguments: []byte(`{"status":"cancelled"}`)},
	}},
}

// A loop is one conversation.
type loop struct {
	session *mcp.ClientSession
	tools   []annotary.Entry
	rules   annotary.Rules
	seen    annotary.Label
	yes     map[string]bool // tools with a yes for this conversation (ask_once)
	in      *bufio.Reader
	out     io.Writer
}

// run starts the server and plays the script against it.
func run(ctx context.Context, server *exec.Cmd, in io.Reader, out io.Writer) (err error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "askfirst", Version: "1.0.0"}, nil)
	session, err := client.Connect(ctx, &mcp.CommandTransport{Command: server}, nil)
	if err != nil {
		return fmt.Errorf("starting the shop: %w", err)
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	l := &loop{session: session, seen: annotary.CleanLabel(), yes: map[string]bool{}, in: bufio.NewReader(in), out: out}
	if l.rules, err = annotary.PresetRules("careful"); err != nil {
		return err
	}
	if err := l.list(ctx); err != nil {
		return err
	}
	section, err := prompt.Safety(l.tools, l.rules, prompt.Options{})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "(the model's prompt says in ≈ %d tokens what the %d tools do)\n", section.Tokens, len(l.tools))
	for _, t := range script {
		fmt.Fprintf(out, "\nmodel: %s\n", t.say)
		if err := l.play(ctx, t.calls); err != nil {
			return err
		}
	}
	return nil
}

// list fetches the tools. The shop is our own, so its hints are believed.
func (l *loop) list(ctx context.Context) error {
	for t, err := range l.session.Tools(ctx, nil) {
		if err != nil {
			return err
		}
		raw, err := json.Marshal(t)
		if err != nil {
			return err
		}
		parsed, err := annotary.ParseTool(raw)
		if err != nil {
			return err
		}
		known, err := annotary.Resolve(annotary.Known{Claims: parsed.Declared(), Believed: true})
		if err != nil {
			return err
		}
		l.tools = append(l.tools, annotary.Entry{Tool: parsed, Hints: known.Hints})
	}
	return nil
}

// play runs the calls of one turn: group after group, the steps of one group at
// once, nothing without the yes it needs.
func (l *loop) play(ctx context.Context, calls []agent.Call) error {
	steps := agent.Plan(l.tools, l.rules, l.seen, calls)
	for len(steps) > 0 {
		n := 1
		for n < len(steps) && steps[n].Group == steps[0].Group && steps[n].Group > 0 {
			n++
		}
		if err := l.group(ctx, steps[:n]); err != nil {
			return err
		}
		steps = steps[n:]
	}
	return nil
}

func (l *loop) group(ctx context.Context, steps []agent.Step) error {
	refusals := make([]string, len(steps))
	results := make([]*mcp.CallToolResult, len(steps))
	errs := make([]error, len(steps))
	var running sync.WaitGroup
	for i, s := range steps {
		if refusals[i] = l.refusal(&s); refusals[i] != "" {
			continue
		}
		running.Go(func() {
			params := &mcp.CallToolParams{Name: s.Call.Tool, Arguments: json.RawMessage(s.Call.Arguments)}
			results[i], errs[i] = l.session.CallTool(ctx, params)
		})
	}
	running.Wait()
	for i, s := range steps {
		text := refusals[i]
		if text == "" {
			if errs[i] != nil {
				return errs[i]
			}
			var err error
			if text, err = l.deliver(s.Tool, results[i]); err != nil {
				return err
			}
		}
		fmt.Fprintf(l.out, "  %d %s: %s\n", s.Group, s.Call.Tool, text)
	}
	return nil
}

// deliver notes what the conversation has seen and returns what the model reads.
func (l *loop) deliver(tool *annotary.Entry, result *mcp.CallToolResult) (string, error) {
	raw, err := json.Marshal(result)
	if err != nil {
		return "", err
	}
	l.seen = agent.After(l.seen, tool, agent.LabelOf(raw))
	content, err := json.Marshal(result.StructuredContent)
	return string(content), err
}

// refusal asks a person where one must be asked, and says why a step does not
// run, if it does not.
func (l *loop) refusal(s *agent.Step) string {
	switch {
	case s.Verdict == annotary.VerdictDeny:
		return "refused: " + s.Reasons[0].Text
	case !s.Ask() || s.Verdict == annotary.VerdictAskOnce && l.yes[s.Call.Tool]:
		return ""
	}
	fmt.Fprintf(l.out, "  %s [yes/no] ", s.Confirm)
	answer, _ := l.in.ReadString('\n') // at the end of input the answer is no
	answer = strings.TrimSpace(answer)
	fmt.Fprintln(l.out, answer)
	if answer != "yes" && answer != "confirm" {
		return "not done: the user did not say yes"
	}
	l.yes[s.Call.Tool] = s.Verdict == annotary.VerdictAskOnce
	return ""
}
