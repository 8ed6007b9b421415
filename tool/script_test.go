package tool_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/annotary/annotary/internal/cli"
	"github.com/annotary/annotary/internal/testenv"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"annotary": func() { os.Exit(cli.Main()) },
	})
}

// TestScript runs the Go compiler over programs of authors. ROOT is this
// repository, in which they are compiled.
func TestScript(t *testing.T) {
	root := testenv.Root(t)
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("ROOT", root)
			for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPATH"} {
				out, err := exec.Command("go", "env", name).Output()
				if err != nil {
					return err
				}
				env.Setenv(name, strings.TrimSpace(string(out)))
			}
			env.Setenv("GOFLAGS", "-mod=readonly")
			return nil
		},
	})
}
