package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/testscript"
)

// forgeServer is an MCP server on standard streams that merges pull requests: it
// writes each into the file DEEDS. The file CHANGE, where there is one, holds what
// its definition has gained. With MODERN set it speaks without a handshake, and
// asks once more before it renames.
func forgeServer() {
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var m forgeMessage
		check(json.Unmarshal(lines.Bytes(), &m))
		if m.ID != nil {
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, m.answer())
		}
	}
	os.Exit(0)
}

type forgeMessage struct {
	ID     json.RawMessage
	Method string
	Params struct {
		Name           string
		Arguments      json.RawMessage
		RequestState   string
		InputResponses map[string]struct{ Action string }
	}
}

func (m *forgeMessage) answer() string {
	switch m.Method {
	case "initialize":
		return `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"forge","version":"1"}}`
	case "server/discover":
		if os.Getenv("MODERN") != "" {
			return `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"serverInfo":{"name":"forge","version":"1"},"ttlMs":0,"cacheScope":"public"}`
		}
	case "tools/list":
		return `{"resultType":"complete","ttlMs":0,"cacheScope":"public","tools":[` + mergeTool() +
			`,{"name":"add_label","title":"Add a label","inputSchema":{"type":"object"}},{"name":"rename","title":"Rename","inputSchema":{"type":"object"}}]}`
	case "tools/call":
		if p := &m.Params; p.Name == "rename" && (p.RequestState != "sure" || p.InputResponses["q"].Action != "accept") {
			return `{"resultType":"input_required","requestState":"sure","inputRequests":{"q":{"method":"elicitation/create","params":{"mode":"form","message":"Really?","requestedSchema":{"type":"object","properties":{}}}}}}`
		}
		merge(m.Params.Name + " " + string(m.Params.Arguments))
		return `{"resultType":"complete","content":[{"type":"text","text":"merged"}]}`
	}
	return `{}`
}

func mergeTool() string {
	more, _ := os.ReadFile(os.Getenv("CHANGE")) // there is none at first
	return `{"name":"merge_pull_request","title":"Merge a pull request","description":"Merges for good.","inputSchema":{"type":"object","properties":{"repo":{"type":"string"},"pull_number":{"type":"integer"}` + strings.TrimSpace(string(more)) + `}}}`
}

func merge(deed string) {
	f, err := os.OpenFile(os.Getenv("DEEDS"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	check(err)
	defer f.Close()
	_, err = fmt.Fprintln(f, deed)
	check(err)
}

// pick sets a variable to what the first group of an expression finds in what the
// last command printed: "pick NAME REGEXP".
func pick(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: pick NAME REGEXP")
	}
	found := regexp.MustCompile(args[1]).FindStringSubmatch(ts.ReadFile("stdout"))
	if len(found) != 2 {
		ts.Fatalf("%s is not there", args[1])
	}
	ts.Setenv(args[0], found[1])
}

// columns checks that no line of a file is longer than so many characters:
// "columns N FILE".
func columns(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: columns N FILE")
	}
	limit, err := strconv.Atoi(args[0])
	ts.Check(err)
	for line := range strings.Lines(ts.ReadFile(args[1])) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > limit {
			ts.Fatalf("%d columns: %s", n, line)
		}
	}
}
