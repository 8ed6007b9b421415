package jetstream_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/jetstream"
	"github.com/annotary/annotary/internal/storetest"
	"github.com/annotary/annotary/internal/testenv"
)

func open(t testing.TB, o jetstream.Options) *jetstream.Engine {
	t.Helper()
	e, err := jetstream.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// suite runs the contract of the stores on one engine; each test gets a bucket
// or log of its own.
func suite(t *testing.T, e *jetstream.Engine) {
	var n int
	var mu sync.Mutex
	next := func() string {
		mu.Lock()
		defer mu.Unlock()
		n++
		return fmt.Sprintf("test%d", n)
	}
	bucket := func(t *testing.T) storetest.Bucket {
		b, made, err := e.Bucket(t.Context(), next(), jetstream.BucketOptions{})
		if err != nil || !made {
			t.Fatal(made, err, errors.Unwrap(err))
		}
		return b
	}
	storetest.RunBucket(t, bucket)
	storetest.RunDesk(t, bucket)
	storetest.RunRecords(t, bucket)
	storetest.RunLog(t, func(t *testing.T) storetest.Log {
		l, err := e.Log(t.Context(), next(), "epoch", jetstream.LogOptions{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(l.Close)
		return l
	})
}

func TestEmbedded(t *testing.T) {
	suite(t, open(t, jetstream.Options{Dir: t.TempDir()}))
}

func TestThreeServers(t *testing.T) {
	suite(t, open(t, jetstream.Options{URL: cluster(t), Deadline: 20 * time.Second}))
}

// TestChangedOptions: what the configuration says of replicas and of time holds for
// what is there already, and nothing of it is lost.
func TestChangedOptions(t *testing.T) {
	url, ctx := cluster(t), t.Context()
	nc, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := natsjs.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		replicas int
		ttl      time.Duration
	}{{1, 0}, {3, 0}, {3, time.Hour}, {1, time.Hour}} {
		replicas, ttl := c.replicas, c.ttl
		e := open(t, jetstream.Options{URL: url, Deadline: 20 * time.Second, Replicas: replicas})
		b, made, err := e.Bucket(ctx, "b", jetstream.BucketOptions{TTL: ttl})
		if err != nil || made != (i == 0) {
			t.Fatal(made, err)
		}
		l, err := e.Log(ctx, "tenant", fmt.Sprint("epoch", i), jetstream.LogOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		for names := js.ListStreams(ctx); ; {
			info, more := <-names.Info()
			if !more {
				break
			}
			if got := info.Config.Replicas; got != replicas {
				t.Errorf("%s has %d replicas, want %d", info.Config.Name, got, replicas)
			}
			if got := info.Config.MaxAge; strings.HasPrefix(info.Config.Name, "KV_") && got != ttl {
				t.Errorf("%s keeps what is in it for %v, want %v", info.Config.Name, got, ttl)
			}
		}
		if v, rev, err := b.Get(ctx, "k"); err != nil || i > 0 && string(v) != fmt.Sprint(i-1) {
			t.Errorf("%q, %v", v, err)
		} else if _, err := b.Swap(ctx, "k", fmt.Append(nil, i), rev); err != nil {
			t.Error(err)
		}
		if err := l.Append(ctx, fmt.Append(nil, i)); err != nil {
			t.Error(err)
		}
	}
}

// TestChangedMax: how large a log may grow can be said anew. What is in it stays,
// though it be more.
func TestChangedMax(t *testing.T) {
	e := open(t, jetstream.Options{Dir: t.TempDir()})
	l, err := e.Log(t.Context(), "small", "epoch", jetstream.LogOptions{MaxBytes: 4096})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	fill := func() (n int) {
		for n < 20 && l.Append(t.Context(), []byte(strings.Repeat("x", 1000))) == nil {
			n++
		}
		return n
	}
	small := fill()
	if err := l.Limit(t.Context(), jetstream.LogOptions{MaxBytes: 8192}); err != nil {
		t.Fatal(err)
	}
	large := fill()
	if err := l.Limit(t.Context(), jetstream.LogOptions{MaxBytes: 2048}); err != nil {
		t.Fatal(err)
	}
	if n := fill(); small == 0 || large == 0 || n != 0 {
		t.Errorf("%d entries, %d more, %d more", small, large, n)
	}
	if err := l.Limit(t.Context(), jetstream.LogOptions{}); err != nil || fill() != 20 {
		t.Errorf("without a limit it is full: %v", err)
	}
	n := 0
	if err := l.Read(t.Context(), 1, func(uint64, [][]byte) error { n++; return nil }); err != nil || n != small+large+20 {
		t.Errorf("%d packs, %v", n, err)
	}
}

// cluster starts three servers with routes on loopback and returns their URLs.
func cluster(t *testing.T) string {
	t.Helper()
	ports := freePorts(t, 3)
	var routes []*url.URL
	for _, p := range ports {
		routes = append(routes, &url.URL{Scheme: "nats", Host: fmt.Sprintf("127.0.0.1:%d", p)})
	}
	servers := make([]*server.Server, len(ports))
	for i, port := range ports {
		s, err := server.NewServer(&server.Options{
			ServerName: fmt.Sprintf("n%d", i), Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, NoSigs: true,
			JetStream: true, StoreDir: t.TempDir(), SyncAlways: true,
			Cluster: server.ClusterOpts{Name: "test", Host: "127.0.0.1", Port: port}, Routes: routes,
		})
		if err != nil {
			t.Fatal(err)
		}
		s.Start()
		t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
		servers[i] = s
	}
	var urls []string
	for _, s := range servers {
		if !s.ReadyForConnections(30 * time.Second) {
			t.Fatal("a server of the cluster does not start")
		}
		urls = append(urls, s.ClientURL())
	}
	for deadline := time.Now().Add(30 * time.Second); !hasLeader(servers); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the cluster elects no leader")
		}
	}
	return strings.Join(urls, ",")
}

func hasLeader(servers []*server.Server) bool {
	return slices.ContainsFunc(servers, (*server.Server).JetStreamIsLeader)
}

// freePorts returns ports that nobody listens on.
func freePorts(t *testing.T, n int) []int {
	t.Helper()
	ports := make([]int, n)
	for i := range ports {
		port, err := testenv.FreePort()
		if err != nil {
			t.Fatal(err)
		}
		if ports[i], err = strconv.Atoi(port); err != nil {
			t.Fatal(err)
		}
	}
	return ports
}

func TestNoPort(t *testing.T) {
	before := listening(t)
	open(t, jetstream.Options{Dir: t.TempDir()})
	if after := listening(t); after != before {
		t.Errorf("%d sockets listen, %d did before", after, before)
	}
}

// listening counts the TCP sockets of this machine that listen.
func listening(t *testing.T) int {
	t.Helper()
	n := 0
	for _, file := range []string{"/proc/self/net/tcp", "/proc/self/net/tcp6"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		inodes := ownSockets(t)
		for line := range strings.Lines(string(text)) {
			f := strings.Fields(line)
			if len(f) > 9 && f[3] == "0A" && inodes[f[9]] {
				n++
			}
		}
	}
	return n
}

func ownSockets(t *testing.T) map[string]bool {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	for _, fd := range fds {
		if link, err := os.Readlink("/proc/self/fd/" + fd.Name()); err == nil {
			if inode, ok := strings.CutPrefix(link, "socket:["); ok {
				out[strings.TrimSuffix(inode, "]")] = true
			}
		}
	}
	return out
}

func TestSecondEngineIsRefused(t *testing.T) {
	dir := t.TempDir()
	open(t, jetstream.Options{Dir: dir})
	_, err := jetstream.Open(t.Context(), jetstream.Options{Dir: dir})
	if annotary.CodeOf(err) != annotary.CodeStore || !strings.Contains(err.Error(), fmt.Sprintf("process %d", os.Getpid())) {
		t.Errorf("a second engine in one folder: %v", err)
	}
}

func TestSurvivesRestart(t *testing.T) {
	dir := t.TempDir()
	ctx := t.Context()
	e, err := jetstream.Open(ctx, jetstream.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	b, _, err := e.Bucket(ctx, "kept", jetstream.BucketOptions{})
	if err != nil {
		t.Fatal(err)
	}
	rev, err := b.Swap(ctx, "k", []byte("v"), 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	e = open(t, jetstream.Options{Dir: dir})
	b, made, err := e.Bucket(ctx, "kept", jetstream.BucketOptions{})
	if err != nil || made {
		t.Fatalf("the bucket was made again: %v, %v", made, err)
	}
	if v, again, err := b.Get(ctx, "k"); string(v) != "v" || again != rev || err != nil {
		t.Errorf("after a restart: %q, %d, %v", v, again, err)
	}
}

func TestFullLogRefuses(t *testing.T) {
	e := open(t, jetstream.Options{Dir: t.TempDir()})
	l, err := e.Log(t.Context(), "small", "epoch", jetstream.LogOptions{MaxBytes: 4096})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	line := []byte(strings.Repeat("x", 1000))
	var refused error
	for range 10 {
		if refused = l.Append(t.Context(), line); refused != nil {
			break
		}
	}
	if annotary.CodeOf(refused) != annotary.CodeStore {
		t.Errorf("a full log says %v", refused)
	}
}

// logAndBucket opens the log of a tenant and a bucket.
func logAndBucket(t *testing.T, e *jetstream.Engine, o jetstream.LogOptions) (*jetstream.Log, *jetstream.Bucket) {
	t.Helper()
	l, err := e.Log(t.Context(), "tenant", "epoch", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	b, _, err := e.Bucket(t.Context(), "b", jetstream.BucketOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return l, b
}

// TestUnwritten: a store that takes no writes still answers; what it did not take
// is known until it takes the like again, and told once.
func TestUnwritten(t *testing.T) {
	var diary bytes.Buffer
	e := open(t, jetstream.Options{Dir: t.TempDir(), Silence: time.Hour, Diary: slog.New(slog.NewTextHandler(&diary, nil))})
	l, b := logAndBucket(t, e, jetstream.LogOptions{MaxBytes: 4096})
	line := []byte(strings.Repeat("x", 1000))
	for range 10 {
		_ = l.Append(t.Context(), line) // the last are refused
	}
	if _, err := b.Swap(t.Context(), "k", nil, 0); err != nil { // which says nothing of the log
		t.Fatal(err)
	}
	if _, err := b.Swap(t.Context(), "k", nil, 0); annotary.CodeOf(err) != annotary.CodeConflict { // nor is this a failure
		t.Fatal(err)
	}
	if h := e.Health(); h.Lost || !strings.HasPrefix(h.Unwritten, "the log: ") {
		t.Errorf("a full log: %+v", h)
	}
	if err := l.Purge(t.Context(), 100); err != nil {
		t.Fatal(err)
	}
	if err := l.Append(t.Context(), line); err != nil {
		t.Fatal(err)
	}
	if h := e.Health(); h.Unwritten != "" {
		t.Errorf("after it was written to again: %+v", h)
	}
	if n := strings.Count(diary.String(), "\n"); n != 2 {
		t.Errorf("the diary has %d lines, want 2:\n%s", n, diary.String())
	}
}

func TestLostStore(t *testing.T) {
	e, err := jetstream.Open(t.Context(), jetstream.Options{Dir: t.TempDir(), Deadline: 300 * time.Millisecond, Silence: 500 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	b, _, err := e.Bucket(t.Context(), "b", jetstream.BucketOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if e.Lost() {
		t.Error("lost at once")
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	_, err = b.Swap(context.Background(), "k", nil, 0)
	if annotary.CodeOf(err) != annotary.CodeStore || time.Since(start) > 2*time.Second {
		t.Errorf("a lost store says %v after %v", err, time.Since(start))
	}
	time.Sleep(600 * time.Millisecond)
	if !e.Lost() {
		t.Error("not lost after its silence")
	}
}

// TestDamagedLog: a log whose file was cut is read as far as it goes. Nobody waits
// for what is gone.
func TestDamagedLog(t *testing.T) {
	dir := t.TempDir()
	whole := func(dir string) *jetstream.Engine {
		e, err := jetstream.Open(t.Context(), jetstream.Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	logOf := func(e *jetstream.Engine, epoch string) *jetstream.Log {
		l, err := e.Log(t.Context(), "tenant", epoch, jetstream.LogOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	e := whole(dir)
	l := logOf(e, "one")
	for range 10 {
		if err := l.Append(t.Context(), []byte(strings.Repeat("x", 1000))); err != nil {
			t.Fatal(err)
		}
	}
	l.Close()
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "jetstream", "*", "streams", "AUDIT_*", "msgs", "1.blk"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	if err := os.Truncate(files[0], 5000); err != nil {
		t.Fatal(err)
	}
	e = whole(dir)
	defer e.Close()
	l = logOf(e, "two")
	defer l.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	n := 0
	err = l.Read(ctx, 1, func(uint64, [][]byte) error { n++; return nil })
	if err != nil || n == 0 || n >= 10 {
		t.Errorf("%d of 10 packs, %v", n, err)
	}
}

func BenchmarkAppend(b *testing.B) {
	e := open(b, jetstream.Options{Dir: b.TempDir()})
	l, err := e.Log(b.Context(), "bench", "epoch", jetstream.LogOptions{})
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	line := []byte(strings.Repeat("x", 500))
	b.SetParallelism(128)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := l.Append(context.Background(), line); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "entries/s")
}

// TestPackBounds: many entries at once come in packs of at most 256 entries and
// 512 KB, and none is lost.
func TestPackBounds(t *testing.T) {
	e := open(t, jetstream.Options{Dir: t.TempDir()})
	for size, n := range map[int]int{10: 2000, 20 << 10: 200} {
		l, err := e.Log(t.Context(), fmt.Sprint("bounds", size), "epoch", jetstream.LogOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for range n {
			wg.Go(func() {
				if err := l.Append(context.Background(), []byte(strings.Repeat("x", size))); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		l.Close()
		entries := 0
		err = l.Read(t.Context(), 0, func(pack uint64, lines [][]byte) error {
			entries += len(lines)
			if bytes := len(lines) * (size + 1); len(lines) > 256 || bytes > 512<<10 {
				t.Errorf("pack %d has %d entries, %d bytes", pack, len(lines), bytes)
			}
			return nil
		})
		if err != nil || entries != n {
			t.Errorf("%d entries of %d, %v", entries, n, err)
		}
	}
}
