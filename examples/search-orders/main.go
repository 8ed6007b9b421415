// Command search-orders is a server with a read-only tool that opens a view: a
// host that renders MCP Apps shows the orders as a table, any other host the
// text.
package main

import (
	"context"
	_ "embed"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/examples/internal/orders"
	"github.com/annotary/annotary/examples/internal/serve"
	"github.com/annotary/annotary/tool"
)

//go:embed view.html
var page string

type query struct {
	Query string `json:"query" jsonschema:"words of the customer, the item or the status; empty for all"`
}

// An order is what the model may know of one. What the shop keeps for itself
// has no field here and so cannot get out.
type order struct {
	ID       string `json:"id"`
	Customer string `json:"customer"`
	Item     string `json:"item"`
	Status   string `json:"status"`
}

type found struct {
	Orders []order `json:"orders"`
}

func newServer(store *orders.Store) *tool.Server {
	s := tool.New("search-orders", "1.0.0", nil)
	tool.Add(s, tool.Read(tool.Closed), tool.Spec{
		Name:        "search-orders",
		Title:       "Search orders",
		Description: "Search orders and display the results.",
		Sensitive:   annotary.Yes, // customers' names
		Untrusted:   annotary.No,
		Egress:      annotary.No,
		View:        &tool.View{URI: "ui://orders/view.html", Title: "Orders", HTML: page},
	}, func(_ context.Context, call *tool.Call, in query) (found, error) {
		var out found
		for _, o := range store.Search(in.Query) {
			out.Orders = append(out.Orders, order{o.ID, o.Customer, o.Item, o.Status})
		}
		call.Say("Found %d orders.", len(out.Orders))
		return out, nil
	})
	return s
}

func main() {
	s := newServer(orders.New(nil))
	serve.Main(s, s.HTTP())
}
