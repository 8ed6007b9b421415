package export_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/audit"
	"github.com/annotary/annotary/internal/export"
	"github.com/annotary/annotary/internal/memory"
	"github.com/annotary/annotary/internal/testenv"
)

func line(t testing.TB, i int) []byte {
	t.Helper()
	l, err := audit.Entry{
		Kind: audit.Decided, Call: fmt.Sprint("c", i), Time: time.UnixMilli(int64(i)), Tenant: "default", Subject: "ann",
		Method: "tools/call", Server: "db", Tool: "nul\x00", Class: "read", Severity: audit.Info, Effect: "allow",
	}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func fill(t testing.TB, log *memory.Log, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		if err := log.Append(t.Context(), line(t, i)); err != nil {
			t.Fatal(err)
		}
	}
}

// run runs an exporter until it has caught up.
func run(t testing.TB, log *memory.Log, sink export.Sink) {
	t.Helper()
	e := export.New(export.Options{Name: "test", Log: log, Sink: sink, Every: time.Millisecond, Pause: time.Millisecond, MaxPause: 10 * time.Millisecond})
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { e.Run(ctx) })
	defer wg.Wait()
	defer stop()
	awaitCaughtUp(t, log, e)
}

func awaitCaughtUp(t testing.TB, log *memory.Log, e *export.Exporter) {
	t.Helper()
	_, last, _, err := log.Extent(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	awaitDone(t, e, last)
}

func awaitDone(t testing.TB, e *export.Exporter, pack uint64) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); e.Status().Done < pack; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not caught up: %+v, want %d", e.Status(), pack)
		}
	}
}

// want is the file that entries 0 to n make.
func want(t testing.TB, n int) string {
	t.Helper()
	var out strings.Builder
	for i := range n {
		out.Write(append(line(t, i), '\n'))
	}
	return out.String()
}

func content(t testing.TB, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// TestFile_crash: whatever a crash leaves behind the last recorded offset, each
// entry is in the file once.
func TestFile_crash(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.jsonl")
	log := &memory.Log{}
	r := rand.New(rand.NewPCG(3, 4))
	n := 0
	if _, err := (&export.File{Path: path}).Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(`{"v":1`), 0o600); err != nil { // a crash in the very first step
		t.Fatal(err)
	}
	for range 40 {
		more := r.IntN(20)
		fill(t, log, n, n+more)
		n += more
		run(t, log, &export.File{Path: path})
		// What a crash in the middle of the next step leaves: some of the
		// entries, the last of them torn.
		torn, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		next := append(bytes.Clone(line(t, n)), '\n')
		_, err = torn.Write(append(next, line(t, n+1)...)[:r.IntN(2*len(next)-1)])
		if err := errors.Join(err, torn.Close()); err != nil {
			t.Fatal(err)
		}
	}
	fill(t, log, n, n+1)
	run(t, log, &export.File{Path: path})
	if got, want := content(t, path), want(t, n+1); got != want {
		t.Errorf("the file has %d bytes, want %d", len(got), len(want))
	}
}

// TestFile_moved: a file that is moved away keeps what it has, and a new one
// goes on.
func TestFile_moved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.jsonl")
	log := &memory.Log{}
	e := export.New(export.Options{Log: log, Sink: &export.File{Path: path}, Every: time.Millisecond})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var wg sync.WaitGroup
	wg.Go(func() { e.Run(ctx) })
	fill(t, log, 0, 10)
	awaitCaughtUp(t, log, e)
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	fill(t, log, 10, 20)
	awaitCaughtUp(t, log, e)
	stop()
	wg.Wait()
	if err := os.Rename(path, path+".2"); err != nil { // while nobody exports
		t.Fatal(err)
	}
	fill(t, log, 20, 30)
	run(t, log, &export.File{Path: path})
	if got, want := content(t, path+".1")+content(t, path+".2")+content(t, path), want(t, 30); got != want {
		t.Errorf("got %d bytes in three files, want %d", len(got), len(want))
	}
}

