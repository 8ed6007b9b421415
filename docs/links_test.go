package docs_test

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/annotary/annotary/internal/testenv"
)

// link is what a document points at: an address after a text in brackets, which
// may go over a line's end.
var link = regexp.MustCompile(`\]\(([^()\s]+)\)`)

// TestLinks: every link of a document leads somewhere, a heading too, and the index
// leads to every page.
func TestLinks(t *testing.T) {
	t.Chdir(testenv.Root(t))
	pages := append(pagesBelow(t, "docs"), "README.md", "CONTRIBUTING.md", "SECURITY.md")
	indexed := []string{"docs/README.md"}
	for _, page := range pages {
		for _, m := range link.FindAllStringSubmatch(read(t, page), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			target, heading, _ := strings.Cut(m[1], "#")
			if target = path.Join(path.Dir(page), target); strings.HasPrefix(m[1], "#") {
				target = page
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s points at %s, which is not there", page, m[1])
			} else if heading != "" && !slices.Contains(headings(read(t, target)), heading) {
				t.Errorf("%s points at a heading that is not there: %s", page, m[1])
			}
			if page == "docs/README.md" {
				indexed = append(indexed, target)
			}
		}
	}
	for _, page := range pagesBelow(t, "docs") {
		if !slices.Contains(indexed, page) {
			t.Errorf("docs/README.md does not lead to %s", page)
		}
	}
}

// headings returns the headings of a page as links name them.
func headings(text string) []string {
	var all []string
	drop := regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	for line := range strings.Lines(text) {
		if name, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); ok && strings.HasPrefix(line, "#") {
			name = drop.ReplaceAllString(strings.ToLower(strings.TrimSpace(name)), "")
			all = append(all, strings.ReplaceAll(name, " ", "-"))
		}
	}
	return all
}

func pagesBelow(t *testing.T, folder string) []string {
	t.Helper()
	var pages []string
	err := filepath.WalkDir(folder, func(name string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(name, ".md") {
			pages = append(pages, filepath.ToSlash(name))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

func read(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
