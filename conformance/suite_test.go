// Package conformance_test runs the official conformance suite of MCP against
// the gateway, in front of the Go SDK's own conformance server, in both eras,
// and holds the result against that server alone: what passes direct must pass
// through us.
//
// baseline.txt lists what may fail and why. A line in it that passes fails the
// build, so that the list can only shrink unnoticed, never grow.
package conformance_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/annotary/annotary/internal/testenv"
)

// suite runs the official suite with the given arguments and returns what it
// found.
func suite(t *testing.T, args ...string) report {
	t.Helper()
	out := t.TempDir()
	index := testenv.NPM(t, "@modelcontextprotocol", "conformance", "dist", "index.js")
	args = append([]string{index}, append(args, "-o", out)...)
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, testenv.Node(t), args...)
	// Chatter of the suite would drown a failure; its findings are in files.
	log, err := cmd.CombinedOutput()
	r := readReport(t, out)
	if len(r) == 0 {
		t.Fatalf("the suite reported nothing: %v\n%s", err, log)
	}
	return r
}

// A report holds the checks of every scenario that ran.
type report map[string][]check

// A check is one thing the suite looked at.
type check struct {
	ID           string `json:"id"`
	Status       string `json:"status"`
	Description  string `json:"description"`
	ErrorMessage string `json:"errorMessage"`
}

// resultDir is how the suite names the folder of one scenario.
var resultDir = regexp.MustCompile(`^(?:server-|client-)?(.*)-\d{4}-\d\d-\d\dT[\d-]+Z$`)

func readReport(t *testing.T, dir string) report {
	t.Helper()
	r := report{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.Name() != "checks.json" {
			return err
		}
		// Scenarios with a slash in their name are folders in folders.
		rel, _ := filepath.Rel(dir, filepath.Dir(path))
		m := resultDir.FindStringSubmatch(filepath.ToSlash(rel))
		if m == nil {
			return fmt.Errorf("cannot tell the scenario of %s", path)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var checks []check
		if err := json.Unmarshal(data, &checks); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		r[m[1]] = checks
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// failing returns the scenarios in which a check failed, and the failures.
func (r report) failing() map[string]string {
	failed := map[string]string{}
	for name, checks := range r {
		for _, c := range checks {
			if c.Status == "FAILURE" {
				failed[name] += fmt.Sprintf("\n    %s: %s: %s", c.ID, c.Description, c.ErrorMessage)
			}
		}
	}
	return failed
}

// required returns the scenarios a revision requires, as the suite lists them.
func required(t *testing.T, side, revision string) []string {
	t.Helper()
	path := testenv.NPM(t, "@modelcontextprotocol", "conformance", "requirements", revision+".yaml")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	in := false
	for line := range strings.Lines(string(data)) {
		if key, ok := strings.CutSuffix(strings.TrimRight(line, "\n"), ":"); ok && !strings.HasPrefix(line, " ") {
			in = key == side
		}
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "- "); ok && in {
			name, _, _ = strings.Cut(name, " #")
			names = append(names, strings.Trim(strings.TrimSpace(name), `'"`))
		}
	}
	if len(names) == 0 {
		t.Fatalf("%s requires nothing of a %s", path, side)
	}
	return names
}

// hold compares the scenarios that failed with the baseline of a run: side,
// revision and way.
func hold(t *testing.T, r report, run string) {
	t.Helper()
	allowed := baseline(t, run)
	for name, why := range r.failing() {
		if _, ok := allowed[name]; !ok {
			t.Errorf("%s fails and is not in baseline.txt:%s", name, why)
		}
		delete(allowed, name)
	}
	for _, name := range slices.Sorted(maps.Keys(allowed)) {
		if len(r[name]) == 0 {
			t.Errorf("%s is in baseline.txt for %q but did not run", name, run)
			continue
		}
		t.Errorf("%s passes: remove its line for %q from baseline.txt", name, run)
	}
}

// baseline returns the scenarios that may fail in a run, with the reasons.
func baseline(t *testing.T, run string) map[string]string {
	t.Helper()
	data, err := os.ReadFile("baseline.txt")
	if err != nil {
		t.Fatal(err)
	}
	allowed := map[string]string{}
	n := 0
	for line := range strings.Lines(string(data)) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		fields := strings.Fields(line)
		if len(fields) < 5 {
			t.Fatalf("baseline.txt:%d: write: side revision way scenario reason", n)
		}
		if strings.Join(fields[:3], " ") == run {
			allowed[fields[3]] = strings.Join(fields[4:], " ")
		}
	}
	return allowed
}

// program builds a command once and returns its path.
func program(t *testing.T, pkg string) string {
	t.Helper()
	built.Lock()
	defer built.Unlock()
	path := filepath.Join(built.dir, filepath.Base(pkg))
	if _, err := os.Stat(path); err == nil {
		return path
	}
	cmd := exec.CommandContext(t.Context(), testenv.Program(t, "go"), "build", "-o", path, pkg)
	cmd.Dir = testenv.Root(t)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building %s: %v\n%s", pkg, err, out)
	}
	return path
}

var built struct {
	sync.Mutex
	dir string
}

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "annotary-conformance-")
	if err != nil {
		panic(err)
	}
	built.dir = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// start runs a program until the test ends and waits until it listens.
func start(t *testing.T, addr, path string, args ...string) {
	t.Helper()
	cmd := exec.Command(path, args...)
	log := &tail{}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
		case <-time.After(15 * time.Second):
			_ = cmd.Process.Kill()
			t.Errorf("%s did not end when asked to", path)
		}
		if t.Failed() {
			t.Logf("%s said:\n%s", filepath.Base(path), log)
		}
	})
	for range 300 {
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("%s ended: %v\n%s", path, err, log)
		default:
		}
		if testenv.Listening(addr) {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("%s does not listen on %s\n%s", path, addr, log)
}

// tail keeps the end of what a program writes.
type tail struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *tail) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.buf.Len() > 64<<10 {
		l.buf.Reset()
	}
	return l.buf.Write(p)
}

func (l *tail) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// freeAddr returns a loopback address nobody listens on, from below the ports
// that outgoing connections of other tests are given.
func freeAddr(t *testing.T) string {
	t.Helper()
	for range 100 {
		addr := fmt.Sprintf("127.0.0.1:%d", 20000+rand.IntN(12000))
		if l, err := net.Listen("tcp", addr); err == nil {
			_ = l.Close()
			return addr
		}
	}
	t.Fatal("no port is free")
	return ""
}

// The programs: ours, and the SDK's own conformance server, pinned in go.mod.
const (
	annotaryCommand  = "github.com/annotary/annotary/cmd/annotary"
	everythingServer = "github.com/modelcontextprotocol/go-sdk/conformance/everything-server"
)

// sdkServer starts the SDK's own conformance server and returns its URL.
func sdkServer(t *testing.T, stateless bool) string {
	t.Helper()
	addr := freeAddr(t)
	start(t, addr, program(t, everythingServer), "-http", addr, fmt.Sprintf("-stateless=%t", stateless))
	return "http://" + addr + "/mcp"
}
