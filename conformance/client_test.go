package conformance_test

import (
	"slices"
	"strings"
	"testing"
)

// clientScenarios are those required of a client that are not about
// authorisation.
var clientScenarios = []string{
	"tools_call",
	"request-metadata",
	"sep-2322-client-request-state",
	"http-standard-headers",
	"http-custom-headers",
	"http-invalid-tool-headers",
	"json-schema-ref-no-deref",
}

// TestClient runs the client scenarios against the upstream leg.
func TestClient(t *testing.T) {
	for _, name := range required(t, "client", "2026-07-28") {
		if !strings.HasPrefix(name, "auth/") && !slices.Contains(clientScenarios, name) {
			t.Errorf("%s is required of a client and not run", name)
		}
	}
	command := program(t, "github.com/annotary/annotary/conformance/client")
	for _, name := range clientScenarios {
		t.Run(name, func(t *testing.T) {
			r := suite(t, "client", "--command", command, "--scenario", name, "--spec-version", "2026-07-28")
			hold(t, r, "client 2026-07-28 direct")
			if len(r.passed(name)) == 0 {
				t.Errorf("no check passed: %v", r)
			}
			for _, c := range r[name] {
				if c.Status == "WARNING" {
					t.Errorf("%s: %s", c.ID, c.Description)
				}
			}
		})
	}
}
