package docs_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/annotary/annotary/internal/testenv"

	// The blocks are compiled by a go command whose reading the test cache does
	// not see. These imports make this test new whenever one of them changes.
	_ "github.com/annotary/annotary/agent"
	_ "github.com/annotary/annotary/derive"
	_ "github.com/annotary/annotary/find"
	_ "github.com/annotary/annotary/lint"
	_ "github.com/annotary/annotary/policy"
	_ "github.com/annotary/annotary/prompt"
	_ "github.com/annotary/annotary/shape"
	_ "github.com/annotary/annotary/tool"
	_ "github.com/annotary/annotary/tool/toolpg"
	_ "github.com/annotary/annotary/tool/tooltest"
)

// A block is a fenced piece of Go in a document.
type block struct {
	file string
	line int
	code string
}

// TestDocs_goBlocks runs every fenced Go block of the documents: programs with
// nothing on their standard input, tests as tests. A block is a whole file.
func TestDocs_goBlocks(t *testing.T) {
	t.Chdir(testenv.Root(t))
	blocks := goBlocks(t)
	if len(blocks) < 3 {
		t.Fatalf("only %d Go blocks were found", len(blocks))
	}
	for _, b := range blocks {
		name := strings.TrimSuffix(filepath.Base(b.file), ".md") + "-" + strconv.Itoa(b.line)
		t.Run(name, func(t *testing.T) { runBlock(t, b) })
	}
}

func runBlock(t *testing.T, b block) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	dir := t.TempDir()
	file := filepath.Join(dir, "block.go")
	args := []string{"run", file}
	switch {
	case strings.Contains(b.code, "func Test"):
		file = filepath.Join(dir, "block_test.go")
		args = []string{"test", file}
	case !strings.HasPrefix(b.code, "package main\n"):
		args = []string{"vet", file}
	}
	if err := os.WriteFile(file, []byte(b.code), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, "go", args...) // in this folder, so in this module
	// A reader runs a block for the first time, where a snapshot is made; in CI
	// a missing one fails.
	cmd.Env = append(os.Environ(), "CI=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s:%d: go %s: %v\n%s", b.file, b.line, args[0], err, out)
	}
}

// goBlocks finds the blocks of README.md and of everything below docs.
func goBlocks(t *testing.T) []block {
	t.Helper()
	var blocks []block
	for _, file := range append(pagesBelow(t, "docs"), "README.md") {
		var code []string
		start := 0
		for i, line := range strings.Split(read(t, file), "\n") {
			switch {
			case start == 0 && strings.TrimSpace(line) == "```go":
				start, code = i+2, nil
			case start > 0 && strings.TrimSpace(line) == "```":
				blocks = append(blocks, block{file, start, strings.Join(code, "\n") + "\n"})
				start = 0
			case start > 0:
				code = append(code, line)
			}
		}
	}
	return blocks
}
