package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/annotary/annotary/internal/api"
	"github.com/annotary/annotary/internal/approval"
	"github.com/annotary/annotary/internal/testenv"
)

// TestFlow is S6: forty steps of a real browser server on real pages, with the
// careful preset. The person accepts in bulk what the server says of its reads;
// after that nobody is asked twice about a tool.
func TestFlow(t *testing.T) {
	pages := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<title>Order</title><h1>Order</h1><input id=name><select id=size><option>small<option>large</select>
			<button id=save onclick="document.title='saved';p.textContent='saved '+document.getElementById('name').value">Save</button><p id=p>new</p>`)
	}))
	defer pages.Close()
	out, err := json.Marshal(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	g := startGateway(t, fmt.Sprintf(`preset: careful
page: {listen: "127.0.0.1:0"}
servers:
  browser:
    command: %s
    args: [%s, --headless, --isolated, --no-sandbox, --executable-path, %s, --output-dir, %s, --timeout-action, "60000", --timeout-navigation, "120000"]
    env: {HOME: %[4]s}
`, testenv.Node(t), testenv.NPM(t, "@playwright", "mcp", "cli.js"), testenv.Program(t, "chromium"), out))
	annotary(t, "accept", "browser/*", "--yes", "--config", g.config)

	f := &flow{t: t, g: g, client: g.session("browser"), asked: map[string]int{}, called: map[string]bool{}}
	for i := range 4 {
		f.do("browser_navigate", map[string]any{"url": pages.URL + fmt.Sprintf("/order/%d", i)})
		f.do("browser_snapshot", map[string]any{})
		f.do("browser_type", map[string]any{"target": "#name", "text": fmt.Sprint("ann ", i)})
		f.do("browser_select_option", map[string]any{"target": "#size", "values": []string{"large"}})
		f.do("browser_hover", map[string]any{"target": "#save"})
		f.do("browser_click", map[string]any{"target": "#save"})
		f.do("browser_wait_for", map[string]any{"text": fmt.Sprint("saved ann ", i)})
		f.do("browser_console_messages", map[string]any{"level": "error"})
		f.do("browser_press_key", map[string]any{"key": "End"})
		f.do("browser_find", map[string]any{"text": "saved"})
	}
	asked := 0
	c := operator(g.data)
	defer c.Close()
	for tool := range f.called {
		asked += f.asked[tool]
		why, err := c.Why(t.Context(), api.WhyRequest{Server: "browser", Tool: tool, Arguments: []byte(`{}`)})
		if err != nil {
			t.Fatal(err)
		}
		most := 1
		if why.Class == "read" {
			most = 0
		}
		if f.asked[tool] > most {
			t.Errorf("%s, of class %s, asked %d times", tool, why.Class, f.asked[tool])
		}
	}
	t.Logf("%d steps with %d tools: %d questions", f.steps, len(f.called), asked)
	if f.steps != 40 || asked == 0 {
		t.Errorf("%d steps, %d questions: the flow shows nothing", f.steps, asked)
	}
}

// A flow is an agent at work, and a person who says yes to each tool for the
// conversation.
type flow struct {
	t      *testing.T
	g      *runningGateway
	client *legacyClient
	steps  int
	asked  map[string]int
	called map[string]bool
}

var idIn = regexp.MustCompile(`/approvals/([a-z0-9]+)`)

// do takes one step, however often it must be approved.
func (f *flow) do(tool string, args any) {
	f.t.Helper()
	f.steps++
	f.called[tool] = true
	for {
		answer := f.client.call(f.t, tool, args)
		if !strings.Contains(answer, "approval_required") {
			if strings.Contains(answer, `"isError":true`) || strings.Contains(answer, `"error":{`) {
				f.t.Fatalf("%s: %s", tool, answer)
			}
			return
		}
		if f.asked[tool]++; f.asked[tool] > 5 {
			f.t.Fatalf("%s asks again and again: %s", tool, answer)
		}
		c := operator(f.g.data)
		_, err := c.Answer(f.t.Context(), idIn.FindStringSubmatch(answer)[1], api.AnswerRequest{Yes: true, Scope: approval.Scope{Kind: approval.Conversation}})
		c.Close()
		if err != nil {
			f.t.Fatal(err)
		}
	}
}
