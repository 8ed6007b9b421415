package api

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

// openAPI reads the document as JSON values.
func openAPI(t testing.TB) map[string]any {
	t.Helper()
	text, err := os.ReadFile("../../docs/openapi/v1.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var doc any
	if err := yaml.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestOpenAPI_routes: the document names what the table has, with the role it
// wants, parameter by parameter, and nothing else.
func TestOpenAPI_routes(t *testing.T) {
	type line struct {
		Route, Role string
		Query       []string
	}
	var documented, served []line
	for path, methods := range openAPI(t)["paths"].(map[string]any) {
		for method, op := range methods.(map[string]any) {
			l := line{Route: strings.ToUpper(method) + " " + path}
			l.Role, _ = op.(map[string]any)["x-role"].(string)
			params, _ := op.(map[string]any)["parameters"].([]any)
			for _, p := range params {
				if p.(map[string]any)["in"] == "path" {
					continue // it is in the path itself
				}
				l.Query = append(l.Query, p.(map[string]any)["name"].(string))
			}
			slices.Sort(l.Query)
			documented = append(documented, l)
		}
	}
	for _, r := range routes {
		l := line{r.method + " " + r.path, string(r.role), slices.Clone(r.query)}
		slices.Sort(l.Query)
		served = append(served, l)
	}
	byRoute := func(a, b line) int { return strings.Compare(a.Route, b.Route) }
	slices.SortFunc(documented, byRoute)
	slices.SortFunc(served, byRoute)
	if diff := cmp.Diff(documented, served); diff != "" {
		t.Errorf("docs/openapi/v1.yaml and the routes differ (-documented +served):\n%s", diff)
	}
}

// conforms holds a value against a schema of the document.
func conforms(t *testing.T, schema string, raw []byte) {
	t.Helper()
	c := jsonschema.NewCompiler()
	if err := c.AddResource("doc.json", openAPI(t)); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("doc.json#/components/schemas/" + schema)
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(string(raw)))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(v); err != nil {
		t.Errorf("%s is no %s: %v", raw, schema, err)
	}
}
