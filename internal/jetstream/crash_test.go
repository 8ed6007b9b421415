package jetstream_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/jetstream"
	"github.com/annotary/annotary/internal/storetest"
)

// crashEnv names the folder in which this binary is to work until it is killed.
const crashEnv = "ANNOTARY_CRASH_DIR"

func TestMain(m *testing.M) {
	switch dir := os.Getenv(crashEnv); {
	case dir == "":
	case os.Getenv("ANNOTARY_CRASH_ONE") != "":
		if err := workOnce(dir); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	default:
		work(dir)
	}
	os.Exit(m.Run())
}

// stores are what a worker writes to.
type stores struct {
	engine      *jetstream.Engine
	log         *jetstream.Log
	cas, grants *jetstream.Bucket
}

func openStores(ctx context.Context, dir string) (*stores, error) {
	e, err := jetstream.Open(ctx, jetstream.Options{Dir: dir})
	if err != nil {
		return nil, err
	}
	s := &stores{engine: e}
	if s.log, err = e.Log(ctx, "tenant", rand.Text(), jetstream.LogOptions{}); err != nil {
		return nil, err
	}
	if s.cas, _, err = e.Bucket(ctx, "cas", jetstream.BucketOptions{}); err != nil {
		return nil, err
	}
	s.grants, _, err = e.Bucket(ctx, "grants", jetstream.BucketOptions{})
	return s, err
}

func (s *stores) close() error {
	s.log.Close()
	return s.engine.Close()
}

// work writes as fast as it can, and says each time it was acknowledged:
//
//	a LINE            a line of the log
//	c KEY N           a counter that only one writes
//	w REVISION ID     a swap at a revision that many want
//	s GRANT ID        a grant that many would spend
func work(dir string) {
	ctx := context.Background()
	s, err := openStores(ctx, dir)
	if err != nil {
		fmt.Println("broken", err)
		os.Exit(1)
	}
	var mu sync.Mutex
	say := func(words ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintln(os.Stdout, words...) // one write: all or nothing
	}
	run := rand.Text()
	for g := range 4 {
		go func() {
			for n := 0; ; n++ {
				if line := fmt.Sprintf("%s-%d-%d", run, g, n); s.log.Append(ctx, []byte(line)) == nil {
					say("a", line)
				}
			}
		}()
		go s.count(ctx, fmt.Sprint("count/", g), say)
		go s.contend(ctx, fmt.Sprint(run, "-", g), say)
	}
	go s.spend(ctx, run, say)
	say("ready")
	select {}
}

func (s *stores) count(ctx context.Context, key string, say func(...any)) {
	for {
		v, rev, err := s.cas.Get(ctx, key)
		if err != nil {
			continue
		}
		n := uint64(1)
		if v != nil {
			n = binary.BigEndian.Uint64(v) + 1
		}
		if _, err := s.cas.Swap(ctx, key, binary.BigEndian.AppendUint64(nil, n), rev); err == nil {
			say("c", key, n)
		}
	}
}

func (s *stores) contend(ctx context.Context, id string, say func(...any)) {
	for {
		_, rev, err := s.cas.Get(ctx, "contended")
		if err != nil {
			continue
		}
		if _, err := s.cas.Swap(ctx, "contended", []byte(id), rev); err == nil {
			say("w", rev, id)
		}
	}
}

func (s *stores) spend(ctx context.Context, run string, say func(...any)) {
	m := storetest.Grants(s.grants)
	for n := 0; ; n++ {
		id := fmt.Sprint(run, "-", n)
		if _, err := m.Open(ctx, "grants/"+id, storetest.Grant{ID: id, State: "open"}); err != nil {
			continue
		}
		var wg sync.WaitGroup
		for by := range 3 {
			wg.Go(func() {
				if storetest.Spend(ctx, m, id, fmt.Sprint(by)) == nil {
					say("s", id, by)
				}
			})
		}
		wg.Wait()
	}
}

// acks is what was acknowledged, over all lives of the worker.
type acks struct {
	lines   map[string]bool
	counts  map[string]uint64
	winners map[string]string // by the revision won at
	spent   map[string]string // by grant
}

// take notes one acknowledgement. What cannot be acknowledged twice is checked
// at once.
func (a *acks) take(t *testing.T, line string) {
	f := strings.Fields(line)
	switch {
	case len(f) == 2 && f[0] == "a":
		a.lines[f[1]] = true
	case len(f) == 3 && f[0] == "c":
		n, err := strconv.ParseUint(f[2], 10, 64)
		if err != nil || n <= a.counts[f[1]] {
			t.Errorf("counter %s was acknowledged as %s after %d", f[1], f[2], a.counts[f[1]])
		}
		a.counts[f[1]] = n
	case len(f) == 3 && (f[0] == "w" || f[0] == "s"):
		won := map[string]map[string]string{"w": a.winners, "s": a.spent}[f[0]]
		if other, ok := won[f[1]]; ok {
			t.Errorf("%s was won by %s and by %s", f[1], other, f[2])
		}
		won[f[1]] = f[2]
	case line != "ready":
		t.Errorf("the worker said %q", line)
	}
}

