package conformance_test

import "testing"

// eras are the two revisions the gateway is held to, and how the SDK's server
// speaks them.
var eras = []struct {
	revision  string
	stateless bool
	required  int
}{
	{"2026-07-28", true, 37},
	{"2025-11-25", false, 30},
}

// TestServer runs every server scenario of both revisions, direct and through
// the gateway.
func TestServer(t *testing.T) {
	for _, era := range eras {
		t.Run(era.revision, func(t *testing.T) {
			t.Parallel()
			need := required(t, "server", era.revision)
			if got, want := len(need), era.required; got != want {
				t.Errorf("the revision requires %d scenarios, want %d", got, want)
			}
			url := sdkServer(t, era.stateless)
			direct := suite(t, "server", "--url", url, "--requirements", era.revision)
			t.Run("direct", func(t *testing.T) { hold(t, direct, "server "+era.revision+" direct") })
			for _, name := range need {
				if len(direct[name]) == 0 {
					t.Errorf("%s is required and did not run", name)
				}
			}
		})
	}
}
