package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
)

// callTool is a small client of the legacy era: call-tool URL TOOL ARGUMENTS
// opens a session, calls the tool and prints the answer as it came, after status
// and challenge where it was not let in. It shows the TOKEN of its environment.
func callTool() {
	ask("usage: call-tool URL TOOL ARGUMENTS", "tools/call", `{"name":%q,"arguments":%s}`)
}

// callMethod does the same with any method: call-method URL METHOD PARAMS.
func callMethod() {
	ask("usage: call-method URL METHOD PARAMS", "", "%s%s")
}

// ask sends what the arguments say; without a method, the first of them is it.
func ask(usage, method, params string) {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, usage)
		os.Exit(2)
	}
	first := os.Args[2]
	if method == "" {
		method, first = first, ""
	}
	c := newLegacyClient(os.Args[1])
	fmt.Println(c.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":%q,"params":`+params+`}`, method, first, os.Args[3])))
	os.Exit(0)
}

// callMany is a client that makes the calls of a file, each "SERVER TOOL
// ARGUMENTS" on a line, one after the other: call-many URL FILE, where the URL
// ends before the server's name. It prints how each ended.
func callMany() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: call-many URL FILE")
		os.Exit(2)
	}
	calls, err := os.ReadFile(os.Args[2])
	check(err)
	for line := range strings.Lines(string(calls)) {
		parts := strings.SplitN(strings.TrimSpace(line), " ", 3)
		c := newLegacyClient(os.Args[1] + parts[0])
		answer := c.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, parts[1], parts[2]))
		fmt.Println(parts[0]+"/"+parts[1], ending(answer))
	}
	os.Exit(0)
}

// callUntil makes a call again and again until the answer holds a text, and
// prints that one: call-until TEXT URL TOOL ARGUMENTS.
func callUntil() {
	if len(os.Args) != 5 {
		fmt.Fprintln(os.Stderr, "usage: call-until TEXT URL TOOL ARGUMENTS")
		os.Exit(2)
	}
	c := newLegacyClient(os.Args[2])
	for range 1000 {
		answer := c.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, os.Args[3], os.Args[4]))
		if strings.Contains(answer, os.Args[1]) {
			fmt.Println(answer)
			os.Exit(0)
		}
	}
	fmt.Fprintln(os.Stderr, "no answer held the text")
	os.Exit(1)
}

// ending says how a call ended.
func ending(answer string) string {
	for _, how := range []string{"approval_required", `"error":`, `"isError":true`} {
		if strings.Contains(answer, how) {
			return "FAILED " + answer
		}
	}
	return "ok"
}

type legacyClient struct {
	url, session string
	refused      bool
}

// newLegacyClient opens a session. One that is not let in says so and ends.
func newLegacyClient(url string) *legacyClient {
	c := &legacyClient{url: url}
	hello := c.post(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	if c.refused {
		fmt.Println(hello)
		os.Exit(0)
	}
	c.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return c
}

func (c *legacyClient) post(body string) string {
	req, err := http.NewRequest(http.MethodPost, c.url, bytes.NewBufferString(body))
	check(err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if c.session != "" {
		req.Header.Set("Mcp-Session-Id", c.session)
	}
	if token := os.Getenv("TOKEN"); token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := http.DefaultClient.Do(req)
	check(err)
	defer res.Body.Close()
	if id := res.Header.Get("Mcp-Session-Id"); id != "" {
		c.session = id
	}
	answer, err := io.ReadAll(res.Body)
	check(err)
	if challenge := res.Header.Get("WWW-Authenticate"); challenge != "" {
		c.refused = true
		return res.Status + " " + challenge + "\n" + string(answer)
	}
	return string(answer)
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
