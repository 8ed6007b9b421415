// Command cancel-order is a server with a destructive tool that a model may
// call and that opens a view. Hosts ask before they call it, because it says
// what it is.
package main

import (
	"context"
	_ "embed"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/examples/internal/orders"
	"github.com/annotary/annotary/examples/internal/serve"
	"github.com/annotary/annotary/tool"
)

//go:embed cancel.html
var page string

type which struct {
	OrderID string `json:"orderId" jsonschema:"the order's id"`
}

type cancelled struct {
	OrderID string `json:"orderId"`
	Status  string `json:"status"`
}

func newServer(store *orders.Store) *tool.Server {
	s := tool.New("cancel-order", "1.0.0", nil)
	tool.Add(s, tool.Destroy(tool.Closed, tool.Idempotent), tool.Spec{
		Name:        "cancel-order",
		Title:       "Cancel order",
		Description: "Cancel an order by id.",
		Reversible:  annotary.No,
		View:        &tool.View{URI: "ui://orders/cancel.html", Title: "Cancelled order", HTML: page},
	}, func(_ context.Context, call *tool.Call, in which) (cancelled, error) {
		switch o, ok := store.Get(in.OrderID); {
		case !ok:
			return cancelled{}, tool.Errorf("there is no order %s", in.OrderID)
		case o.Status == "shipped":
			return cancelled{}, tool.Errorf("order %s has been shipped and cannot be cancelled", in.OrderID)
		}
		store.Cancel(in.OrderID)
		call.Say("Order %s was cancelled.", in.OrderID)
		return cancelled{in.OrderID, "cancelled"}, nil
	})
	return s
}

func main() {
	s := newServer(orders.New(nil))
	serve.Main(s, s.HTTP())
}
