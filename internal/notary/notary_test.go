package notary

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/audit"
	"github.com/annotary/annotary/internal/memory"
)

// house is a log with everything that seals it.
type house struct {
	log                *memory.Log
	tiles, checkpoints *memory.Bucket
	keys               KeyFile
	file               File
	n                  int
}

func newHouse(t *testing.T) *house {
	t.Helper()
	dir := t.TempDir()
	h := &house{
		log: &memory.Log{}, tiles: memory.NewBucket(), checkpoints: memory.NewBucket(),
		keys: KeyFile(filepath.Join(dir, "audit.key")), file: File(filepath.Join(dir, "checkpoints.txt")),
	}
	if err := h.keys.Make(); err != nil {
		t.Fatal(err)
	}
	return h
}

func (h *house) options() Options {
	return Options{
		Name: "default", Log: h.log, Tiles: h.tiles, Checkpoints: h.checkpoints, Keys: h.keys.Read,
		Witnesses: []Witness{h.file}, Replica: "a", Every: time.Millisecond, Mark: time.Millisecond,
	}
}

func line(i int) []byte { return fmt.Appendf(nil, `{"entry":%d}`, i) }

func (h *house) append(t *testing.T, n int) {
	t.Helper()
	for range n {
		if err := h.log.Append(t.Context(), line(h.n)); err != nil {
			t.Fatal(err)
		}
		h.n++
	}
}

