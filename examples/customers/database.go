package main

import (
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/annotary/annotary/tool"
)

// A customer is a row as the service keeps it, with what is nobody's business
// outside.
type customer struct {
	ID, Name, Status, Email, TaxID string
	InternalNotes                  string
	StripeCustomerID               string
}

func (c customer) item() item { return item{c.ID, c.Name, c.Status} }

// A database is the customers of one team. Changed, if set, is told of every
// change.
type database struct {
	changed func(what string)

	mu   sync.Mutex
	rows []customer
	next int
}

// newDatabase holds enough customers to need pages.
func newDatabase(changed func(what string)) *database {
	db := &database{changed: changed}
	for i := range 120 {
		status := []string{"active", "inactive", "archived"}[i%3]
		db.next++
		db.rows = append(db.rows, customer{
			ID: fmt.Sprint("c-", db.next), Name: fmt.Sprint("Customer ", db.next), Status: status,
			InternalNotes: "do not show", StripeCustomerID: "cus_secret",
		})
	}
	return db
}

const pageSize = 50

func (db *database) list(status, cursor string) (tool.Page[item], error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	start := 0
	if cursor != "" {
		n, err := strconv.Atoi(cursor)
		if err != nil || n < 0 {
			return tool.Page[item]{}, tool.Errorf("the cursor is not one of mine")
		}
		start = n
	}
	var all []item
	for _, c := range db.rows {
		if status == "" || c.Status == status {
			all = append(all, c.item())
		}
	}
	start = min(start, len(all))
	end := min(start+pageSize, len(all))
	page := tool.Page[item]{Data: all[start:end], Meta: tool.PageMeta{HasNextPage: end < len(all), HasPreviousPage: start > 0}}
	if page.Meta.HasNextPage {
		page.Meta.Cursor = strconv.Itoa(end)
	}
	return page, nil
}

func (db *database) get(id string) (customer, bool) {
	db.mu.Lock()
	defer db.mu.Unlock()
	i := slices.IndexFunc(db.rows, func(c customer) bool { return c.ID == id })
	if i < 0 {
		return customer{}, false
	}
	return db.rows[i], true
}

// create returns the customer of that name, and whether it is new.
func (db *database) create(name, email, taxID string) (customer, bool) {
	db.mu.Lock()
	defer db.mu.Unlock()
	if i := slices.IndexFunc(db.rows, func(c customer) bool { return c.Name == name }); i >= 0 {
		return db.rows[i], false
	}
	db.note("create " + name)
	db.next++
	c := customer{ID: fmt.Sprint("c-", db.next), Name: name, Status: "active", Email: email, TaxID: taxID}
	db.rows = append(db.rows, c)
	return c, true
}

func (db *database) delete(id string) (customer, bool) {
	db.mu.Lock()
	defer db.mu.Unlock()
	i := slices.IndexFunc(db.rows, func(c customer) bool { return c.ID == id })
	if i < 0 {
		return customer{}, false
	}
	db.note("delete " + id)
	c := db.rows[i]
	db.rows = slices.Delete(db.rows, i, i+1)
	return c, true
}

func (db *database) note(what string) {
	if db.changed != nil {
		db.changed(what)
	}
}
