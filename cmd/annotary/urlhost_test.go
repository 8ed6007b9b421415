package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// urlHost is a client made with the official SDK that can only open pages: url-host
// URL TOOL ARGUMENTS prints the address it is to open, tells the gateway that it was
// opened, and prints the result. ERA is the protocol version it speaks.
func urlHost() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	client := mcp.NewClient(&mcp.Implementation{Name: "url-host", Version: "1"}, &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{URL: &mcp.URLElicitationCapabilities{}}},
		ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			fmt.Println("open", r.Params.URL)
			return &mcp.ElicitResult{Action: "accept"}, nil
		},
	})
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: os.Args[1]}, &mcp.ClientSessionOptions{ProtocolVersion: os.Getenv("ERA")})
	check(err)
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: os.Args[2], Arguments: json.RawMessage(os.Args[3])})
	check(err)
	raw, err := json.Marshal(result)
	check(err)
	fmt.Println("result", string(raw))
	os.Exit(0)
}

// TestPage_elicited is S1's rung that ends in a browser: a client that can open pages
// is sent to the question, a person approves it there, and the call that waited runs.
func TestPage_elicited(t *testing.T) {
	p, b := newPantry(t, ""), newBrowser(t)
	b.signIn(p.runningGateway)
	client := program(t, "url-host")
	for i, era := range []string{"2025-11-25", ""} {
		cmd := exec.Command(client, p.url+"/mcp/s/pantry", "remove_jar", fmt.Sprintf(`{"name":"jar %d"}`, i))
		cmd.Env, cmd.Stderr = append(os.Environ(), "ERA="+era), testWriter{t}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			line := lines.Text()
			link, asked := strings.CutPrefix(line, "open ")
			switch {
			case asked:
				if linkIn.FindString(link) != link {
					t.Errorf("the client was sent to %s", link)
				}
				b.do("goto", "url", link+"?alone")
				b.do("tab", "to", "Approve")
				b.do("press", "key", "Enter")
				b.do("wait", "text", "Approved by local")
			case !strings.Contains(line, "done"):
				t.Errorf("%q: %s", era, line)
			}
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("%q: %v", era, err)
		}
	}
	if got := p.done(); len(got) != 2 {
		t.Errorf("done: %v", got)
	}
}
