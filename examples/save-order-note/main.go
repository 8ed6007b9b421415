// Command save-order-note is a server whose view writes: a tool for the model
// opens the view, and a helper that only the view may call saves what was typed
// there. The helper is hidden from models, and annotated like any other write.
package main

import (
	"context"
	_ "embed"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/examples/internal/orders"
	"github.com/annotary/annotary/examples/internal/serve"
	"github.com/annotary/annotary/tool"
)

//go:embed note.html
var page string

type which struct {
	OrderID string `json:"orderId" jsonschema:"the order's id"`
}

type noteIn struct {
	OrderID string `json:"orderId" jsonschema:"the order's id"`
	Note    string `json:"note" jsonschema:"the note, in place of any earlier one"`
}

type note struct {
	OrderID string `json:"orderId"`
	Note    string `json:"note"`
}

func newServer(store *orders.Store) *tool.Server {
	s := tool.New("save-order-note", "1.0.0", nil)
	tool.Add(s, tool.Read(tool.Closed), tool.Spec{
		Name:        "show-order-note",
		Title:       "Show order note",
		Description: "Show the note on an order, with a form to change it.",
		Untrusted:   annotary.No,
		View:        &tool.View{URI: "ui://orders/note.html", Title: "Order note", HTML: page},
	}, func(_ context.Context, call *tool.Call, in which) (note, error) {
		o, ok := store.Get(in.OrderID)
		if !ok {
			return note{}, tool.Errorf("there is no order %s", in.OrderID)
		}
		call.Say("Order %s: %s", o.ID, o.Note)
		return note{o.ID, o.Note}, nil
	})
	tool.Add(s, tool.Write(tool.Closed, tool.Idempotent), tool.Spec{
		Name:        "save-order-note",
		Title:       "Save order note",
		Description: "Save an order note from the app UI.",
		Reversible:  annotary.Yes,
		AppOnly:     true,
	}, func(_ context.Context, call *tool.Call, in noteIn) (note, error) {
		if !store.SaveNote(in.OrderID, in.Note) {
			return note{}, tool.Errorf("there is no order %s", in.OrderID)
		}
		call.Say("Order note saved.")
		return note(in), nil
	})
	return s
}

func main() {
	s := newServer(orders.New(nil))
	serve.Main(s, s.HTTP())
}
