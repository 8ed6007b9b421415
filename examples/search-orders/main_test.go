package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/annotary/annotary/examples/internal/drive"
	"github.com/annotary/annotary/examples/internal/orders"
	"github.com/annotary/annotary/tool/tooltest"
)

func TestMain(m *testing.M) { drive.Main(m, main) }

func TestTools(t *testing.T) {
	tooltest.Snapshot(t, newServer(orders.New(nil)).All(), "testdata/tools.json")
	tooltest.Lint(t, newServer(orders.New(nil)).All())
	tooltest.Behaviour(t, func(w *tooltest.Writes) *mcp.Server { return newServer(orders.New(w.Note)).All() }, nil)
	tooltest.Annotations(t, newServer(orders.New(nil)).All(), tooltest.Intents{Read: []string{"search-orders"}})
}

func TestSearch(t *testing.T) {
	drive.Each(t, func() http.Handler { return newServer(orders.New(nil)).HTTP() }, func(t *testing.T, s *mcp.ClientSession) {
		res := drive.Call(t, s, "search-orders", map[string]any{"query": "ada"})
		if got, want := drive.Text(res), "Found 2 orders."; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		raw, err := json.Marshal(res.StructuredContent)
		want := `{"orders":[{"customer":"Ada Lovelace","id":"o-1","item":"Punched cards","status":"open"},{"customer":"Ada Lovelace","id":"o-3","item":"Brass gears","status":"open"}]}`
		if err != nil || string(raw) != want {
			t.Errorf("got %s (%v), want %s", raw, err, want)
		}
		if view := drive.View(t, s, "ui://orders/view.html"); !strings.Contains(view, "ui/initialize") {
			t.Errorf("the view is no app: %s", view)
		}
	})
}

// TestView shows orders in a browser. What a customer is called stays text.
func TestView(t *testing.T) {
	s := drive.HTTP(t, newServer(orders.New(nil)).HTTP(), drive.Eras[0], nil, nil)
	view := drive.View(t, s, "ui://orders/view.html")
	res := &mcp.CallToolResult{StructuredContent: found{[]order{{"o-1", "<img src=x onerror=alert(1)>", "Gears", "open"}}}}
	got := drive.Render(t, view, res, "")
	for _, want := range []string{"1 orders", "o-1", "<img src=x onerror=alert(1)>", "Gears", "open"} {
		if !strings.Contains(got.Text, want) {
			t.Errorf("the view shows %q, without %q", got.Text, want)
		}
	}
}
