package config

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/annotary/annotary"
)

func TestSet(t *testing.T) {
	for _, tc := range []struct {
		name, src, path string
		value           any
		want            string
	}{
		{"scalar with a comment", "a: 1   # one\nb: 2\n", "a", 7, "a: 7   # one\nb: 2\n"},
		{"quoted", "a: \"x # y\"  # z\n", "a", "it's", "a: it's  # z\n"},
		{"single quoted", "a: 'it''s'\nb: 2\n", "a", true, "a: true\nb: 2\n"},
		{"text that looks like a number", "a: x\n", "a", "7", "a: \"7\"\n"},
		{"multi-line plain", "a: one\n  two\n\n  three # c\nb: 2\n", "a", "x", "a: x # c\nb: 2\n"},
		{"literal", "a: |\n  one\n\n  two\n\n# c\nb: 2\n", "a", "x", "a: x\n\n# c\nb: 2\n"},
		{"new key after a kept literal", "a:\n  b: |+\n    x\n\nc: 1\n", "a.d", 2, "a:\n  b: |+\n    x\n\n  d: 2\nc: 1\n"},
		{"new key", "a:\n  b: 1 # c\n\n  # end of a\nz: 1\n", "a.c", 2, "a:\n  b: 1 # c\n  c: 2\n\n  # end of a\nz: 1\n"},
		{"new path", "a: 1\n", "x.k.z", []string{"p", "q, r"}, "a: 1\nx:\n  k:\n    z: [p, 'q, r']\n"},
		{"without a last newline", "a: 1", "b", 2, "a: 1\nb: 2\n"},
		{"empty file", "", "a.b", 1, "a:\n  b: 1\n"},
		{"only comments", "# hello\n", "a", 1, "# hello\na: 1\n"},
		{"section without a value", "a: # none\n# c\nb: 1\n", "a.x", 1, "a: # none\n  x: 1\n# c\nb: 1\n"},
		{"set a key without a value", "a:\nb: 1\n", "a", "x", "a: x\nb: 1\n"},
		{"explicit null", "a: ~ # c\n", "a.x", 1, "a: {x: 1} # c\n"},
		{"flow", "a: {b: 1, c: [x, y]} # d\n", "a.c", "z", "a: {b: 1, c: z} # d\n"},
		{"add to flow", "a: {b: 1, c: [x, y] } # d\n", "a.e.f", 2, "a: {b: 1, c: [x, y] , e: {f: 2}} # d\n"},
		{"add to empty flow", "a: {}\n", "a.b", 2, "a: {b: 2}\n"},
		{"add after a trailing comma", "a: {\n  b: 1, # c\n}\n", "a.c", 2, "a: {\n  b: 1, # c\nc: 2}\n"},
		{"windows", "a: 1\r\nb:\r\n  c: 2\r\n", "b.d", 3, "a: 1\r\nb:\r\n  c: 2\r\n  d: 3\r\n"},
		{"byte order mark", "\ufeffa: 1\n", "a", 2, "\ufeffa: 2\n"},
		{"wide characters", "é: {ü: ö} # ß\n", "é.ü", "ä", "é: {ü: ä} # ß\n"},
		{"awkward key", "a: 1\n", "s/t: #", true, "a: 1\n's/t: #': true\n"},
		{"block by flow", "a:\n  b: 1\n  c: 2\nd: 3\n", "a", map[string]any{"x": 1}, "a:\n  {x: 1}\nd: 3\n"},
		{"newlines in text", "a: 1\n", "a", "x\ny", "a: \"x\\ny\"\n"},
		{"same value", "a:   0x10\n", "a", "0x10", "a:   \"0x10\"\n"},
		{"nothing to do", "a:   'x'\n", "a", "x", "a:   'x'\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path := strings.Split(tc.path, ".")
			got, err := Set([]byte(tc.src), path, tc.value)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, string(got)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestSetRefuses(t *testing.T) {
	for _, tc := range []struct{ name, src, path, want string }{
		{"through a scalar", "a: 1\n", "a.b", "cannot set a.b: something on the way there is not a mapping"},
		{"comments inside", "a:\n  # why\n  b: 1\n", "a", "cannot set a: it would lose the comments inside"},
		{"comment inside flow", "a: [x, # why\n  y]\n", "a", "cannot set a: it would lose the comments inside"},
		{"not YAML", "a: [\n", "a", "annotary.yaml:1:1: not valid YAML: did not find expected node content"},
		{"alias", "a: &x 1\nb: 2\n", "b", "annotary.yaml:1:4: anchors and aliases are not read here"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := Set([]byte(tc.src), strings.Split(tc.path, "."), "new")
			if err == nil || err.Error() != tc.want {
				t.Errorf("got %q, %v\nwant %s", got, err, tc.want)
			}
		})
	}
}

// TestSetKeepsTheRest edits random files at random places: re-reading gives
// the new value, nothing else is said differently, and no line changes that
// does not hold the value.
func TestSetKeepsTheRest(t *testing.T) {
	const runs = 5000
	refused := 0
	for seed := range uint64(runs) {
		r := rand.New(rand.NewPCG(seed, 1))
		f := &file{r: r, newline: pick(r, "\n", "\n", "\r\n"), lines: map[string]int{}}
		f.mapping(0, 3, nil)
		src := f.String()
		path := f.place()
		value := pick[any](r, 42, true, "plain", "with: colon", "#x", "1", "", "ü", []string{"a", "b, c"}, map[string]any{"k": "v", "n": 1})
		got, err := Set([]byte(src), path, value)
		if annotary.CodeOf(err) == annotary.CodeConfig && strings.Contains(err.Error(), "comments inside") {
			refused++
			continue
		}
		if err == nil {
			err = onlyChanged(src, string(got), path, value, f.linesOf(path))
		}
		if err != nil {
			t.Fatalf("seed %d: set %q to %#v: %v\n--- before\n%s\n--- after\n%s", seed, path, value, err, src, got)
		}
	}
	if refused > runs/4 {
		t.Errorf("%d of %d edits were refused", refused, runs)
	}
}

// onlyChanged reports what an edit did that it should not have done.
func onlyChanged(before, after string, path []string, value any, lines int) error {
	was, err := document([]byte(before))
	if err != nil {
		return err
	}
	is, err := document([]byte(after))
	if err != nil {
		return fmt.Errorf("the result cannot be read: %w", err)
	}
	if !same(is, planted(was, path, value)) {
		return fmt.Errorf("the result says something else")
	}
	old, now := strings.SplitAfter(before, "\n"), strings.SplitAfter(after, "\n")
	for len(old) > 0 && len(now) > 0 && old[0] == now[0] {
		old, now = old[1:], now[1:]
	}
	for len(old) > 0 && len(now) > 0 && old[len(old)-1] == now[len(now)-1] {
		old, now = old[:len(old)-1], now[:len(now)-1]
	}
	if len(old) > lines {
		return fmt.Errorf("%d lines changed, the value has %d", len(old), lines)
	}
	for _, line := range old {
		if _, c, ok := strings.Cut(line, "# c"); ok && !strings.Contains(strings.Join(now, ""), "# c"+c) {
			return fmt.Errorf("the comment on %q is gone", line)
		}
	}
	return nil
}

// A file is random YAML, written in many styles, and the paths in it.
type file struct {
	strings.Builder
	r       *rand.Rand
	newline string
	paths   [][]string
	lines   map[string]int // of the value of each path
}

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

func (f *file) line(format string, args ...any) {
	fmt.Fprintf(f, format, args...)
	f.WriteString(f.newline)
}

func (f *file) noise(indent string) {
	switch f.r.IntN(6) {
	case 0:
		f.line("")
	case 1:
		f.line("%s# c%d", indent, f.r.IntN(1e6))
	case 2:
		f.line("")
		f.line("%s# c%d: {not: [yaml", indent, f.r.IntN(1e6))
	}
}

func (f *file) mapping(indent, depth int, at []string) {
	pad := strings.Repeat(" ", indent)
	for i := range 1 + f.r.IntN(4) {
		f.noise(pad)
		key := fmt.Sprintf("%s%d", pick(f.r, "k", "ü", "a-b", "x/y"), i)
		path := append(slices.Clone(at), key)
		f.paths = append(f.paths, path)
		before := strings.Count(f.String(), "\n")
		f.entry(pad, key, depth, path)
		f.lines[strings.Join(path, "\x00")] = strings.Count(f.String(), "\n") - before
	}
}

// linesOf is how many lines an edit at path may touch: those of the value that
// is there, or the one it is added to.
func (f *file) linesOf(path []string) int {
	return max(1, f.lines[strings.Join(path, "\x00")])
}

func (f *file) entry(pad, key string, depth int, path []string) {
	comment := pick(f.r, "", "", fmt.Sprintf(" # c%d", f.r.IntN(1e6)))
	switch n := f.r.IntN(12); {
	case n < 4 && depth > 0:
		f.line("%s%s:%s", pad, key, comment)
		f.mapping(len(pad)+pick(f.r, 1, 2, 4), depth-1, path)
	case n == 4:
		f.line("%s%s: {a: 1, \"b\": 'x, }', c: [p, q]}%s", pad, key, comment)
		f.paths = append(f.paths, append(slices.Clone(path), "b"))
	case n == 5:
		f.line("%s%s:", pad, key)
		f.line("%s- one%s", pad, comment)
		f.line("%s- {two: 2}", pad)
	case n == 6:
		f.line("%s%s: %s%s", pad, key, pick(f.r, "|", ">-", "|+"), comment)
		f.line("%s  text # no comment", pad)
		f.line("")
		f.line("%s    more", pad)
		f.line("")
		// Ends what "+" keeps, so that the blank lines after it are nobody's.
		f.line("%s# c%d", pad, f.r.IntN(1e6))
	case n == 7:
		f.line("%s%s: plain text", pad, key)
		f.line("%s   goes on", pad)
	case n == 8:
		f.line("%s%s:%s", pad, key, comment)
	default:
		f.line("%s%s: %s%s", pad, key, pick(f.r, "1", "true", "~", "plain", "'it''s'", `"q\"#"`, "a#b", "[]", "{}", "'x: y'"), comment)
	}
}

// place returns a path that exists, or one that goes on from there.
func (f *file) place() []string {
	path := slices.Clone(pick(f.r, f.paths...))
	root, err := document([]byte(f.String()))
	if err != nil {
		panic(err)
	}
	n := lookup(root, path...)
	if n.Kind == yaml.MappingNode || isNull(n) {
		for range f.r.IntN(3) {
			path = append(path, pick(f.r, "new", "s/t", "7", "a: b"))
		}
	}
	return path
}

func TestSetFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, FileName)
	src := "# mine\nservers:\n  a: {command: x} # the only one\n"
	if err := os.WriteFile(path, []byte(src), 0o640); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link.yaml")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if err := SetFile(link, Edit{[]string{"limits", "depth"}, 9}); err != nil {
		t.Fatal(err)
	}
	got, _ := os.ReadFile(path)
	if want := src + "limits:\n  depth: 9\n"; string(got) != want {
		t.Errorf("got %q\nwant %q", got, want)
	}
	info, _ := os.Stat(path)
	if info.Mode().Perm() != 0o640 {
		t.Errorf("mode = %v, want 0640", info.Mode())
	}
	if err := SetFile(path, Edit{[]string{"limits", "deep"}, 9}); annotary.CodeOf(err) != annotary.CodeConfig {
		t.Errorf("an unknown key was written: %v", err)
	}
	after, _ := os.ReadFile(path)
	if string(after) != string(got) {
		t.Errorf("a refused edit changed the file: %q", after)
	}
	if names, _ := filepath.Glob(filepath.Join(dir, ".*")); len(names) > 0 {
		t.Errorf("left behind: %v", names)
	}
}
