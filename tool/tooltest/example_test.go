package tooltest_test

import (
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/annotary/annotary/tool"
	"github.com/annotary/annotary/tool/tooltest"
)

// The three lines: what clients see is pinned, judged, and held against what
// the handlers do.
func Example() {
	var t *testing.T // yours

	tooltest.Snapshot(t, newServer(orders{}, false).All(), "testdata/tools.json")
	tooltest.Lint(t, newServer(orders{}, false).All())
	tooltest.Behaviour(t, func(w *tooltest.Writes) *mcp.Server { return newServer(orders{w}, false).All() }, nil)
}

// Name the tools by what they do; any other, and any in the wrong class, fails.
func ExampleAnnotations() {
	var t *testing.T // yours

	tooltest.Annotations(t, newServer(orders{}, false).All(), tooltest.Intents{
		Read: []string{"orders_search"}, Destroy: []string{"order_cancel"},
	})
}

// A store of your own is held to the same contract as ours.
func ExampleStore() {
	var t *testing.T // yours

	tooltest.Store(t, func(*testing.T) tool.Store { return &tool.Memory{} })
}
