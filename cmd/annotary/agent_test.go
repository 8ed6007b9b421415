package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/annotary/annotary/internal/approval"
)

// mcpMethods are all that a client can say, in both eras, and what it might try.
var mcpMethods = []string{
	"ping", "server/discover", "tools/list", "tools/call", "resources/list", "resources/read", "resources/templates/list", "resources/subscribe",
	"resources/unsubscribe", "prompts/list", "prompts/get", "completion/complete", "logging/setLevel", "sampling/createMessage",
	"elicitation/create", "roots/list", "tasks/get", "tasks/list", "tasks/result", "tasks/cancel", "tasks/update",
	"subscriptions/listen", "notifications/cancelled", "notifications/progress", "notifications/roots/list_changed",
	"notifications/elicitation/complete", "approvals/approve", "annotary/approve", "annotary/approval", "v1/approvals",
}

// TestAgentCannotApprove is S8's walk: with a question open, an agent says
// everything MCP lets it say and asks for every address it can think of; the
// question stays open and nothing happens.
func TestAgentCannotApprove(t *testing.T) {
	p := newPantry(t, "")
	link := p.ask("remove_jar", jar{"plum"})
	id := link[strings.LastIndex(link, "/")+1:]
	stillOpen := func(after string) {
		t.Helper()
		c := operator(p.data)
		defer c.Close()
		a, err := c.Approval(t.Context(), id)
		if err != nil || a.State != approval.Open || len(p.done()) != 0 {
			t.Fatalf("after %s it is %s, done %v, %v", after, a.State, p.done(), err)
		}
	}
	client := p.session("pantry")
	said := fmt.Sprintf(`{"id":%q,"approval":%[1]q,"elicitationId":%[1]q,"name":"remove_jar","arguments":{"name":"plum"},"action":"accept","yes":true,"answer":"yes","scope":"once",
		"uri":%[2]q,"content":{"scope":"once"},"inputResponses":{"annotary/approval":{"action":"accept","content":{"scope":"once"}}},"requestState":"annotary1.%[1]s",
		"_meta":{"dev.annotary/approval":%[1]q,"dev.annotary/grant":%[1]q,"annotary/approval":{"action":"accept"}}}`, id, link)
	for i, method := range mcpMethods {
		message := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, i+10, method, said)
		if strings.HasPrefix(method, "notifications/") {
			message = fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":%s}`, method, said)
		}
		if method == "subscriptions/listen" {
			continue // it only listens, for as long as it is let
		}
		client.post(message)
		modern(t, p.url+"/mcp/s/pantry", method, message)
		stillOpen(method)
	}
	for _, answerID := range []string{`"annotary/` + id + `"`, `"` + id + `"`, "1", "2", `"annotary/approval"`} {
		client.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{"scope":"once"}}}`, answerID))
		stillOpen("an answer to " + answerID)
	}
	page := link[:strings.Index(link, "/approvals")]
	for _, base := range []string{p.url, page} {
		for _, path := range []string{
			"/", "/mcp", "/mcp/s/pantry", "/mcp/find", "/v1/status", "/v1/approvals", "/v1/approvals/" + id, "/v1/approvals/" + id + "/answer", "/v1/login",
			"/v1/grants", "/v1/decide", "/v1/reload", "/approvals", "/approvals/" + id, "/approvals/" + id + "?alone", "/answers", "/login", "/login?token=" + id,
			"/login/callback?state=&code=x", "/logout", "/style.css", "/metrics", "/debug/pprof/", "/.well-known/oauth-protected-resource",
		} {
			for _, method := range []string{"GET", "POST", "PUT", "DELETE", "OPTIONS"} {
				body := walk(t, method, base+path, id)
				if base == page && strings.Contains(body, "jar") || strings.Contains(body, "token=") {
					t.Errorf("%s %s shows %s", method, base+path, body)
				}
			}
			stillOpen(base + path)
		}
	}
}

// modern says a message as a client of the modern era does.
func modern(t *testing.T, url, method, message string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "POST", url, strings.NewReader(strings.Replace(message, `"_meta":{`,
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},`, 1)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Mcp-Protocol-Version", "2026-07-28")
	req.Header.Set("Mcp-Method", method)
	req.Header.Set("Mcp-Name", "remove_jar")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 1<<20))
}

// walk asks for an address as a form and returns what it shows.
func walk(t *testing.T, method, url, id string) string {
	t.Helper()
	form := []byte("answer=yes&yes=true&scope=once&id=" + id)
	req, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewReader(form))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	return string(body)
}
