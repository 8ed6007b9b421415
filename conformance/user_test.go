package conformance_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestSDKClient uses the gateway as somebody would who has never heard of it:
// with the Go SDK's own client, of each era, over HTTP and over a pipe, once
// direct and once through the gateway. What comes back must be the same.
func TestSDKClient(t *testing.T) {
	for _, era := range eras {
		t.Run(era.revision, func(t *testing.T) {
			t.Parallel()
			server := sdkServer(t, era.stateless)
			web := gateway(t, "{url: "+server+"}")
			pipe := gateway(t, "{command: "+program(t, everythingServer)+"}")

			overHTTP := use(t, era.revision, &mcp.StreamableClientTransport{Endpoint: server})
			for name, url := range map[string]string{"HTTP, server behind HTTP": web.url, "HTTP, server behind a pipe": pipe.url} {
				got := use(t, era.revision, &mcp.StreamableClientTransport{Endpoint: url})
				compare(t, name, overHTTP, got)
			}
			overPipe := use(t, era.revision, command(t, everythingServer))
			for name, file := range map[string]string{"pipe, server behind HTTP": web.config, "pipe, server behind a pipe": pipe.config} {
				got := use(t, era.revision, command(t, annotaryCommand, "stdio", "--server", "everything", "--config", file))
				compare(t, name, overPipe, got)
			}
		})
	}
}

func command(t *testing.T, pkg string, args ...string) mcp.Transport {
	return &mcp.CommandTransport{Command: exec.Command(program(t, pkg), args...)}
}

func compare(t *testing.T, name string, direct, through map[string]string) {
	t.Helper()
	if diff := cmp.Diff(direct, through); diff != "" {
		t.Errorf("%s: (-direct +gateway)\n%s", name, diff)
	}
}

// use does with a server what a host does, and returns what it got.
func use(t *testing.T, revision string, transport mcp.Transport) map[string]string {
	t.Helper()
	var progress atomic.Int32
	client := mcp.NewClient(&mcp.Implementation{Name: "new-user", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"username": "me", "email": "me@example.com", "name": "me"}}, nil
		},
		ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) { progress.Add(1) },
	})
	ctx := t.Context()
	s, err := client.Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if got := s.InitializeResult().ProtocolVersion; got != revision {
		t.Errorf("the session speaks %s, want %s", got, revision)
	}
	saw := map[string]string{}
	note := func(what string, result any, err error) {
		text, _ := json.Marshal(result)
		if wire, ok := errors.AsType[*jsonrpc.Error](err); ok {
			text = fmt.Appendf(nil, "%d %s", wire.Code, wire.Message)
		} else if err != nil {
			text = []byte(err.Error())
		}
		saw[what] = string(text)
	}
	tools, err := s.ListTools(ctx, nil)
	note("tools", tools, err)
	for _, name := range []string{"test_simple_text", "test_error_handling", "test_multiple_content_types", "test_elicitation", "test_input_required_result_elicitation", "nobody"} {
		params := &mcp.CallToolParams{Name: name, Arguments: map[string]any{"message": "who are you?"}}
		result, err := s.CallTool(ctx, params)
		note("call "+name, result, err)
	}
	params := &mcp.CallToolParams{Name: "test_tool_with_progress", Arguments: map[string]any{}}
	params.SetProgressToken("p")
	// The tool answers with its token, which is the gateway's own where several
	// clients share one command.
	if _, err := s.CallTool(ctx, params); err != nil || progress.Load() == 0 {
		t.Errorf("call with progress: %v, progress seen: %d", err, progress.Load())
	}
	resource, err := s.ReadResource(ctx, &mcp.ReadResourceParams{URI: "test://static-text"})
	note("read", resource, err)
	prompt, err := s.GetPrompt(ctx, &mcp.GetPromptParams{Name: "test_simple_prompt"})
	note("prompt", prompt, err)
	return saw
}
