// Command customers is a server with a group of tools per scope: who may not
// read customers is not told that they can be read. Over HTTP it takes the two
// demonstration tokens below; on standard input and output it serves all tools.
package main

import (
	"context"
	"net/http"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/auth"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/examples/internal/serve"
	"github.com/annotary/annotary/tool"
)

type listIn struct {
	Status string `json:"status,omitempty" jsonschema:"only customers of this status"`
	Cursor string `json:"cursor,omitempty" jsonschema:"the cursor of the page before"`
}

type getIn struct {
	CustomerID string `json:"customerId" jsonschema:"the customer's id"`
}

type createIn struct {
	tool.Keyed
	Name  string `json:"name" jsonschema:"the customer's full name"`
	Email string `json:"email,omitempty" jsonschema:"where to write to"`
	TaxID string `json:"taxId,omitempty" jsonschema:"the tax number"`
}

// An item is what the model may know of a customer.
type item struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Status string `json:"status"`
}

type created struct {
	CustomerID string `json:"customerId"`
	Name       string `json:"name"`
	Created    bool   `json:"created" jsonschema:"false if there was one of that name"`
}

type deleted struct {
	Success bool   `json:"success"`
	Message string `json:"message"`
}

func newServer(db *database) *tool.Server {
	s := tool.New("customers", "1.0.0", nil)
	read, write := s.Group("customers.read"), s.Group("customers.write")

	tool.Add(read, tool.Read(tool.Closed), tool.Spec{
		Name:        "customers_list",
		Title:       "List customers",
		Description: "Get all customers for the team. Filter by status; page with the cursor.",
		Sensitive:   annotary.Yes,
		Input: func(in *jsonschema.Schema) {
			in.Properties["status"].Enum = []any{"active", "inactive", "archived"}
		},
	}, func(_ context.Context, _ *tool.Call, in listIn) (tool.Page[item], error) {
		return db.list(in.Status, in.Cursor)
	})
	tool.Add(read, tool.Read(tool.Closed), tool.Spec{
		Name:        "customers_get",
		Title:       "Get customer",
		Description: "Get one customer by id.",
		Sensitive:   annotary.Yes,
	}, func(_ context.Context, _ *tool.Call, in getIn) (item, error) {
		c, ok := db.get(in.CustomerID)
		if !ok {
			return item{}, tool.Errorf("customer not found")
		}
		return c.item(), nil
	})
	tool.Add(write, tool.Write(tool.Closed, tool.Idempotent), tool.Spec{
		Name:        "customer_create",
		Title:       "Create customer",
		Description: "Create a new customer. Idempotent by name (will not create a duplicate).",
		Reversible:  annotary.Yes,
		Input: func(in *jsonschema.Schema) {
			in.Properties["name"].MinLength = new(1)
			in.Properties["email"].Format = "email"
		},
	}, func(_ context.Context, call *tool.Call, in createIn) (created, error) {
		c, isNew := db.create(in.Name, in.Email, in.TaxID)
		if isNew {
			call.Say("Created customer %s (ID: %s)", c.Name, c.ID)
		} else {
			call.Say("Customer %s already exists (ID: %s)", c.Name, c.ID)
		}
		return created{c.ID, c.Name, isNew}, nil
	})
	tool.Add(write, tool.Destroy(tool.Closed, tool.NotIdempotent), tool.Spec{
		Name:        "customer_delete",
		Title:       "Delete customer",
		Description: "Permanently delete a customer and all associated records. Cannot be undone.",
		Reversible:  annotary.No,
	}, func(_ context.Context, call *tool.Call, in getIn) (deleted, error) {
		c, ok := db.delete(in.CustomerID)
		out := deleted{ok, "Deleted customer " + c.Name}
		if !ok {
			out.Message = "Customer not found"
		}
		call.Say("%s", out.Message)
		return out, nil
	})
	return s
}

// demoTokens stand in for an authorization server.
var demoTokens = map[string][]string{
	"demo-reader": {"customers.read"},
	"demo-clerk":  {"customers.read", "customers.write"},
	"demo-guest":  {},
}

func verify(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
	scopes, ok := demoTokens[token]
	if !ok {
		return nil, auth.ErrInvalidToken
	}
	return &auth.TokenInfo{UserID: token, Scopes: scopes, Expiration: time.Now().Add(time.Hour)}, nil
}

func handler(s *tool.Server) http.Handler { return auth.RequireBearerToken(verify, nil)(s.HTTP()) }

func main() {
	s := newServer(newDatabase(nil))
	serve.Main(s, handler(s))
}