// TestFile_refused: a file that is not ours is left alone, and one that lost
// something is not continued.
func TestFile_refused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.jsonl")
	if err := os.WriteFile(path, []byte("mine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := (&export.File{Path: path}).Open(t.Context()); annotary.CodeOf(err) != annotary.CodeConfig || content(t, path) != "mine\n" {
		t.Errorf("a stranger's file: %v, %q", err, content(t, path))
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	log := &memory.Log{}
	fill(t, log, 0, 3)
	run(t, log, &export.File{Path: path})
	if err := os.Truncate(path, 10); err != nil {
		t.Fatal(err)
	}
	if _, err := (&export.File{Path: path}).Open(t.Context()); annotary.CodeOf(err) != annotary.CodeConfig {
		t.Errorf("a file that was cut: %v", err)
	}
}

// TestAhead: a log that was put back from a backup lacks what was exported since.
// The export does not go on as if it had what takes its place.
func TestAhead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.jsonl")
	log, restored := &memory.Log{}, &memory.Log{}
	fill(t, log, 0, 10)
	run(t, log, &export.File{Path: path})
	fill(t, restored, 0, 6)
	e := export.New(export.Options{Name: "test", Log: restored, Sink: &export.File{Path: path}, Every: time.Millisecond, Pause: time.Millisecond, MaxPause: 10 * time.Millisecond})
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { e.Run(ctx) })
	defer wg.Wait()
	defer stop()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if s := e.Status(); s.Problem != nil && s.Done == 0 && s.Behind == 6 {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("nobody is told: %+v", s)
		}
	}
	if got := content(t, path); got != want(t, 10) {
		t.Errorf("the file was changed:\n%s", got)
	}
}

func TestFile_OCSF(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	log := &memory.Log{}
	fill(t, log, 0, 3)
	run(t, log, &export.File{Path: path, Format: export.OCSF})
	lines := strings.Split(strings.TrimSpace(content(t, path)), "\n")
	for i, l := range lines {
		var event struct {
			Class    int `json:"class_uid"`
			Metadata struct {
				UID string `json:"correlation_uid"`
			} `json:"metadata"`
		}
		if err := json.Unmarshal([]byte(l), &event); err != nil || event.Class != 6003 || event.Metadata.UID != fmt.Sprint("c", i) {
			t.Errorf("event %d: %s %v", i, l, err)
		}
	}
	if len(lines) != 3 {
		t.Errorf("%d events", len(lines))
	}
}

// door stands before a database and can be shut.
type door struct {
	t       *testing.T
	dir     string
	behind  string
	mu      sync.Mutex
	l       net.Listener
	inside  []net.Conn
	working sync.WaitGroup
}

func newDoor(t *testing.T) *door {
	dir, err := os.MkdirTemp("", "door") //nolint:usetesting // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	d := &door{t: t, dir: dir, behind: filepath.Join(testenv.Postgres(t), ".s.PGSQL.5432")}
	t.Cleanup(func() { d.shut(); d.working.Wait(); _ = os.RemoveAll(dir) })
	d.open()
	return d
}

func (d *door) url() string {
	return "host=" + d.dir + " user=postgres dbname=postgres sslmode=disable"
}

func (d *door) open() {
	l, err := net.Listen("unix", filepath.Join(d.dir, ".s.PGSQL.5432"))
	if err != nil {
		d.t.Fatal(err)
	}
	d.mu.Lock()
	d.l = l
	d.mu.Unlock()
	d.working.Go(func() {
		for {
			front, err := l.Accept()
			if err != nil {
				return
			}
			back, err := net.Dial("unix", d.behind)
			if err != nil {
				_ = front.Close()
				continue
			}
			d.mu.Lock()
			d.inside = append(d.inside, front, back)
			d.mu.Unlock()
			d.working.Go(func() { _, _ = io.Copy(front, back); _ = front.Close() })
			d.working.Go(func() { _, _ = io.Copy(back, front); _ = back.Close() })
		}
	})
}

