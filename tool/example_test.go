package tool_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/tool"
)

type orderIn struct {
	OrderID string `json:"orderId" jsonschema:"the order's id"`
}

type orderOut struct {
	Status string `json:"status"`
}

// ask calls a tool the way a client does and prints the text of the answer.
func ask(s *tool.Server, name string, args any) {
	ctx := context.Background()
	ours, theirs := mcp.NewInMemoryTransports()
	srv, err := s.All().Connect(ctx, theirs, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Close()
	client, err := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, nil).Connect(ctx, ours, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	res, err := client.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(textOf(res))
}

// A tool says what it does, then what it is called, then does it.
func ExampleAdd() {
	s := tool.New("orders", "1.0.0", nil)
	tool.Add(s, tool.Read(tool.Closed), tool.Spec{
		Name: "order_status", Title: "Order status", Description: "Say how far an order is.",
	}, func(_ context.Context, _ *tool.Call, in orderIn) (orderOut, error) {
		return orderOut{"shipped"}, nil
	})
	ask(s, "order_status", map[string]any{"orderId": "7"})
	ask(s, "order_status", map[string]any{"id": "7"})
	// Output:
	// {"status":"shipped"}
	// the arguments do not keep to the schema: lacks "orderId"
}

// Who wants the presets takes them.
func ExampleRaw() {
	fmt.Println(tool.Raw(annotary.PresetWrite) == tool.Write(tool.Closed, tool.Idempotent))
	// Output: true
}

// The text of such an error is for the model; of others only an id gets out.
func ExampleErrorf() {
	s := tool.New("orders", "1.0.0", &tool.Options{Logger: slog.New(slog.DiscardHandler)})
	tool.Add(s, tool.Destroy(tool.Closed, tool.Idempotent), tool.Spec{
		Name: "order_cancel", Title: "Cancel order", Description: "Cancel an order.",
	}, func(_ context.Context, _ *tool.Call, in orderIn) (tool.Nothing, error) {
		return tool.Nothing{}, tool.Errorf("order %s is on its way", in.OrderID)
	})
	ask(s, "order_cancel", map[string]any{"orderId": "7"})
	// Output: order 7 is on its way
}

// Groups exist only for callers with their scope. The bearer token is checked
// around the server, by a verifier of yours.
func ExampleServer_Group() {
	s := tool.New("customers", "1.0.0", nil)
	tool.Add(s.Group("customers.read"), tool.Read(tool.Closed), tool.Spec{
		Name: "customer_get", Title: "Get customer", Description: "Get a customer.",
	}, greet)
	verify := func(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		if token != "demo" {
			return nil, auth.ErrInvalidToken
		}
		return &auth.TokenInfo{UserID: "ada", Scopes: []string{"customers.read"}, Expiration: time.Now().Add(time.Hour)}, nil
	}
	http.Handle("/mcp", auth.RequireBearerToken(verify, nil)(s.HTTP()))
}

// A write that carries a key happens once, however often it is sent.
func ExampleKeyed() {
	type in struct {
		tool.Keyed
		Text string `json:"text"`
	}
	count := 0
	s := tool.New("notes", "1.0.0", nil)
	tool.Add(s, tool.Write(tool.Closed, tool.NotIdempotent), tool.Spec{
		Name: "note_add", Title: "Add note", Description: "Add a note.",
	}, func(_ context.Context, call *tool.Call, _ in) (tool.Nothing, error) {
		count++
		call.Say("note %d", count)
		return tool.Nothing{}, nil
	})
	for range 3 {
		ask(s, "note_add", map[string]any{"text": "milk", "idempotencyKey": "a1"})
	}
	// Output:
	// note 1
	// note 1
	// note 1
}

// What must not happen by accident is drafted first and confirmed then.
func ExampleAddTwoStep() {
	type mail struct {
		To   string `json:"to"`
		Text string `json:"text"`
	}
	s := tool.New("mail", "1.0.0", nil)
	tool.AddTwoStep(s, tool.Destroy(tool.Open, tool.NotIdempotent), tool.Spec{
		Name: "mail_send", Title: "Send mail", Description: "Send a mail to a customer.",
	}, func(_ context.Context, _ *tool.Call, in mail) (mail, error) { // the draft
		return mail{in.To, "Dear customer,\n\n" + in.Text}, nil
	}, func(_ context.Context, call *tool.Call, m mail) (tool.Nothing, error) { // the deed
		call.Say("sent to %s", m.To)
		return tool.Nothing{}, nil
	})
	for _, name := range []string{"preview_mail_send", "mail_send"} {
		fmt.Println(name)
	}
	// Output:
	// preview_mail_send
	// mail_send
}

// Long work reports how far it is and stops when the client gives up.
func ExampleCall_Progress() {
	type in struct {
		tool.Rehearsal
	}
	steps := []string{"copy", "check", "swap"}
	s := tool.New("deploy", "1.0.0", nil)
	tool.Add(s, tool.Destroy(tool.Closed, tool.NotIdempotent), tool.Spec{
		Name: "deploy", Title: "Deploy", Description: "Deploy the new version.",
	}, func(ctx context.Context, call *tool.Call, _ in) (tool.Nothing, error) {
		for i, step := range steps {
			if err := call.Progress(ctx, i, len(steps), step); err != nil {
				return tool.Nothing{}, tool.Errorf("stopped before %s: %w", step, err)
			}
			if call.DryRun {
				continue
			}
			return tool.Nothing{}, errors.New("no host to deploy to")
		}
		call.Say("%d steps done", len(steps))
		return tool.Nothing{}, nil
	})
	ask(s, "deploy", map[string]any{"dryRun": true})
	// Output: [DRY RUN] 3 steps done
}

// What Go's types cannot say is added to the inferred schema.
func ExampleSpec() {
	s := tool.New("orders", "1.0.0", &tool.Options{Logger: slog.New(slog.DiscardHandler)})
	tool.Add(s, tool.Read(tool.Closed), tool.Spec{
		Name: "order_status", Title: "Order status", Description: "Say how far an order is.",
		Sensitive: annotary.Yes,
		Input:     func(in *jsonschema.Schema) { in.Properties["orderId"].Pattern = "^[0-9]+$" },
	}, func(_ context.Context, _ *tool.Call, in orderIn) (orderOut, error) {
		return orderOut{"open"}, nil
	})
	ask(s, "order_status", map[string]any{"orderId": "seven"})
	// Output: the arguments do not keep to the schema: /orderId: does not have the form demanded
}

// A tool opens a view, and a helper that models do not see serves it.
func ExampleView() {
	s := tool.New("orders", "1.0.0", nil)
	tool.Add(s, tool.Read(tool.Closed), tool.Spec{
		Name: "order_show", Title: "Show order", Description: "Show an order.",
		View: &tool.View{URI: "ui://orders/order.html", Title: "Order", HTML: "<!doctype html>…"},
	}, greet)
	tool.Add(s, tool.Write(tool.Closed, tool.Idempotent), tool.Spec{
		Name: "order_note", Title: "Note on order", Description: "Save a note from the view.",
		AppOnly: true,
	}, greet)
	ask(s, "order_show", map[string]any{"name": "Ada"})
	// Output: {"greeting":"Hello, Ada."}
}

// A list says where its next page is, and whether items were left out.
func ExamplePage() {
	type item struct {
		ID string `json:"id"`
	}
	s := tool.New("orders", "1.0.0", nil)
	tool.Add(s, tool.Read(tool.Closed), tool.Spec{
		Name: "orders_list", Title: "List orders", Description: "List orders.",
	}, func(context.Context, *tool.Call, struct{}) (tool.Page[item], error) {
		return tool.Page[item]{Data: []item{{"7"}}, Meta: tool.PageMeta{Cursor: "c2", HasNextPage: true}}, nil
	})
	ask(s, "orders_list", nil)
	// Output: {"data":[{"id":"7"}],"meta":{"cursor":"c2","hasNextPage":true,"hasPreviousPage":false}}
}
