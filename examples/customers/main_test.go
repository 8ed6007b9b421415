package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/annotary/annotary/examples/internal/drive"
	"github.com/annotary/annotary/tool/tooltest"
)

func TestMain(m *testing.M) { drive.Main(m, main) }

func TestTools(t *testing.T) {
	tooltest.Snapshot(t, newServer(newDatabase(nil)).All(), "testdata/tools.json")
	tooltest.Lint(t, newServer(newDatabase(nil)).All())
	tooltest.Behaviour(t, func(w *tooltest.Writes) *mcp.Server { return newServer(newDatabase(w.Note)).All() },
		map[string]map[string]any{"customers_get": {"customerId": "c-1"}})
	tooltest.Annotations(t, newServer(newDatabase(nil)).All(), tooltest.Intents{
		Read: []string{"customers_list", "customers_get"}, Write: []string{"customer_create"}, Destroy: []string{"customer_delete"},
	})
}

func structured(t *testing.T, res *mcp.CallToolResult) string {
	t.Helper()
	raw, err := json.Marshal(res.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func clerk(t *testing.T, era string) *mcp.ClientSession {
	t.Helper()
	return as(t, "demo-clerk", era)
}

func as(t *testing.T, token, era string) *mcp.ClientSession {
	t.Helper()
	return drive.HTTP(t, handler(newServer(newDatabase(nil))), era, nil, http.Header{"Authorization": {"Bearer " + token}})
}

// TestCustomers walks through the four tools as a client of each generation,
// over each transport.
func TestCustomers(t *testing.T) {
	for _, era := range drive.Eras {
		t.Run("stdio-"+era, func(t *testing.T) { testCustomers(t, drive.Stdio(t, era, nil)) })
		t.Run("http-"+era, func(t *testing.T) { testCustomers(t, clerk(t, era)) })
	}
}

func testCustomers(t *testing.T, s *mcp.ClientSession) {
	list := structured(t, drive.Call(t, s, "customers_list", map[string]any{"status": "active"}))
	want := `{"data":[{"id":"c-1","name":"Customer 1","status":"active"},{"id":"c-4",`
	if !strings.HasPrefix(list, want) || strings.Contains(list, "cus_secret") {
		t.Errorf("got %.200s, want %s…", list, want)
	}
	if meta := `"meta":{"hasNextPage":false,"hasPreviousPage":false}`; !strings.Contains(list, meta) {
		t.Errorf("no %s in …%s", meta, list[max(0, len(list)-100):])
	}
	for _, step := range []struct {
		tool             string
		args             map[string]any
		text, structured string
	}{
		{"customer_create", map[string]any{"name": "Ada"}, "Created customer Ada (ID: c-121)", `{"created":true,"customerId":"c-121","name":"Ada"}`},
		{"customer_create", map[string]any{"name": "Ada"}, "Customer Ada already exists (ID: c-121)", `{"created":false,"customerId":"c-121","name":"Ada"}`},
		{"customers_get", map[string]any{"customerId": "c-121"}, `{"id":"c-121","name":"Ada","status":"active"}`, `{"id":"c-121","name":"Ada","status":"active"}`},
		{"customer_delete", map[string]any{"customerId": "c-121"}, "Deleted customer Ada", `{"message":"Deleted customer Ada","success":true}`},
		{"customer_delete", map[string]any{"customerId": "c-121"}, "Customer not found", `{"message":"Customer not found","success":false}`},
	} {
		res := drive.Call(t, s, step.tool, step.args)
		if got := drive.Text(res); got != step.text || res.IsError {
			t.Errorf("%s said %q, want %q", step.tool, got, step.text)
		}
		if got := structured(t, res); got != step.structured {
			t.Errorf("%s returned %s, want %s", step.tool, got, step.structured)
		}
	}
	for name, args := range map[string]map[string]any{
		"customers_list": {"status": "gone"}, "customers_get": {"customerId": "c-999"}, "customer_create": {"name": ""}, "customer_delete": {"id": "c-1"},
	} {
		if res := drive.Call(t, s, name, args); !res.IsError {
			t.Errorf("%s accepted %v", name, args)
		}
	}
}

// TestPages follows the cursor to the end.
func TestPages(t *testing.T) {
	s := clerk(t, drive.Eras[0])
	seen, cursor := 0, ""
	for range 10 {
		args := map[string]any{}
		if cursor != "" {
			args["cursor"] = cursor
		}
		page := drive.Call(t, s, "customers_list", args).StructuredContent.(map[string]any)
		seen += len(page["data"].([]any))
		cursor, _ = page["meta"].(map[string]any)["cursor"].(string)
		if cursor == "" {
			break
		}
	}
	if seen != 120 {
		t.Errorf("the pages hold %d customers, want 120", seen)
	}
}

func TestScopes(t *testing.T) {
	for token, want := range map[string][]string{
		"demo-guest":  nil,
		"demo-reader": {"customers_get", "customers_list"},
		"demo-clerk":  {"customer_create", "customer_delete", "customers_get", "customers_list"},
	} {
		for _, era := range drive.Eras {
			if diff := cmp.Diff(want, drive.Names(t, as(t, token, era))); diff != "" {
				t.Errorf("%s, %s (-want +got)\n%s", token, era, diff)
			}
		}
	}
}
