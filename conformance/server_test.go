package conformance_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

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

// TestServer runs every server scenario of both revisions, direct, through the
// gateway, and through one that judges and permits everything. What passes direct
// must pass through the gateway, check by check.
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
			hold(t, direct, "server "+era.revision+" direct")
			for _, name := range need {
				if len(direct[name]) == 0 {
					t.Errorf("%s is required and did not run", name)
				}
			}
			through := suite(t, "server", "--url", gateway(t, "{url: "+url+"}").url, "--requirements", era.revision)
			hold(t, through, "server "+era.revision+" gateway")
			equal(t, direct, through)
			judged := suite(t, "server", "--url", judgingGateway(t, "url: "+url).url, "--requirements", era.revision)
			hold(t, judged, "server "+era.revision+" gateway")
			equal(t, direct, judged)
		})
	}
}

// TestServerBehindPipe runs the same scenarios with the SDK's server as a
// command: the gateway then speaks HTTP for a server that does not.
func TestServerBehindPipe(t *testing.T) {
	for _, era := range eras {
		t.Run(era.revision, func(t *testing.T) {
			t.Parallel()
			url := gateway(t, "{command: "+program(t, everythingServer)+"}").url
			hold(t, suite(t, "server", "--url", url, "--requirements", era.revision), "server "+era.revision+" pipe")
			judged := judgingGateway(t, "command: "+program(t, everythingServer)).url
			hold(t, suite(t, "server", "--url", judged, "--requirements", era.revision), "server "+era.revision+" pipe")
		})
	}
}

// A running is annotary serve with one server, everything.
type running struct {
	url    string // of the server
	config string
}

func gateway(t *testing.T, server string) running {
	t.Helper()
	return serve(t, t.TempDir(), "preset: off\nservers:\n  everything: "+server+"\n")
}

// judgingGateway is one that judges every call and permits it: what servers ask
// too, and methods it does not know.
func judgingGateway(t *testing.T, server string) running {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "all.cedar"), []byte(allowAll), 0o600); err != nil {
		t.Fatal(err)
	}
	return serve(t, dir, "preset: off\npolicies: [all.cedar]\nservers:\n  everything: {"+server+", believe_hints: true, methods: ['*']}\n")
}

const allowAll = `permit(principal, action in [Action::"call", Action::"read", Action::"prompt", Action::"complete",
  Action::"unattended", Action::"sample", Action::"elicit", Action::"other"], resource);`

func serve(t *testing.T, dir, config string) running {
	t.Helper()
	addr := freeAddr(t)
	file := filepath.Join(dir, "annotary.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, "listen: %s\ndata: %q\n%s", addr, dir, config), 0o600); err != nil {
		t.Fatal(err)
	}
	start(t, addr, program(t, annotaryCommand), "serve", "--config", file)
	return running{"http://" + addr + "/mcp/s/everything", file}
}

// equal wants the same checks to pass through the gateway as direct.
func equal(t *testing.T, direct, through report) {
	t.Helper()
	for name := range direct {
		if diff := cmp.Diff(direct.passed(name), through.passed(name)); diff != "" {
			t.Errorf("%s: checks that passed (-direct +gateway)\n%s", name, diff)
		}
	}
	if got, want := len(through), len(direct); got != want {
		t.Errorf("%d scenarios ran through the gateway, %d direct", got, want)
	}
}

// passed lists the checks of one scenario that passed, sorted.
func (r report) passed(scenario string) []string {
	var ids []string
	for _, c := range r[scenario] {
		if c.Status == "SUCCESS" {
			ids = append(ids, c.ID)
		}
	}
	slices.Sort(ids)
	return ids
}
