package audit_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/audit"
)

func sample(i int) audit.Entry {
	h := annotary.PresetWrite.Hints(annotary.FromOperator, "")
	e := audit.Entry{Kind: audit.Decided, Call: fmt.Sprintf("c%d", i), Time: time.Unix(1763208000+int64(i), 123456789), Method: "tools/call", ArgumentsDigest: "sha256:00"}
	e.SetPrincipal(&annotary.Principal{Tenant: "default", Subject: "ann"})
	e.SetTool(&annotary.Tool{Server: "s", Name: "t", Stated: [8]annotary.Stated{annotary.ReadOnly: annotary.StatedNull}}, &h)
	e.SetDecision(annotary.Decision{Effect: annotary.Ask, Reasons: []annotary.Reason{{Code: "x", Rule: "r", At: annotary.Position{File: "f", Line: 3}}}})
	e.Severity = audit.SeverityOf(&h, annotary.Ask)
	return e
}

func TestEncodeDecode(t *testing.T) {
	line, err := sample(1).Encode()
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"v":1,"kind":"decided","call":"c1","time":"2025-11-15T12:00:01.123456Z","tenant":"default","subject":"ann","method":"tools/call","server":"s","tool":"t","declared":{"readOnly":"null"},"effective":{"destructive":{"value":false,"from":"operator"},"egress":{"value":null,"from":"default"},"idempotent":{"value":true,"from":"operator"},"openWorld":{"value":false,"from":"operator"},"readOnly":{"value":false,"from":"operator"},"reversible":{"value":null,"from":"default"},"sensitive":{"value":null,"from":"default"},"untrusted":{"value":null,"from":"default"}},"class":"write","severity":"low","argumentsDigest":"sha256:00","effect":"ask","reasons":[{"code":"x","rule":"r","at":"f:3"}]}`
	if diff := cmp.Diff(want, string(line)); diff != "" {
		t.Errorf("the form of an entry is a contract (-want +got):\n%s", diff)
	}
	back, err := audit.Decode(line)
	if err != nil {
		t.Fatal(err)
	}
	again, err := back.Encode()
	if err != nil || !bytes.Equal(line, again) {
		t.Errorf("decoded and encoded again: %s, %v", again, err)
	}
}

func TestEncodeIsBounded(t *testing.T) {
	e := sample(1)
	e.Arguments = json.RawMessage(`"` + strings.Repeat("x", audit.MaxBytes) + `"`)
	line, err := e.Encode()
	if err != nil || len(line) > audit.MaxBytes {
		t.Fatalf("%d bytes, %v", len(line), err)
	}
	back, err := audit.Decode(line)
	if err != nil || back.Arguments != nil || !cmp.Equal(back.Hidden, []string{"/arguments"}) {
		t.Errorf("cut entry says hidden %v, %v", back.Hidden, err)
	}
}

func TestSeverityFollowsHints(t *testing.T) {
	read, destroy := annotary.PresetReadOnly.Hints(annotary.FromOperator, ""), annotary.Pessimistic()
	if got := audit.SeverityOf(&read, annotary.Allow); got != audit.Info {
		t.Errorf("a read is %s", got)
	}
	if got := audit.SeverityOf(&destroy, annotary.Allow); got != audit.High {
		t.Errorf("destruction is %s", got)
	}
	if got := audit.SeverityOf(&read, annotary.Deny); got != audit.Low {
		t.Errorf("a refused read is %s", got)
	}
}

// A log is n entries sealed every few entries.
type log struct {
	lines, points [][]byte
	leaves        []byte
	key           audit.Key
}

func newLog(t testing.TB, n, every int) *log {
	t.Helper()
	secret, err := audit.NewKey("annotary-test")
	if err != nil {
		t.Fatal(err)
	}
	l := &log{}
	if l.key, err = audit.ParseKey(secret); err != nil {
		t.Fatal(err)
	}
	tree := &audit.Tree{}
	for i := range n {
		line, err := sample(i).Encode()
		if err != nil {
			t.Fatal(err)
		}
		l.lines = append(l.lines, line)
		h := audit.LeafHash(line)
		l.leaves = append(l.leaves, h[:]...)
		tree.Add(h)
		if (i+1)%every == 0 {
			l.seal(t, tree)
		}
	}
	return l
}

func (l *log) seal(t testing.TB, tree *audit.Tree) {
	t.Helper()
	root, err := tree.Root()
	if err != nil {
		t.Fatal(err)
	}
	signed, err := audit.Checkpoint{Origin: "annotary/default", Size: tree.Size(), Root: root}.Sign(l.key)
	if err != nil {
		t.Fatal(err)
	}
	l.points = append(l.points, signed)
}

func (l *log) verify(lines [][]byte, change func(*audit.Sources)) (audit.Report, error) {
	s := audit.Sources{
		Entries:     bytes.NewReader(append(bytes.Join(lines, []byte("\n")), '\n')),
		Leaves:      bytes.NewReader(l.leaves),
		Checkpoints: l.points, Keys: []string{l.key.Public()},
	}
	if change != nil {
		change(&s)
	}
	return audit.Verify(s)
}

func TestVerify(t *testing.T) {
	l := newLog(t, 100, 10)
	edited := bytes.Replace(l.lines[37], []byte("ann"), []byte("bob"), 1)
	splice := func(i, drop int, put ...[]byte) [][]byte {
		out := append([][]byte(nil), l.lines[:i]...)
		return append(append(out, put...), l.lines[i+drop:]...)
	}
	for _, tt := range []struct {
		name  string
		lines [][]byte
		bad   int64
	}{
		{"whole", l.lines, -1},
		{"removed", splice(37, 1), 37},
		{"edited", splice(37, 1, edited), 37},
		{"carriage return", splice(37, 1, append(bytes.Clone(l.lines[37]), '\r')), 37},
		{"swapped", splice(37, 2, l.lines[38], l.lines[37]), 37},
		{"inserted", splice(37, 0, edited), 37},
		{"first", splice(0, 1), 0},
		{"tail-cut", l.lines[:95], 95},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rep, err := l.verify(tt.lines, nil)
			if err != nil || rep.Bad != tt.bad {
				t.Errorf("bad entry %d (%s), %v, want %d", rep.Bad, rep.Why, err, tt.bad)
			}
			rep, err = l.verify(tt.lines, func(s *audit.Sources) { s.Leaves = nil })
			if err != nil || (tt.bad >= 0 && (tt.bad < rep.Bad || tt.bad >= rep.BadBefore)) {
				t.Errorf("without leaves: range [%d,%d), %v, want %d in it", rep.Bad, rep.BadBefore, err, tt.bad)
			}
		})
	}
}

// TestVerifyOneCheckpoint: the leaves name the bad entry however far the next
// checkpoint is.
func TestVerifyOneCheckpoint(t *testing.T) {
	l := newLog(t, 1000, 1000)
	for name, tt := range map[string]struct {
		lines [][]byte
		bad   int64
	}{
		"removed":        {slices.Delete(slices.Clone(l.lines), 37, 38), 37},
		"last removed":   {l.lines[:999], 999},
		"two swapped":    {slices.Concat(l.lines[:500], [][]byte{l.lines[501], l.lines[500]}, l.lines[502:]), 500},
		"tail of 10 cut": {l.lines[:990], 990},
	} {
		if rep, err := l.verify(tt.lines, nil); err != nil || rep.Bad != tt.bad || rep.BadBefore != tt.bad+1 {
			t.Errorf("%s: [%d,%d) (%s), %v, want %d", name, rep.Bad, rep.BadBefore, rep.Why, err, tt.bad)
		}
	}
	// Leaves that were changed along with the entry convince nobody.
	edited := bytes.Replace(l.lines[37], []byte("ann"), []byte("bob"), 1)
	h := audit.LeafHash(edited)
	copy(l.leaves[37*32:], h[:])
	rep, err := l.verify(slices.Concat(l.lines[:37], [][]byte{edited}, l.lines[38:]), nil)
	if err != nil || rep.Bad != 0 || rep.BadBefore != 1000 {
		t.Errorf("with forged leaves: [%d,%d), %v", rep.Bad, rep.BadBefore, err)
	}
}

// TestVerifyShortened: what retention dropped is vouched for by its leaves.
func TestVerifyShortened(t *testing.T) {
	l := newLog(t, 100, 10)
	from := func(n int64) func(*audit.Sources) { return func(s *audit.Sources) { s.First = n } }
	rep, err := l.verify(l.lines[40:], from(40))
	if err != nil || !rep.Whole() || rep.Entries != 60 || rep.Sealed != 100 {
		t.Errorf("shortened: %+v, %v", rep, err)
	}
	if rep, err := l.verify(l.lines[41:], from(40)); err != nil || rep.Bad != 40 {
		t.Errorf("shortened by one more than it says: %+v, %v", rep, err)
	}
	_, err = l.verify(l.lines[40:], func(s *audit.Sources) { s.First, s.Leaves = 40, nil })
	if annotary.CodeOf(err) != annotary.CodeInvalid {
		t.Errorf("shortened, without leaves: %v", err)
	}
}

// TestVerifyCutTail: whoever cuts the newest entries and their checkpoints is
// seen only by who kept a checkpoint elsewhere, and the report says which.
func TestVerifyCutTail(t *testing.T) {
	l := newLog(t, 100, 10)
	kept := l.points[9]
	l.points = l.points[:8]
	rep, err := l.verify(l.lines[:85], nil)
	if err != nil || !rep.Whole() || rep.TailKnown || rep.Sealed != 80 || rep.Unsealed != 5 {
		t.Errorf("without a kept checkpoint: %+v, %v", rep, err)
	}
	rep, err = l.verify(l.lines[:85], func(s *audit.Sources) { s.Known = [][]byte{kept} })
	if err != nil || rep.Bad != 85 || !rep.TailKnown {
		t.Errorf("with a kept checkpoint: %+v, %v", rep, err)
	}
}

func TestVerifyForgedAndForked(t *testing.T) {
	l, other := newLog(t, 20, 10), newLog(t, 20, 10)
	_, err := l.verify(l.lines, func(s *audit.Sources) { s.Checkpoints = append(s.Checkpoints, other.points[0]) })
	if annotary.CodeOf(err) != annotary.CodeForged {
		t.Errorf("a checkpoint of another key: %v", err)
	}
	fork, err := audit.Checkpoint{Origin: "annotary/default", Size: 10, Root: audit.LeafHash([]byte("x"))}.Sign(l.key)
	if err != nil {
		t.Fatal(err)
	}
	_, err = l.verify(l.lines, func(s *audit.Sources) { s.Checkpoints = append(s.Checkpoints, fork) })
	if annotary.CodeOf(err) != annotary.CodeForked {
		t.Errorf("two roots of one size: %v", err)
	}
	if _, err := l.verify(l.lines, func(s *audit.Sources) { s.Checkpoints = nil }); err == nil {
		t.Error("verified against nothing")
	}
}

func TestSplitNotes(t *testing.T) {
	l := newLog(t, 30, 10)
	got := audit.SplitNotes(bytes.Join(l.points, []byte("\n")))
	if len(got) != 3 {
		t.Fatalf("%d notes, want 3", len(got))
	}
	for i, n := range got {
		if c, err := audit.OpenCheckpoint(n, l.key.Public()); err != nil || c.Size != int64(10*(i+1)) {
			t.Errorf("note %d: %+v, %v", i, c, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	line, err := sample(1).Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(line)
	f.Add([]byte(`{"v":1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := audit.Decode(data)
		if err != nil {
			return
		}
		once, err := e.Encode()
		if err != nil {
			return
		}
		back, err := audit.Decode(once)
		if err != nil {
			t.Fatalf("what we wrote cannot be read: %v\n%s", err, once)
		}
		if twice, err := back.Encode(); err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("%s\n%s\n%v", once, twice, err)
		}
	})
}

