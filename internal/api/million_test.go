package api

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/annotary/annotary/audit"
	"github.com/annotary/annotary/internal/jetstream"
	"github.com/annotary/annotary/internal/notary"
)

// TestVerifyMany verifies a log of ANNOTARY_ENTRIES entries (20,000) of 900
// bytes through the operator's channel, as annotary audit verify does.
func TestVerifyMany(t *testing.T) {
	n := 20_000
	if v, err := strconv.Atoi(os.Getenv("ANNOTARY_ENTRIES")); err == nil {
		n = v
	}
	sealer, log, keys := sealedLog(t)
	appendMany(t, log, n)
	began := time.Now()
	if err := sealer.Now(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d entries sealed in %v", n, time.Since(began))
	o := options(t, log)
	o.Sealer = func() *notary.Sealer { return sealer }
	c := dial(t, o)
	began = time.Now()
	rep := verifyLive(t, c, keys)
	took := time.Since(began)
	t.Logf("%d entries verified in %v", n, took)
	if !rep.Whole() || rep.Sealed != int64(n) || rep.Entries != int64(n) {
		t.Errorf("%+v", rep)
	}
	if n == 1_000_000 && took > 20*time.Second {
		t.Errorf("it took %v, want at most 20 s", took)
	}
}

func verifyLive(t *testing.T, c *Client, keys []string) audit.Report {
	t.Helper()
	point, err := c.Checkpoint(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	leaves, err := c.Leaves(t.Context(), point.Size)
	if err != nil {
		t.Fatal(err)
	}
	defer leaves.Close()
	lines, err := c.Lines(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer lines.Close()
	rep, err := audit.Verify(audit.Sources{Entries: lines, Leaves: leaves, Checkpoints: [][]byte{[]byte(point.Checkpoint)}, Keys: keys})
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

// sealedLog is an embedded engine with a log and who seals it.
func sealedLog(t *testing.T) (*notary.Sealer, *jetstream.Log, []string) {
	t.Helper()
	e, err := jetstream.Open(t.Context(), jetstream.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	log, err := e.Log(t.Context(), "many", "epoch", jetstream.LogOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		log.Close()
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	tiles, _, err := e.Bucket(t.Context(), "tiles", jetstream.BucketOptions{})
	if err != nil {
		t.Fatal(err)
	}
	checkpoints, _, err := e.Bucket(t.Context(), "checkpoints", jetstream.BucketOptions{})
	if err != nil {
		t.Fatal(err)
	}
	key := notary.KeyFile(filepath.Join(t.TempDir(), "audit.key"))
	if err := key.Make(); err != nil {
		t.Fatal(err)
	}
	keys, err := key.Read()
	if err != nil {
		t.Fatal(err)
	}
	return notary.New(notary.Options{Name: "many", Log: log, Tiles: tiles, Checkpoints: checkpoints, Keys: key.Read}), log, keys.Trusted
}

func appendMany(t *testing.T, log *jetstream.Log, n int) {
	t.Helper()
	pad := strings.Repeat("x", 870)
	var wg sync.WaitGroup
	const workers = 200
	for w := range workers {
		wg.Go(func() {
			for i := w; i < n; i += workers {
				if err := log.Append(context.Background(), fmt.Appendf(nil, `{"entry":%d,"pad":%q}`, i, pad)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}