// shut ends every connection in the middle of whatever it does.
func (d *door) shut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	_ = d.l.Close()
	for _, c := range d.inside {
		_ = c.Close()
	}
	d.inside = nil
}

// TestPostgres_dead: a database that is dead for a while, and dies again and
// again in the middle of its work, has every entry once; how far it is behind
// can be seen meanwhile. ANNOTARY_DEAD says for how long it is dead.
func TestPostgres_dead(t *testing.T) {
	dead := 2 * time.Second
	if v := os.Getenv("ANNOTARY_DEAD"); v != "" {
		var err error
		if dead, err = time.ParseDuration(v); err != nil {
			t.Fatal(err)
		}
	}
	d := newDoor(t)
	log := &memory.Log{}
	fill(t, log, 0, 1000)
	e := export.New(export.Options{
		Name: "pg", Log: log, Sink: &export.Postgres{URL: d.url(), Table: "audit", Origin: "log"},
		Every: time.Millisecond, Pause: 5 * time.Millisecond, MaxPause: 100 * time.Millisecond,
	})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var wg sync.WaitGroup
	wg.Go(func() { e.Run(ctx) })
	n := 1000
	for range 20 { // it dies in the middle: some of this is there, and more under way
		done := e.Status().Done
		fill(t, log, n, n+600)
		n += 600
		awaitDone(t, e, done+1)
		d.shut()
		d.open()
	}
	d.shut()
	until := time.Now().Add(dead)
	for ; time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
		fill(t, log, n, n+5)
		n += 5
	}
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		if s := e.Status(); s.Behind > 0 && s.Problem != nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("nobody sees that it is behind: %+v", e.Status())
		}
	}
	behind, back := e.Status().Behind, time.Now()
	d.open()
	awaitCaughtUp(t, log, e)
	t.Logf("dead for %v: %d of %d entries behind, caught up in %v", dead, behind, n, time.Since(back).Round(time.Millisecond))
	stop()
	wg.Wait()
	if s := e.Status(); s.Problem != nil {
		t.Errorf("after it: %+v", s)
	}
	checkRows(t, d, n)
}

// checkRows holds the table against the log.
func checkRows(t *testing.T, d *door, n int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), d.url())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	var rows, calls, cursor int
	err = conn.QueryRow(t.Context(), "SELECT count(*), count(DISTINCT call), (SELECT pack FROM audit_cursor) FROM audit").Scan(&rows, &calls, &cursor)
	if err != nil || rows != n || calls != n || cursor != n {
		t.Errorf("%d rows of %d calls, cursor %d, %v; want %d", rows, calls, cursor, err, n)
	}
	var text, tool string
	err = conn.QueryRow(t.Context(), "SELECT line, tool FROM audit WHERE call = 'c7'").Scan(&text, &tool)
	if err != nil || text != string(line(t, 7)) || tool != "nul\uFFFD" {
		t.Errorf("entry 7 is %s %q, %v", text, tool, err)
	}
}

// TestPostgres_two: two who export one log to one table disturb nobody.
func TestPostgres_two(t *testing.T) {
	d := newDoor(t)
	log := &memory.Log{}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var wg sync.WaitGroup
	var both []*export.Exporter
	for range 2 {
		e := export.New(export.Options{Log: log, Sink: &export.Postgres{URL: d.url(), Table: "audit", Origin: "log"}, Every: time.Millisecond, Pause: time.Millisecond})
		both = append(both, e)
		wg.Go(func() { e.Run(ctx) })
	}
	for n := 0; n < 500; n += 10 {
		fill(t, log, n, n+10)
		time.Sleep(time.Millisecond)
	}
	for _, e := range both {
		awaitCaughtUp(t, log, e)
	}
	stop()
	wg.Wait()
	checkRows(t, d, 500)
}
