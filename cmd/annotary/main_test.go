package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/annotary/annotary/internal/cli"
)

// TestMain lets testscript run this very binary under the name annotary, so
// that the scripts go through the front door.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"annotary": func() { os.Exit(cli.Main()) },
	})
}

func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
	})
}