// TestKill9 (S2): a process that is killed while it writes has lost nothing that
// was acknowledged, and nothing was won twice.
func TestKill9(t *testing.T) {
	dir := t.TempDir()
	a := &acks{map[string]bool{}, map[string]uint64{}, map[string]string{}, map[string]string{}}
	seen := map[string]bool{}
	next := uint64(0)
	lines, grants := 0, 0
	for range crashes(t, 8) {
		killed(t, dir, a)
		s, err := openStores(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		next = s.compare(t, a, seen, next)
		if err := s.close(); err != nil {
			t.Fatal(err)
		}
		lines, grants = lines+len(a.lines), grants+len(a.spent)
		clear(a.lines) // no later life writes or spends them again
		clear(a.spent)
	}
	t.Logf("acknowledged: %d lines, %d swaps won, %d grants spent", lines, len(a.winners), grants)
	if lines == 0 || len(a.counts) == 0 || len(a.winners) == 0 || grants == 0 {
		t.Error("the worker did not come to work")
	}
}

// crashes is how many processes are killed: as many as ANNOTARY_CRASHES says.
func crashes(t *testing.T, short int) int {
	t.Helper()
	if v := os.Getenv("ANNOTARY_CRASHES"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	return short
}

// killed lets a worker live for a moment.
func killed(t *testing.T, dir string, a *acks) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), crashEnv+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	for line, err := lines.ReadString('\n'); err == nil; line, err = lines.ReadString('\n') {
		line = strings.TrimSpace(line)
		if a.take(t, line); line == "ready" {
			time.AfterFunc(mathrand.N(150*time.Millisecond), func() { _ = cmd.Process.Kill() })
		}
	}
	_, _ = io.Copy(io.Discard, lines)
	if err := cmd.Wait(); err == nil {
		t.Fatal("the worker ended by itself")
	}
}

// compare holds what is there against what was acknowledged.
func (s *stores) compare(t *testing.T, a *acks, seen map[string]bool, from uint64) (next uint64) {
	t.Helper()
	next = from
	err := s.log.Read(t.Context(), from, func(pack uint64, lines [][]byte) error {
		next = pack + 1
		for _, l := range lines {
			if seen[string(l)] {
				t.Errorf("line %s is there twice", l)
			}
			seen[string(l)] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for line := range a.lines {
		if !seen[line] {
			t.Errorf("line %s was acknowledged and is lost", line)
		}
	}
	for key, n := range a.counts {
		v, _, err := s.cas.Get(t.Context(), key)
		if err != nil || len(v) != 8 || binary.BigEndian.Uint64(v) < n {
			t.Errorf("%s was acknowledged as %d and is %x, %v", key, n, v, err)
		} else {
			a.counts[key] = binary.BigEndian.Uint64(v) // one more may have got through unacknowledged
		}
	}
	m := storetest.Grants(s.grants)
	for id, by := range a.spent {
		h, err := m.Get(t.Context(), "grants/"+id)
		if err != nil || h.Value.State != "spent" || h.Value.By != by {
			t.Errorf("grant %s was spent by %s and is %+v, %v", id, by, h.Value, err)
		}
		if err := storetest.Spend(t.Context(), m, id, "again"); annotary.CodeOf(err) != annotary.CodeConflict {
			t.Errorf("grant %s can be spent again: %v", id, err)
		}
	}
	return next
}

// TestSynced (S2): between a write and its acknowledgement the file was synced,
// for a line of the log and for a swap.
func TestSynced(t *testing.T) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("strace is missing: .ci/setup must install it")
		}
		t.Skip("strace is not installed")
	}
	dir, trace := t.TempDir(), t.TempDir()+"/trace"
	cmd := exec.Command(strace, "-f", "-qq", "-y", "-s", "64", "-e", "trace=write,writev,pwrite64,fsync,fdatasync", "-o", trace, os.Args[0])
	cmd.Env = append(os.Environ(), crashEnv+"="+dir, "ANNOTARY_CRASH_ONE=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	text, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	acks, writes := 0, 0
	var unsynced []string // what was written to the engine's files and not synced since
	for line := range bytes.Lines(text) {
		l := string(line)
		switch {
		case strings.Contains(l, "> write(1<") || strings.Contains(l, " write(1<"):
			if !strings.Contains(l, "acked") {
				continue
			}
			if acks++; len(unsynced) > 0 {
				t.Errorf("acknowledged with unsynced writes: %s", strings.Join(unsynced, ""))
			}
		case strings.Contains(l, "sync(") && strings.Contains(l, ".blk"):
			unsynced = nil
		case strings.Contains(l, "write") && strings.Contains(l, ".blk"):
			writes++
			unsynced = append(unsynced, l)
		}
	}
	if acks != 20 || writes < acks {
		t.Errorf("%d acknowledgements and %d writes were traced, want 20 and as many", acks, writes)
	}
}

// workOnce makes ten writes of each kind, one after another, and says so.
func workOnce(dir string) error {
	ctx := context.Background()
	s, err := openStores(ctx, dir)
	if err != nil {
		return err
	}
	var rev uint64
	for n := range 10 {
		if err := s.log.Append(ctx, fmt.Append(nil, "line ", n)); err != nil {
			return err
		}
		fmt.Println("acked line")
		if rev, err = s.cas.Swap(ctx, "k", fmt.Append(nil, n), rev); err != nil {
			return err
		}
		fmt.Println("acked swap")
	}
	return s.close()
}