// verify holds the whole log against what the sealer published.
func (h *house) verify(t *testing.T, s *Sealer) audit.Report {
	t.Helper()
	newest, err := s.Newest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	keys, err := h.keys.Read()
	if err != nil {
		t.Fatal(err)
	}
	var lines, leaves bytes.Buffer
	err = h.log.Read(t.Context(), newest.FirstPack, func(_ uint64, ls [][]byte) error {
		for _, l := range ls {
			lines.Write(append(l, '\n'))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Leaves(t.Context(), newest.Size, func(h audit.Hash) error { leaves.Write(h[:]); return nil }); err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile(string(h.file))
	if err != nil {
		t.Fatal(err)
	}
	rep, err := audit.Verify(audit.Sources{
		Entries: &lines, Leaves: &leaves, First: newest.First, Keys: keys.Trusted,
		Checkpoints: [][]byte{newest.Checkpoint}, Known: audit.SplitNotes(kept),
	})
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

func seal(t *testing.T, s *Sealer) {
	t.Helper()
	if err := s.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestSeal: what was appended in any portions is sealed as one log, by one
// sealer or by ever new ones that take up where the last left off.
func TestSeal(t *testing.T) {
	h := newHouse(t)
	s := New(h.options())
	seal(t, s) // nothing to seal
	for i, n := range []int{1, 0, 254, 1, 1, 600, 255} {
		h.append(t, n)
		if i%2 == 0 {
			s = New(h.options())
		}
		seal(t, s)
		if rep := h.verify(t, s); !rep.Whole() || rep.Sealed != int64(h.n) || !rep.TailKnown {
			t.Fatalf("after %d entries: %+v", h.n, rep)
		}
	}
	if got := s.Status(); got.Size != int64(h.n) || got.Alarm != nil {
		t.Errorf("status %+v", got)
	}
}

func TestProve(t *testing.T) {
	h := newHouse(t)
	h.append(t, 700)
	s := New(h.options())
	seal(t, s)
	keys, err := h.keys.Read()
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range []int64{0, 255, 256, 511, 699} {
		p, err := s.Prove(t.Context(), i)
		if err != nil {
			t.Fatal(i, err)
		}
		c, err := audit.OpenCheckpoint(p.Checkpoint, keys.Trusted...)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Check(c, line(int(i))); err != nil || string(p.Line) != string(line(int(i))) {
			t.Errorf("entry %d: %s, %v", i, p.Line, err)
		}
	}
	if _, err := s.Prove(t.Context(), 700); annotary.CodeOf(err) != annotary.CodeInvalid {
		t.Errorf("proving what is not there: %v", err)
	}
}

// slow is a bucket whose writes take a while, so that writers overtake each
// other.
type slow struct{ *memory.Bucket }

func (s slow) Swap(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	time.Sleep(rand.N(2 * time.Millisecond))
	return s.Bucket.Swap(ctx, key, value, revision)
}

// neverShrinks watches the newest checkpoint.
func (h *house) neverShrinks(ctx context.Context, t *testing.T) {
	keys, err := h.keys.Read()
	if err != nil {
		t.Error(err)
	}
	size := int64(0)
	_ = h.checkpoints.Watch(ctx, "default", func() {}, func(raw []byte, _ uint64) {
		var p published
		if json.Unmarshal(raw, &p) != nil || p.Checkpoint == "" {
			return // the lease, or a mark
		}
		c, err := audit.OpenCheckpoint([]byte(p.Checkpoint), keys.Trusted...)
		if err != nil || c.Size < size && !strings.Contains(string(raw), `"size"`) {
			t.Errorf("after %d entries %d: %v", size, c.Size, err)
		}
		size = max(size, c.Size)
	})
}

// TestTwoSealers (S7): many who seal at once publish one tree, which only grows.
func TestTwoSealers(t *testing.T) {
	h := newHouse(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var watching sync.WaitGroup
	defer watching.Wait()
	watched, unwatch := context.WithCancel(t.Context())
	defer unwatch()
	watching.Go(func() { h.neverShrinks(watched, t) })
	var wg sync.WaitGroup
	sealers := make([]*Sealer, 4)
	for i := range sealers {
		o := h.options()
		o.Replica, o.Checkpoints = fmt.Sprint(i), slow{h.checkpoints}
		o.Witnesses = nil
		if i == 0 {
			o.Witnesses = []Witness{h.file}
		}
		sealers[i] = New(o)
		wg.Go(func() { // without the lease: all at the same time
			for ctx.Err() == nil {
				if err := sealers[i].Seal(context.Background()); err != nil && annotary.CodeOf(err) != annotary.CodeConflict {
					t.Error(err)
					return
				}
				time.Sleep(time.Millisecond)
			}
		})
	}
	for range 100 {
		h.append(t, 7)
		time.Sleep(100 * time.Microsecond)
	}
	stop()
	wg.Wait()
	for _, s := range sealers {
		seal(t, s)
		if rep := h.verify(t, s); !rep.Whole() || rep.Sealed != int64(h.n) {
			t.Errorf("%+v", rep)
		}
	}
}

// TestLease: while one works the others rest, and one that fell silent is
// replaced.
func TestLease(t *testing.T) {
	h := newHouse(t)
	a, b := New(h.options()), New(h.options())
	b.o.Replica = "b"
	if !a.lease(t.Context()) || b.lease(t.Context()) || !a.lease(t.Context()) {
		t.Error("the lease is not a's alone")
	}
	_, revision, err := h.checkpoints.Get(t.Context(), "default/lease")
	if err != nil {
		t.Fatal(err)
	}
	if err := a.swap(t.Context(), "lease", lease{"a", time.Now().Add(-time.Second)}, revision); err != nil {
		t.Fatal(err)
	}
	if !b.lease(t.Context()) || a.lease(t.Context()) {
		t.Error("b does not take over from a silent a")
	}
}

// TestForked (S7): each way in which the store can come to tell another history
// stops the sealing with an alarm.
func TestForked(t *testing.T) {
	for name, tamper := range map[string]func(t *testing.T, h *house, s *Sealer) *Sealer{
		"another root, found while running": func(t *testing.T, h *house, s *Sealer) *Sealer {
			other := rewritten(t, h, 300)
			h.checkpoints, h.tiles = other.checkpoints, other.tiles
			s.o.Checkpoints, s.tiles.bucket = h.checkpoints, h.tiles
			return s
		},
		"another root, found at start": func(t *testing.T, h *house, _ *Sealer) *Sealer {
			other := rewritten(t, h, 300)
			h.checkpoints, h.tiles = other.checkpoints, other.tiles
			return New(h.options())
		},
		"a longer tree that begins otherwise": func(t *testing.T, h *house, s *Sealer) *Sealer {
			other := rewritten(t, h, 400)
			s.o.Checkpoints, s.tiles.bucket = other.checkpoints, other.tiles
			return s
		},
		"a tile changed": func(t *testing.T, h *house, _ *Sealer) *Sealer {
			raw, revision, err := h.tiles.Get(t.Context(), "default/0/1")
			if err != nil {
				t.Fatal(err)
			}
			raw = bytes.Clone(raw)
			raw[40] ^= 1
			if _, err := h.tiles.Swap(t.Context(), "default/0/1", raw, revision); err != nil {
				t.Fatal(err)
			}
			return New(h.options())
		},
		"log and tree cut": func(t *testing.T, h *house, _ *Sealer) *Sealer {
			other := rewritten(t, h, 100)
			h.log, h.checkpoints, h.tiles = other.log, other.checkpoints, other.tiles
			return New(h.options())
		},
		"log and tree gone": func(t *testing.T, h *house, _ *Sealer) *Sealer {
			h.log, h.checkpoints, h.tiles = &memory.Log{}, memory.NewBucket(), memory.NewBucket()
			return New(h.options())
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			var said bytes.Buffer
			h.append(t, 300)
			s := New(h.options())
			seal(t, s)
			s = tamper(t, h, s)
			s.o.Diary = slog.New(slog.NewTextHandler(&said, nil))
			h.append(t, 1)
			before, err := os.ReadFile(string(h.file))
			if err != nil {
				t.Fatal(err)
			}
			s.look(t.Context())
			if err := s.Status().Alarm; annotary.CodeOf(err) != annotary.CodeForked || !strings.Contains(said.String(), "ALARM") {
				t.Errorf("alarm: %v; said: %s", err, said.String())
			}
			h.append(t, 1)
			s.look(t.Context())
			after, err := os.ReadFile(string(h.file))
			if err != nil || !bytes.Equal(before, after) {
				t.Errorf("sealing went on: %s %v", after[len(before):], err)
			}
		})
	}
}

// rewritten is the house with the same keys and another first entry.
func rewritten(t *testing.T, h *house, n int) *house {
	t.Helper()
	other := &house{log: &memory.Log{}, tiles: memory.NewBucket(), checkpoints: memory.NewBucket(), keys: h.keys, n: 1}
	if err := other.log.Append(t.Context(), []byte(`{"entry":"other"}`)); err != nil {
		t.Fatal(err)
	}
	other.append(t, n-1)
	o := other.options()
	o.Witnesses = nil
	seal(t, New(o))
	return other
}

// TestForged: a newest checkpoint that none of our keys signed is an alarm.
func TestForged(t *testing.T) {
	h, stranger := newHouse(t), newHouse(t)
	h.append(t, 10)
	stranger.append(t, 20)
	seal(t, New(stranger.options()))
	h.checkpoints, h.tiles = stranger.checkpoints, stranger.tiles
	s := New(h.options())
	s.look(t.Context())
	if err := s.Status().Alarm; annotary.CodeOf(err) != annotary.CodeForged {
		t.Errorf("alarm: %v", err)
	}
}

// TestRotate: checkpoints before and after a change of keys verify with all
// public keys, and those after it also with the old one alone until the next.
func TestRotate(t *testing.T) {
	h := newHouse(t)
	first, err := h.keys.Read()
	if err != nil {
		t.Fatal(err)
	}
	s := New(h.options())
	for i, forget := range []bool{false, false, true} {
		h.append(t, 10)
		seal(t, s)
		if err := h.keys.Rotate(forget); err != nil {
			t.Fatal(err)
		}
		h.append(t, 10)
		seal(t, s)
		if rep := h.verify(t, s); !rep.Whole() || rep.Sealed != int64(h.n) {
			t.Fatalf("%+v", rep)
		}
		newest, err := s.Newest(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_, err = audit.OpenCheckpoint(newest.Checkpoint, first.Trusted[0])
		if (err == nil) != (i == 0) {
			t.Errorf("after change %d the first key gives %v", i+1, err)
		}
	}
	info, err := os.Stat(string(h.keys))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the secret keys have mode %v, %v", info.Mode(), err)
	}
}

// TestShorten: only what is sealed, old and copied goes; what is left verifies,
// and entries are still found by their index.
func TestShorten(t *testing.T) {
	h := newHouse(t)
	s := New(h.options())
	h.append(t, 300)
	seal(t, s)
	time.Sleep(5 * time.Millisecond)
	between := time.Now()
	time.Sleep(5 * time.Millisecond)
	h.append(t, 300)
	seal(t, s)
	for _, tt := range []struct {
		name    string
		before  time.Time
		done    uint64
		dropped int64
	}{
		{"nothing is old", between.Add(-time.Hour), 1000, 0},
		{"nothing is copied", time.Now(), 299, 0},
		{"the first half is old", between, 1000, 300},
		{"again", between, 1000, 300},
	} {
		if dropped, err := s.Shorten(t.Context(), tt.before, tt.done); err != nil || dropped != tt.dropped {
			t.Errorf("%s: dropped %d, %v, want %d", tt.name, dropped, err, tt.dropped)
		}
		if first, _, _, err := h.log.Extent(t.Context()); err != nil || first != uint64(tt.dropped)+1 {
			t.Errorf("%s: the log begins at %d, %v", tt.name, first, err)
		}
	}
	h.append(t, 50)
	seal(t, s)
	if rep := h.verify(t, s); !rep.Whole() || rep.First != 300 || rep.Entries != 350 {
		t.Errorf("%+v", rep)
	}
	for _, i := range []int64{300, 511, 512, 649} { // 300 to 511 share a tile with what is gone
		if p, err := s.Prove(t.Context(), i); err != nil || string(p.Line) != string(line(int(i))) {
			t.Errorf("entry %d: %s, %v", i, p.Line, err)
		}
	}
	if p, err := s.Prove(t.Context(), 5); err != nil || p.Line != nil {
		t.Errorf("a dropped entry: %s, %v", p.Line, err)
	}
}

// TestRun: a sealer left to itself seals within its second, and once more at
// its end.
func TestRun(t *testing.T) {
	h := newHouse(t)
	ctx, stop := context.WithCancel(t.Context())
	s := New(h.options())
	done := make(chan struct{})
	go func() { defer close(done); s.Run(ctx) }()
	h.append(t, 10)
	for deadline := time.Now().Add(30 * time.Second); s.Status().Size < 10; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("not sealed")
		}
	}
	stop()
	<-done
	h.append(t, 5)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	New(h.options()).Run(ended)
	if rep := h.verify(t, s); rep.Sealed != 15 {
		t.Errorf("sealed %d of 15 at the end", rep.Sealed)
	}
}

// TestFile: what a crash left half written, at any byte, is no checkpoint, and
// the next one stands where it stood.
func TestFile(t *testing.T) {
	f := File(filepath.Join(t.TempDir(), "c"))
	if last, err := f.Last(); last != nil || err != nil {
		t.Errorf("last of nothing: %q, %v", last, err)
	}
	h := newHouse(t)
	o := h.options()
	o.Witnesses = []Witness{f}
	s := New(o)
	for range 2 {
		h.append(t, 3)
		seal(t, s)
	}
	whole, err := os.ReadFile(string(f))
	if err != nil {
		t.Fatal(err)
	}
	notes := audit.SplitNotes(whole)
	if len(notes) != 2 {
		t.Fatalf("%d checkpoints", len(notes))
	}
	first := len(wholeNotes(whole[:len(whole)-1]))
	for cut := first; cut < len(whole); cut++ {
		if err := os.WriteFile(string(f), whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := f.Last(); err != nil || string(bytes.TrimSpace(got)) != string(bytes.TrimSpace(notes[0])) {
			t.Fatalf("cut at %d: last is %q, %v", cut, got, err)
		}
		if err := f.Put(notes[1]); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(string(f)); err != nil || string(got) != string(whole) {
			t.Fatalf("cut at %d: mended to %q, %v", cut, got, err)
		}
	}
}

// TestWebhook_secret: an address that checkpoints are sent to is often itself the
// key, so that no error names it.
func TestWebhook_secret(t *testing.T) {
	dead := httptest.NewServer(nil)
	dead.Close()
	err := (&Webhook{URL: dead.URL + "/services/hunter2?key=hunter2"}).post(t.Context(), nil)
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("got %v", err)
	}
}

// TestWebhook: a dead receiver holds nobody up, and gets the newest when it is
// back.
func TestWebhook(t *testing.T) {
	var mu sync.Mutex
	alive, got := false, []string{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if !alive {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		body, _ := io.ReadAll(r.Body)
		got = append(got, string(body))
	}))
	defer srv.Close()
	h := newHouse(t)
	o := h.options()
	o.Witnesses = []Witness{&Webhook{URL: srv.URL}}
	s := New(o)
	for range 5 {
		h.append(t, 1)
		seal(t, s)
	}
	mu.Lock()
	alive = true
	mu.Unlock()
	newest, err := s.Newest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		mu.Lock()
		last := ""
		if len(got) > 0 {
			last = got[len(got)-1]
		}
		mu.Unlock()
		if last == string(newest.Checkpoint) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the webhook last got %q", last)
		}
	}
}

