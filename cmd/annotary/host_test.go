package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// host is a client made with the official SDK, as its own process:
//
//	host URL TOOL ARGUMENTS
//
// It prints every question it is asked, answers ANSWER (accept, decline or cancel;
// without it, it cannot be asked) once the file UNTIL exists, and prints the result
// and how long it took. ERA is the protocol version it speaks.
func host() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: host URL TOOL ARGUMENTS")
		os.Exit(2)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	opts := &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}}
	if answer := os.Getenv("ANSWER"); answer != "" {
		opts.ElicitationHandler = func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			first, _, _ := strings.Cut(r.Params.Message, "\n")
			fmt.Printf("asked (%s): %s\n", r.Params.Mode, first)
			for pause := os.Getenv("UNTIL"); pause != ""; time.Sleep(20 * time.Millisecond) {
				if _, err := os.Stat(pause); err == nil {
					break
				}
			}
			return &mcp.ElicitResult{Action: answer, Content: map[string]any{}}, nil
		}
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "host", Version: "1"}, opts)
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: os.Args[1]}, &mcp.ClientSessionOptions{ProtocolVersion: os.Getenv("ERA")})
	check(err)
	began := time.Now()
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: os.Args[2], Arguments: json.RawMessage(os.Args[3])})
	check(err)
	for _, c := range result.Content {
		if text, ok := c.(*mcp.TextContent); ok {
			fmt.Printf("error=%v %s\n", result.IsError, text.Text)
		}
	}
	if took := time.Since(began); took < time.Second {
		fmt.Println("in less than a second")
	} else {
		fmt.Println("in", took)
	}
	check(session.Close())
	os.Exit(0)
}
