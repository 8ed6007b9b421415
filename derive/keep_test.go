package derive

import (
	"encoding/json"
	"testing"

	"github.com/annotary/annotary"
)

// TestKeeps: a verb that reads elsewhere leaves something behind where the tool
// is told what to put it into, or what it unpacks.
func TestKeeps(t *testing.T) {
	for _, tt := range []struct {
		name, description string
		required, more    []string
		want              annotary.Value
	}{
		{"extract_archive", "Extracts an archive.", []string{"path"}, nil, annotary.No},
		{"fast_extract_archive", "Extracts an archive file.", []string{"archive_path"}, []string{"extract_to", "overwrite"}, annotary.No},
		{"unzip_file", "Unzips a file.", []string{"path"}, nil, annotary.No},
		{"extract_text", "Extracts the text of a page.", []string{"url"}, nil, annotary.Yes},
		{"extract_keywords", "Extracts the keywords of a text.", []string{"query"}, nil, annotary.Yes},
		{"query_to_file", "Runs a query.", []string{"query"}, []string{"overwrite"}, annotary.No},
		{"convert_image", "Converts an image.", []string{"image", "output_path"}, nil, annotary.No},
		{"download_file", "Downloads a file.", []string{"remotePath", "localPath"}, nil, annotary.No},
		{"convert_currency", "Converts an amount.", []string{"from_currency", "to_currency"}, nil, annotary.Yes},
		{"detect_conflicts", "Detects conflicts in a clone.", []string{"localPath"}, nil, annotary.Yes},
	} {
		t.Run(tt.name, func(t *testing.T) {
			properties := map[string]any{}
			for _, p := range append(tt.required, tt.more...) {
				properties[p] = map[string]string{"type": "string"}
			}
			input, err := json.Marshal(map[string]any{"type": "object", "properties": properties, "required": tt.required})
			if err != nil {
				t.Fatal(err)
			}
			c := Tools([]annotary.Tool{{Name: tt.name, Description: tt.description, Input: input}})[0][annotary.ReadOnly]
			if got := c.Value; got != tt.want {
				t.Errorf("read-only is %v (%.2f: %s), want %v", got, c.Confidence, c.Why, tt.want)
			}
		})
	}
}

// TestManner: a word that says how stands before the verb, not in its place.
func TestManner(t *testing.T) {
	for name, want := range map[string]string{
		"quick_commit": "commit", "bulk_set_status": "set", "mass_set_property": "set", "force_close_tab": "close",
		"batch_run_reports": "report", "fast_search": "search", "safe_delete": "delete", "auto_close": "close",
		"run_reports": "report", "bulk": "", "batch_products": "",
	} {
		if got := Verb(name); got != want {
			t.Errorf("the verb of %s is %q, want %q", name, got, want)
		}
	}
}