func FuzzCheckpoint(f *testing.F) {
	l := newLog(f, 10, 10)
	f.Add(l.points[0])
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, n := range audit.SplitNotes(data) {
			c, err := audit.OpenCheckpoint(n, l.key.Public())
			if err == nil && !bytes.HasPrefix(l.points[0], []byte(c.Text())) {
				t.Fatalf("accepted a checkpoint that was never signed: %+v", c)
			}
		}
	})
}

func BenchmarkVerify(b *testing.B) {
	l := newLog(b, 20000, 1000)
	b.ReportMetric(float64(len(l.lines[0])), "bytes/entry")
	for b.Loop() {
		if rep, err := l.verify(l.lines, nil); err != nil || !rep.Whole() {
			b.Fatal(rep, err)
		}
	}
	b.ReportMetric(float64(b.N)*20000/b.Elapsed().Seconds(), "entries/s")
}

// TestEntry_Described holds the log's page to the fields that are written.
func TestEntry_Described(t *testing.T) {
	page, err := os.ReadFile("../docs/audit.md")
	if err != nil {
		t.Fatal(err)
	}
	planned := []string{"replica", "conversation", "shaped"} // nothing writes them yet
	for f := range reflect.TypeFor[audit.Entry]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if described := strings.Contains(string(page), "`"+name+"`"); described == slices.Contains(planned, name) {
			t.Errorf("docs/audit.md describes %s: %v", name, described)
		}
	}
}
