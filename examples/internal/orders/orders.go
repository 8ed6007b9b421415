// Package orders is the little shop behind three of the examples: a few orders
// in memory.
package orders

import (
	"slices"
	"strings"
	"sync"
)

// An Order is one order as the shop keeps it. The last two fields are its own
// business.
type Order struct {
	ID, Customer, Item, Status, Note string

	MarginCents     int
	InternalComment string
}

// A Store holds orders. Changed, if set, is told of every change before it is
// made.
type Store struct {
	Changed func(what string)

	mu     sync.Mutex
	orders []Order
}

// New returns a store with three orders.
func New(changed func(what string)) *Store {
	return &Store{Changed: changed, orders: []Order{
		{ID: "o-1", Customer: "Ada Lovelace", Item: "Punched cards", Status: "open", MarginCents: 120, InternalComment: "pays late"},
		{ID: "o-2", Customer: "Alan Turing", Item: "Paper tape", Status: "shipped", MarginCents: 90},
		{ID: "o-3", Customer: "Ada Lovelace", Item: "Brass gears", Status: "open", MarginCents: 300},
	}}
}

// Search returns the orders that mention the query, in any field a customer
// knows.
func (s *Store) Search(query string) []Order {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []Order
	for _, o := range s.orders {
		if strings.Contains(strings.ToLower(o.ID+" "+o.Customer+" "+o.Item+" "+o.Status), strings.ToLower(query)) {
			found = append(found, o)
		}
	}
	return found
}

// Get returns the order and whether there is one.
func (s *Store) Get(id string) (Order, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.orders, func(o Order) bool { return o.ID == id })
	if i < 0 {
		return Order{}, false
	}
	return s.orders[i], true
}

// SaveNote sets the order's note and reports whether there is such an order.
func (s *Store) SaveNote(id, note string) bool {
	return s.change(id, "note on "+id, func(o *Order) { o.Note = note })
}

// Cancel cancels the order and reports whether there is such an order.
func (s *Store) Cancel(id string) bool {
	return s.change(id, "cancel "+id, func(o *Order) { o.Status = "cancelled" })
}

func (s *Store) change(id, what string, apply func(*Order)) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.orders, func(o Order) bool { return o.ID == id })
	if i < 0 {
		return false
	}
	if s.Changed != nil {
		s.Changed(what)
	}
	apply(&s.orders[i])
	return true
}