// TestWebhook_end: who ends sends what waits, and does not wait for the dead.
func TestWebhook_end(t *testing.T) {
	got := make(chan string, 10)
	slow := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.URL.Path == "/slow" {
			<-slow
		}
		got <- string(body)
	}))
	defer srv.Close()
	defer close(slow)
	h := newHouse(t)
	o := h.options()
	o.Witnesses = []Witness{&Webhook{URL: srv.URL}}
	s := New(o)
	h.append(t, 1)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	s.Run(ctx) // one round, its last
	newest, err := s.Newest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	select {
	case last := <-got:
		if last != string(newest.Checkpoint) {
			t.Errorf("the webhook got %q", last)
		}
	default:
		t.Error("it ended before the webhook had its last checkpoint")
	}
	for _, url := range []string{"http://127.0.0.1:1", srv.URL + "/slow"} {
		w := &Webhook{URL: url}
		_ = w.Put(newest.Checkpoint) // of an earlier one there is nothing to say
		short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if err := w.End(short); err == nil {
			t.Errorf("%s: nobody says that it was not sent", url)
		}
	}
}

// TestWebhook_redirect: a page that sends on to another has not seen a checkpoint.
func TestWebhook_redirect(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			http.Redirect(w, r, "/login", http.StatusFound)
		}
	}))
	defer srv.Close()
	w := &Webhook{URL: srv.URL}
	_ = w.Put([]byte("x"))
	if err := w.End(t.Context()); err == nil || !strings.Contains(err.Error(), "302") {
		t.Errorf("it says %v", err)
	}
}

