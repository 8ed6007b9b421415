package main

import (
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
	tooltest.Behaviour(t, func(w *tooltest.Writes) *mcp.Server { return newServer(orders.New(w.Note)).All() },
		map[string]map[string]any{"show-order-note": {"orderId": "o-1"}})
	tooltest.Annotations(t, newServer(orders.New(nil)).All(), tooltest.Intents{Read: []string{"show-order-note"}, Write: []string{"save-order-note"}})
}

// TestHidden: hosts keep the helper from models, by what it says.
func TestHidden(t *testing.T) {
	for _, def := range tooltest.Tools(t, newServer(orders.New(nil)).All()) {
		if got, want := def.ModelVisible(), def.Name != "save-order-note"; got != want {
			t.Errorf("%s: visible to models: %v, want %v", def.Name, got, want)
		}
	}
}

func TestSave(t *testing.T) {
	drive.Each(t, func() http.Handler { return newServer(orders.New(nil)).HTTP() }, func(t *testing.T, s *mcp.ClientSession) {
		for range 2 { // saving twice is saving once
			res := drive.Call(t, s, "save-order-note", map[string]any{"orderId": "o-1", "note": "call first"})
			if got, want := drive.Text(res), "Order note saved."; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		}
		res := drive.Call(t, s, "show-order-note", map[string]any{"orderId": "o-1"})
		if got, want := drive.Text(res), "Order o-1: call first"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		res = drive.Call(t, s, "save-order-note", map[string]any{"orderId": "o-9", "note": "x"})
		if !res.IsError || !strings.Contains(drive.Text(res), "no order o-9") {
			t.Errorf("got %q", drive.Text(res))
		}
		if view := drive.View(t, s, "ui://orders/note.html"); !strings.Contains(view, "tools/call") {
			t.Error("the view does not call the helper")
		}
	})
}

// TestView types a note in a browser and saves it through the helper.
func TestView(t *testing.T) {
	s := drive.HTTP(t, newServer(orders.New(nil)).HTTP(), drive.Eras[0], nil, nil)
	view := drive.View(t, s, "ui://orders/note.html")
	res := drive.Call(t, s, "show-order-note", map[string]any{"orderId": "o-1"})
	got := drive.Render(t, view, res, `view.document.getElementById("note").value = "call first"; view.document.querySelector("button").click();`)
	if !strings.Contains(got.Text, "Saved.") {
		t.Errorf("the view shows %q", got.Text)
	}
	if len(got.Calls) != 1 || got.Calls[0].Name != "save-order-note" {
		t.Fatalf("the view called %+v", got.Calls)
	}
	if res := drive.Call(t, s, got.Calls[0].Name, got.Calls[0].Arguments); drive.Text(res) != "Order note saved." {
		t.Errorf("what the view asked for fails: %s", drive.Text(res))
	}
}
