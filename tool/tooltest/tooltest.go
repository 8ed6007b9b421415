// Package tooltest is for the tests of MCP servers: three lines in an author's
// own go test keep hints from being forgotten, from lying, and from changing
// unnoticed.
//
//	func TestTools(t *testing.T) {
//		tooltest.Snapshot(t, newServer(db).All(), "testdata/tools.json")
//		tooltest.Lint(t, newServer(db).All())
//		tooltest.Behaviour(t, func(w *tooltest.Writes) *mcp.Server { return newServer(recording{db, w}).All() }, nil)
//	}
//
// It takes the SDK's server, so servers made without package tool can use it
// too. What it reads is what goes out on the wire.
package tooltest

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/strict"
)

// Tools returns the definitions of a server's tools, as they go out.
func Tools(t testing.TB, srv *mcp.Server) []annotary.Tool {
	t.Helper()
	wire := open(t, srv)
	var tools []annotary.Tool
	params := map[string]any{}
	for {
		result := wire.ask("tools/list", params)
		for _, raw := range strict.Elements(strict.Get(result, "tools")) {
			def, err := annotary.ParseTool(raw)
			if err != nil {
				t.Fatal(err)
			}
			tools = append(tools, def)
		}
		cursor, _ := strict.Text(strict.Get(result, "nextCursor"))
		if cursor == "" {
			return tools
		}
		params = map[string]any{"cursor": cursor}
	}
}

// A wire is a connection to the server without an SDK's types in between, which
// would hide what a definition leaves out.
type wire struct {
	testing.TB
	conn mcp.Connection
	last int
}

func open(t testing.TB, srv *mcp.Server) *wire {
	t.Helper()
	ours, theirs := mcp.NewInMemoryTransports()
	session, err := srv.Connect(context.Background(), theirs, nil)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := ours.Connect(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close()
		_ = session.Close()
	})
	return &wire{TB: t, conn: conn}
}

// ask sends a request and returns its result.
func (w *wire) ask(method string, params map[string]any) strict.Raw {
	w.Helper()
	w.last++
	id, err := jsonrpc.MakeID(float64(w.last))
	if err != nil {
		w.Fatal(err)
	}
	params["_meta"] = map[string]any{
		"io.modelcontextprotocol/protocolVersion":    "2026-07-28",
		"io.modelcontextprotocol/clientCapabilities": map[string]any{},
	}
	raw, err := json.Marshal(params)
	if err != nil {
		w.Fatal(err)
	}
	if err := w.conn.Write(context.Background(), &jsonrpc.Request{ID: id, Method: method, Params: raw}); err != nil {
		w.Fatal(err)
	}
	for {
		msg, err := w.conn.Read(context.Background())
		if err != nil {
			w.Fatal(err)
		}
		res, ok := msg.(*jsonrpc.Response)
		if !ok || res.ID != id {
			continue // a notification
		}
		if res.Error != nil {
			w.Fatalf("%s %v: %v", method, params["name"], res.Error)
		}
		if err := strict.Check(res.Result, strict.Limits{}); err != nil {
			w.Fatalf("%s: %v", method, err)
		}
		return res.Result
	}
}
