package annotary_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestDependencies demands a line in docs/dependencies.md for every module that
// is required directly, and none for another.
func TestDependencies(t *testing.T) {
	required := map[string]bool{}
	for _, file := range []string{"go.mod", "find/testdata/eval/go.mod"} {
		for line := range strings.Lines(readText(t, file)) {
			words := strings.Fields(strings.TrimPrefix(line, "require "))
			if len(words) == 2 && strings.HasPrefix(words[1], "v") && words[0] != module {
				required[words[0]] = false
			}
		}
	}
	for line := range strings.Lines(readText(t, "docs/dependencies.md")) {
		cells := strings.Split(line, "|")
		if len(cells) < 3 {
			continue
		}
		for _, code := range backticks.FindAllStringSubmatch(cells[1], -1) {
			if _, ok := required[code[1]]; !ok {
				t.Errorf("docs/dependencies.md has a line for %s, which nothing requires", code[1])
			}
			required[code[1]] = true
		}
	}
	for path, told := range required {
		if !told {
			t.Errorf("%s has no line in docs/dependencies.md", path)
		}
	}
}

var backticks = regexp.MustCompile("`([^`]+)`")

func readText(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
