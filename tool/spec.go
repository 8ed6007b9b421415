package tool

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/annotary/annotary"
)

// A Spec describes a tool to people and models. Name, Title and Description are
// needed.
type Spec struct {
	// Name is how it is called: 1 to 128 of A-Z a-z 0-9 _ - and dot.
	Name string
	// Title is what people read on a button: "Cancel order".
	Title string
	// Description tells a model when to use it.
	Description string

	// Our four hints. Unknown, the zero value, says nothing.
	Sensitive  annotary.Value // results may hold private data
	Untrusted  annotary.Value // results may hold a stranger's words
	Egress     annotary.Value // arguments may leave the trust boundary
	Reversible annotary.Value // there is a way back

	// View is what the tool opens in hosts that render MCP Apps.
	View *View
	// AppOnly hides the tool from models: only the server's own views call it.
	// It says nothing about safety, so the intent is as honest as elsewhere.
	AppOnly bool

	// Timeout ends a call. If zero, the server's; if negative, none.
	Timeout time.Duration
	// Limit is the most characters of a result. If zero, the server's; if
	// negative, none.
	Limit int

	// Input and Output, if set, adjust the schemas inferred from the handler's
	// types, for what Go's types cannot say: enumerations, bounds, formats.
	Input, Output func(*jsonschema.Schema)
}

// check reports what is missing or wrong, beside the types.
func (sp *Spec) check(i Intent) error {
	switch {
	case !i.decided:
		return errors.New("its hints are not decided, or contradict each other")
	case sp.Title == "" || sp.Description == "":
		return errors.New("a title and description are needed")
	case sp.View != nil && (!strings.HasPrefix(sp.View.URI, "ui://") || sp.View.HTML == ""):
		return errors.New("a view needs a URI that begins with ui:// and a page")
	}
	return checkName(sp.Name)
}

const (
	maxName      = 128
	nameAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-."
)

// checkName holds a name to the specification: clients drop or rename others.
func checkName(name string) error {
	const rule = "a name has 1 to 128 of A-Z a-z 0-9 _ - and dot"
	for _, r := range name {
		if !strings.ContainsRune(nameAlphabet, r) {
			return fmt.Errorf("%s, not %q", rule, r)
		}
	}
	if name == "" || len(name) > maxName {
		return fmt.Errorf("%s; it has %d", rule, len(name))
	}
	return nil
}

// A View is an MCP App: a page in the server that a host renders beside a
// tool's result.
type View struct {
	// URI names it: ui://orders/view.html.
	URI string
	// Title is for people.
	Title string
	// HTML is the whole page.
	HTML string
	// Connect and Load are the origins the page may talk to and load from.
	// Without them hosts allow none.
	Connect, Load []string
}

// The keys and types of MCP Apps.
const (
	viewMIME      = "text/html;profile=mcp-app"
	viewExtension = "io.modelcontextprotocol/ui"
	viewFlatKey   = "ui/resourceUri" // what hosts read before _meta.ui
)

// definition writes the tool as it goes out. All four hints are set, because
// hosts disagree about what a missing one means.
func (sp *Spec) definition(i Intent, input, output *jsonschema.Schema) *mcp.Tool {
	a := i.annotations
	t := &mcp.Tool{
		Name:        sp.Name,
		Title:       sp.Title,
		Description: sp.Description,
		InputSchema: input,
		Annotations: &mcp.ToolAnnotations{
			Title:           sp.Title, // some directories look only here
			ReadOnlyHint:    a.ReadOnly,
			DestructiveHint: &a.Destructive,
			IdempotentHint:  a.Idempotent,
			OpenWorldHint:   &a.OpenWorld,
		},
		Meta: mcp.Meta{},
	}
	if output != nil {
		t.OutputSchema = output
	}
	if ours := sp.ours(); len(ours) > 0 {
		t.Meta[annotary.MetaHints] = ours
	}
	sp.viewMeta(t.Meta)
	return t
}

// ours are the hints of ours that were decided.
func (sp *Spec) ours() map[string]any {
	said := map[string]any{}
	for name, v := range map[annotary.HintName]annotary.Value{
		annotary.Sensitive: sp.Sensitive, annotary.Untrusted: sp.Untrusted,
		annotary.Egress: sp.Egress, annotary.Reversible: sp.Reversible,
	} {
		if v != annotary.Unknown {
			said[name.String()] = v == annotary.Yes
		}
	}
	return said
}

func (sp *Spec) viewMeta(meta mcp.Meta) {
	if sp.View == nil && !sp.AppOnly {
		return
	}
	ui := map[string]any{"visibility": []string{"model", "app"}}
	if sp.AppOnly {
		ui["visibility"] = []string{"app"}
	}
	if sp.View != nil {
		ui["resourceUri"] = sp.View.URI
		meta[viewFlatKey] = sp.View.URI
	}
	meta["ui"] = ui
}

// resource returns the view as a resource.
func (v *View) resource() *mcp.Resource {
	return &mcp.Resource{URI: v.URI, Name: v.URI, Title: v.Title, MIMEType: viewMIME, Meta: v.meta()}
}

func (v *View) meta() mcp.Meta {
	csp := map[string]any{}
	if len(v.Connect) > 0 {
		csp["connectDomains"] = v.Connect
	}
	if len(v.Load) > 0 {
		csp["resourceDomains"] = v.Load
	}
	return mcp.Meta{"ui": map[string]any{"csp": csp}}
}
