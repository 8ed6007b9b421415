package main

import (
	"context"
	"slices"
	"sync"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/tool"
)

// A shop is a server with one tool of each class.
type shop struct {
	mu     sync.Mutex
	orders []order
}

type order struct {
	ID     string   `json:"id"`
	Status string   `json:"status"`
	Notes  []string `json:"notes,omitempty"`
}

func newShop() *tool.Server {
	s := &shop{orders: []order{{ID: "A-17", Status: "open"}, {ID: "A-18", Status: "shipped"}}}
	server := tool.New("shop", "1.0.0", nil)
	tool.Add(server, tool.Read(tool.Closed), tool.Spec{
		Name: "orders_list", Title: "List orders", Description: "List the orders with a status.",
		Sensitive: annotary.Yes, Untrusted: annotary.No,
	}, s.list)
	tool.Add(server, tool.Write(tool.Closed, tool.NotIdempotent), tool.Spec{
		Name: "note_add", Title: "Add a note", Description: "Add a note to an order.",
	}, s.note)
	tool.Add(server, tool.Destroy(tool.Closed, tool.Idempotent), tool.Spec{
		Name: "order_cancel", Title: "Cancel an order", Description: "Cancel an order. The customer is told.",
		Reversible: annotary.No,
	}, s.cancel)
	return server
}

type listInput struct {
	Status string `json:"status"`
}

type listOutput struct {
	Orders []order `json:"orders"`
}

func (s *shop) list(_ context.Context, _ *tool.Call, in listInput) (listOutput, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := listOutput{Orders: []order{}}
	for _, o := range s.orders {
		if o.Status == in.Status {
			out.Orders = append(out.Orders, o)
		}
	}
	return out, nil
}

type noteInput struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

func (s *shop) note(_ context.Context, _ *tool.Call, in noteInput) (order, error) {
	return s.change(in.ID, func(o *order) { o.Notes = append(o.Notes, in.Text) })
}

type cancelInput struct {
	ID string `json:"id"`
}

func (s *shop) cancel(_ context.Context, _ *tool.Call, in cancelInput) (order, error) {
	return s.change(in.ID, func(o *order) { o.Status = "cancelled" })
}

func (s *shop) change(id string, change func(*order)) (order, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.orders, func(o order) bool { return o.ID == id })
	if i < 0 {
		return order{}, tool.Errorf("there is no order %q", id)
	}
	change(&s.orders[i])
	return s.orders[i], nil
}
