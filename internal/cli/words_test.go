package cli

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/catalog"
	"github.com/annotary/annotary/internal/config"
	"github.com/annotary/annotary/internal/gateway"
	"github.com/annotary/annotary/internal/override"
)

// TestConfigurationWins: what the configuration speaks of cannot be said
// otherwise, and where it was said before, it does not count.
func TestConfigurationWins(t *testing.T) {
	c, err := config.Parse(filepath.Join(t.TempDir(), config.FileName), []byte(`
servers:
  firm:
    command: x
    believe_hints: false
    overrides:
      get_*: {readOnly: false}
      drop: {destructive: true}
  open: {command: x}
`))
	if err != nil {
		t.Fatal(err)
	}
	yes := true
	reads := map[string]bool{"readOnly": true}
	for _, tt := range []struct {
		word override.Word
		want annotary.Code
	}{
		{override.Word{Server: "firm", Tool: "get_row", Hints: reads}, annotary.CodeConfig},
		{override.Word{Server: "firm", Tool: "drop", Hints: reads}, annotary.CodeConfig}, // it would contradict the file
		{override.Word{Server: "firm", Tool: "get_row", Hints: map[string]bool{"openWorld": false}}, ""},
		{override.Word{Server: "firm", Tool: "get_row", Withdrawn: true}, ""},
		{override.Word{Server: "firm", Believe: &yes}, annotary.CodeConfig},
		{override.Word{Server: "open", Tool: "get_row", Hints: reads}, ""},
		{override.Word{Server: "open", Believe: &yes}, ""},
		{override.Word{Server: "nobody", Believe: &yes}, gateway.CodeUnknownServer},
	} {
		if err := mayBeSaid(c, &tt.word, time.Now()); annotary.CodeOf(err) != tt.want {
			t.Errorf("%+v: %v, want code %q", tt.word, err, tt.want)
		}
	}
	stances := map[string]catalog.Stance{}
	for name, s := range c.Servers {
		stances[name] = stanceOf(s)
	}
	heed(stances, c.Servers, []override.Word{
		{Server: "firm", Tool: "get_row", Hints: reads}, {Server: "firm", Tool: "drop", Hints: reads},
		{Server: "firm", Believe: &yes}, {Server: "open", Tool: "get_row", Hints: reads}, {Server: "open", Believe: &yes},
		{Server: "gone", Believe: &yes},
	})
	if stances["firm"].Believe || !stances["open"].Believe {
		t.Errorf("believed are firm: %v, open: %v", stances["firm"].Believe, stances["open"].Believe)
	}
	for server, want := range map[string]annotary.Value{"firm": annotary.No, "open": annotary.Yes} {
		for _, name := range []string{"get_row", "drop"} {
			if server == "open" && name == "drop" {
				continue
			}
			srv, err := catalog.New(server, []annotary.Tool{tool(t, name)}, stances[server], time.Now())
			if err != nil {
				t.Fatal(err)
			}
			if got := srv.Tool(name).Hints[annotary.ReadOnly].Value; got != want {
				t.Errorf("%s/%s: readOnly is %v, want %v", server, name, got, want)
			}
		}
	}
}

func tool(t *testing.T, name string) annotary.Tool {
	t.Helper()
	d, err := annotary.ParseTool([]byte(`{"name":"` + name + `","inputSchema":{"type":"object"}}`))
	if err != nil {
		t.Fatal(err)
	}
	return d
}