// TestTrouble_toldOnce: what goes wrong beside the sealing is told when it begins.
func TestTrouble_toldOnce(t *testing.T) {
	h := newHouse(t)
	o := h.options()
	var diary bytes.Buffer
	o.Diary = slog.New(slog.NewTextHandler(&diary, nil))
	dir := filepath.Join(t.TempDir(), "absent")
	o.Witnesses = []Witness{File(filepath.Join(dir, "checkpoints.txt"))}
	s := New(o)
	rounds := func(want int) {
		t.Helper()
		for range 3 {
			h.append(t, 1)
			seal(t, s)
		}
		if got := strings.Count(diary.String(), "\n"); got != want {
			t.Errorf("told %d times, want %d:\n%s", got, want, diary.String())
		}
	}
	rounds(1)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	rounds(1)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	rounds(2)
}

// TestFile_bounded: a file of checkpoints does not grow for ever. It keeps the
// first, all of the newest, and of those between ever fewer, in their order.
func TestFile_bounded(t *testing.T) {
	f := File(filepath.Join(t.TempDir(), "checkpoints.txt"))
	note := func(n int) string {
		return fmt.Sprintf("origin\n%d\n%s\n\n\u2014 origin %s\n", n, strings.Repeat("r", 44), strings.Repeat("s", 92))
	}
	last := 0
	for range 6 {
		var more bytes.Buffer
		if have, err := os.ReadFile(string(f)); err == nil {
			more.Write(have)
		}
		for more.Len() < maxFile-400 { // as if they had been put one after another
			last++
			more.WriteString(note(last) + "\n")
		}
		if err := os.WriteFile(string(f), more.Bytes(), 0o640); err != nil {
			t.Fatal(err)
		}
		for range 4 {
			last++
			if err := f.Put([]byte(note(last))); err != nil {
				t.Fatal(err)
			}
		}
		have, err := os.ReadFile(string(f))
		if err != nil || len(have) > maxFile*7/8 || len(have) < maxFile/2 {
			t.Fatalf("it has %d bytes, %v", len(have), err)
		}
		notes := audit.SplitNotes(have)
		if newest, err := f.Last(); string(notes[0]) != note(1) || string(newest) != note(last) || err != nil {
			t.Errorf("first %q, last %q, %v", notes[0], newest, err)
		}
		for i := range len(notes) / 3 {
			if got := notes[len(notes)-1-i]; string(got) != note(last-i) {
				t.Fatalf("%d before the newest is %q", i, got)
			}
		}
	}
	if info, err := os.Stat(string(f)); err != nil || info.Mode().Perm() != 0o640 {
		t.Error("others read it otherwise than before", err)
	}
}
