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
	tooltest.Annotations(t, newServer(orders.New(nil)).All(), tooltest.Intents{Destroy: []string{"cancel-order"}})
}

func TestCancel(t *testing.T) {
	drive.Each(t, func() http.Handler { return newServer(orders.New(nil)).HTTP() }, func(t *testing.T, s *mcp.ClientSession) {
		for range 2 {
			res := drive.Call(t, s, "cancel-order", map[string]any{"orderId": "o-1"})
			if got, want := drive.Text(res), "Order o-1 was cancelled."; got != want || res.IsError {
				t.Errorf("got %q, want %q", got, want)
			}
		}
		for id, want := range map[string]string{"o-2": "shipped", "o-9": "no order"} {
			if res := drive.Call(t, s, "cancel-order", map[string]any{"orderId": id}); !res.IsError || !strings.Contains(drive.Text(res), want) {
				t.Errorf("%s: got %q, want %q", id, drive.Text(res), want)
			}
		}
		if view := drive.View(t, s, "ui://orders/cancel.html"); !strings.Contains(view, "ui/notifications/tool-result") {
			t.Error("the view shows no result")
		}
	})
}

func TestView(t *testing.T) {
	s := drive.HTTP(t, newServer(orders.New(nil)).HTTP(), drive.Eras[0], nil, nil)
	view := drive.View(t, s, "ui://orders/cancel.html")
	for id, want := range map[string]string{"o-1": "Order o-1 is cancelled.", "o-2": "order o-2 has been shipped and cannot be cancelled"} {
		res := drive.Call(t, s, "cancel-order", map[string]any{"orderId": id})
		if got := drive.Render(t, view, res, ""); got.Text != want {
			t.Errorf("the view shows %q, want %q", got.Text, want)
		}
	}
}
