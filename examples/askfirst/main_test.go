package main

import (
	"bytes"
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestMain lets the test's own binary be the server, as the program's is.
func TestMain(m *testing.M) {
	if os.Getenv("ASKFIRST_SERVE") != "" {
		exit(newShop().Stdio(context.Background()))
	}
	os.Exit(m.Run())
}

// TestRun plays the script with different answers. Whatever a person does not
// answer with yes has not happened: the real server says so at the end.
func TestRun(t *testing.T) {
	for name, answers := range map[string]string{
		"yes":     "yes\nyes\n",
		"no":      "yes\nno\n",
		"silence": "",
		"doubt":   "yes\nwell, perhaps yes\n",
	} {
		t.Run(name, func(t *testing.T) {
			server := exec.Command(os.Args[0])
			server.Env = append(os.Environ(), "ASKFIRST_SERVE=1")
			var out bytes.Buffer
			if err := run(t.Context(), server, strings.NewReader(answers), &out); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join("testdata", name+".txt")
			if *update {
				if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), out.String()); diff != "" {
				t.Errorf("%s (-want +got; -update rewrites):\n%s", path, diff)
			}
			cancelled := strings.Contains(out.String(), `{"orders":[{"id":"A-17","notes":["wants to cancel"],"status":"cancelled"}]}`)
			if cancelled != (name == "yes") {
				t.Errorf("cancelled: %v", cancelled)
			}
		})
	}
}
