package derive

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/annotary/annotary"
)

// TestSeeds derives every tool that the four guides this project grew from
// name, each on its own and with no more than a sentence about it, into the
// class the guide gives it.
func TestSeeds(t *testing.T) {
	read, write, destroy := annotary.Read, annotary.Write, annotary.Destroy
	for _, tt := range []struct {
		name, description string
		want              annotary.Class
	}{
		{"search_files", "Searches for files by pattern.", read},
		{"delete_files", "", destroy},
		{"delete_file", "Deletes a file for good.", destroy},
		{"migrate_database", "Runs the pending migrations.", destroy},
		{"search-orders", "Searches orders and shows them.", read},
		{"save-order-note", "Saves a note on an order.", write},
		{"cancel-order", "Cancels an order.", destroy},
		{"saveDraft", "", write},
		{"call_tool_read", "", read},
		{"call_tool_write", "", write},
		{"call_tool_destructive", "", destroy},
		{"customers_list", "All customers, filtered by name or status.", read},
		{"customers_get", "", read},
		{"bank_accounts_balances", "", read},
		{"transactions_list", "", read},
		{"transactions_search", "", read},
		{"orders_get", "", read},
		{"calculate_tax", "", read},
		{"forecast_spending", "", read},
		{"web_search", "Searches the internet.", read},
		{"customer_create", "Creates a customer unless one of that name exists.", write},
		{"create_order", "", write},
		{"invoice_create_draft", "", write},
		{"invoice_update_draft", "", write},
		{"category_update", "", write},
		{"order_update_status", "", write},
		{"customer_delete", "Deletes a customer and all records of theirs. Cannot be undone.", destroy},
		{"invoice_delete", "", destroy},
		{"team_member_remove", "", destroy},
		{"order_cancel", "", destroy},
		{"bulk_archive_old_records", "", destroy},
		{"finalize_invoice", "", destroy}, //nolint:misspell // the guide spells it so
		{"close_account", "", destroy},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := Tools([]annotary.Tool{{Name: tt.name, Description: tt.description}})[0]
			got, ok := c.class()
			if !ok || got != tt.want {
				t.Errorf("class %v (known: %v), want %v\nreadOnly %v: %s\ndestructive %v: %s", got, ok, tt.want,
					c[annotary.ReadOnly].Value, c[annotary.ReadOnly].Why, c[annotary.Destructive].Value, c[annotary.Destructive].Why)
			}
		})
	}
}

// class puts claims into a class if they suffice for one.
func (c *Claims) class() (annotary.Class, bool) {
	switch readOnly, destructive := c[annotary.ReadOnly].Value, c[annotary.Destructive].Value; {
	case readOnly == annotary.Yes:
		return annotary.Read, true
	case readOnly == annotary.No && destructive == annotary.Yes:
		return annotary.Destroy, true
	case readOnly == annotary.No && destructive == annotary.No:
		return annotary.Write, true
	}
	return 0, false
}

// TestArchetypes asserts the eight archetypes of the guides and the three
// presets value by value, and that a tool of each archetype derives to it
// wherever derivation says anything.
func TestArchetypes(t *testing.T) {
	type a = annotary.Annotations
	want := []annotary.Archetype{
		{Name: "file or database read", Annotations: a{ReadOnly: true, Destructive: false, Idempotent: true, OpenWorld: false}},
		{Name: "search or list", Annotations: a{ReadOnly: true, Destructive: false, Idempotent: true, OpenWorld: false}},
		{Name: "HTTP GET to an external API", Annotations: a{ReadOnly: true, Destructive: false, Idempotent: true, OpenWorld: true}},
		{Name: "upsert or idempotent write", Annotations: a{ReadOnly: false, Destructive: false, Idempotent: true, OpenWorld: false}},
		{Name: "append or create", Annotations: a{ReadOnly: false, Destructive: false, Idempotent: false, OpenWorld: false}},
		{Name: "delete or overwrite", Annotations: a{ReadOnly: false, Destructive: true, Idempotent: false, OpenWorld: false}},
		{Name: "send e-mail or chat message", Annotations: a{ReadOnly: false, Destructive: true, Idempotent: false, OpenWorld: true}},
		{Name: "trigger a deployment", Annotations: a{ReadOnly: false, Destructive: true, Idempotent: false, OpenWorld: true}},
	}
	if diff := cmp.Diff(want, annotary.Archetypes); diff != "" {
		t.Fatal(diff)
	}
	presets := []a{annotary.PresetReadOnly, annotary.PresetWrite, annotary.PresetDestructive}
	if diff := cmp.Diff([]a{
		{ReadOnly: true, Destructive: false, Idempotent: true, OpenWorld: false},
		{ReadOnly: false, Destructive: false, Idempotent: true, OpenWorld: false},
		{ReadOnly: false, Destructive: true, Idempotent: false, OpenWorld: false},
	}, presets); diff != "" {
		t.Fatal(diff)
	}
	for i, definition := range []string{
		`{"name":"read_file","inputSchema":{"properties":{"path":{}}}}`,
		`{"name":"search_files","inputSchema":{"properties":{"query":{}}}}`,
		`{"name":"fetch_page","inputSchema":{"properties":{"url":{}}}}`,
		`{"name":"upsert_note","inputSchema":{"properties":{"id":{}}}}`,
		`{"name":"append_note","inputSchema":{"properties":{"line":{}}}}`,
		`{"name":"delete_all_notes"}`,
		`{"name":"send_email","inputSchema":{"properties":{"to":{},"body":{}}}}`,
		`{"name":"deploy_app","inputSchema":{"properties":{"branch":{}}}}`,
	} {
		claims := Tools([]annotary.Tool{parse(t, []byte(definition))})[0]
		for n, stated := range want[i].Annotations.Hints(annotary.FromOperator, "") {
			hint := annotary.HintName(n)
			if got := claims[n].Value; hint.InSpec() && got != stated.Value && (got != annotary.Unknown || hint <= annotary.Destructive) {
				t.Errorf("%s: %s derives to %s, the archetype says %s: %s", want[i].Name, hint, got, stated.Value, claims[n].Why)
			}
		}
	}
}
