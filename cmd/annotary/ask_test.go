package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
)

// askTool is a client that servers may ask: ask-tool URL TOOL ARGUMENTS ANSWER
// declares that it samples and elicits, lists the tools, calls one, prints every
// question, answers it, and prints what the call came to.
func askTool() {
	if len(os.Args) != 5 {
		fmt.Fprintln(os.Stderr, "usage: ask-tool URL TOOL ARGUMENTS ANSWER")
		os.Exit(2)
	}
	c := &legacyClient{url: os.Args[1]}
	c.post(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"sampling":{},"elicitation":{}},"clientInfo":{"name":"t","version":"1"}}}`)
	c.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	c.post(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
	call := fmt.Sprintf(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, os.Args[2], os.Args[3])
	req, err := http.NewRequest(http.MethodPost, c.url, bytes.NewBufferString(call))
	check(err)
	req.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Mcp-Session-Id": {c.session}}
	res, err := http.DefaultClient.Do(req)
	check(err)
	defer res.Body.Close()
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		line := strings.TrimPrefix(lines.Text(), "data: ")
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if json.Unmarshal([]byte(line), &m) != nil {
			continue // what is no message: an id, a comment, an empty line
		}
		fmt.Println(line)
		if m.Method != "" && m.ID != nil {
			c.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, os.Args[4]))
		}
	}
	end, err := http.NewRequest(http.MethodDelete, c.url, nil)
	check(err)
	end.Header.Set("Mcp-Session-Id", c.session)
	gone, err := http.DefaultClient.Do(end)
	check(err)
	check(gone.Body.Close())
	os.Exit(0)
}
