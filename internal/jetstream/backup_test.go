package jetstream_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/jetstream"
)

// TestBackup: what was acknowledged before a backup began is in it, with its
// revision and its place in the log, although writing goes on; buckets that were
// not named are not.
func TestBackup(t *testing.T) {
	ctx := t.Context()
	e := open(t, jetstream.Options{Dir: t.TempDir()})
	bucket := func(e *jetstream.Engine, name string) (*jetstream.Bucket, bool) {
		b, made, err := e.Bucket(ctx, name, jetstream.BucketOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return b, made
	}
	log := func(e *jetstream.Engine) *jetstream.Log {
		l, err := e.Log(ctx, "tenant", fmt.Sprintf("%p", e), jetstream.LogOptions{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(l.Close)
		return l
	}
	kept, _ := bucket(e, "kept")
	left, _ := bucket(e, "left")
	l := log(e)
	add := func(n int) {
		if err := l.Append(ctx, fmt.Append(nil, n)); err != nil {
			t.Error(err)
		}
	}
	for n := range 20 {
		add(n)
	}
	if err := l.Purge(ctx, 5); err != nil {
		t.Fatal(err)
	}
	var rev uint64
	for i := range 3 {
		var err error
		if rev, err = kept.Swap(ctx, "k", fmt.Append(nil, i), rev); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := left.Swap(ctx, "k", []byte("x"), 0); err != nil {
		t.Fatal(err)
	}

	var archive bytes.Buffer
	stop := make(chan struct{})
	var writing sync.WaitGroup
	writing.Go(func() {
		for n := 20; ; n++ {
			select {
			case <-stop:
				return
			default:
				add(n)
			}
		}
	})
	to := tar.NewWriter(&archive)
	if err := e.Backup(ctx, to, "kept", "absent"); err != nil {
		t.Fatal(err, errors.Unwrap(err))
	}
	close(stop)
	writing.Wait()
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}

	other := open(t, jetstream.Options{Dir: t.TempDir()})
	if err := restore(t, other, archive.Bytes()); err != nil {
		t.Fatal(err)
	}
	b, made := bucket(other, "kept")
	if v, r, err := b.Get(ctx, "k"); made || string(v) != "2" || r != rev || err != nil {
		t.Errorf("put back: %q at %d, %v (made %v), want 2 at %d", v, r, err, made, rev)
	}
	if _, made := bucket(other, "left"); !made {
		t.Error("what was not named was put back")
	}
	packs := func(l *jetstream.Log) (all []string) {
		err := l.Read(ctx, 0, func(pack uint64, lines [][]byte) error {
			all = append(all, fmt.Sprintf("%d:%s", pack, bytes.Join(lines, []byte(","))))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	was, is := packs(l), packs(log(other))
	if len(is) < 16 || len(is) > len(was) || !slices.Equal(is, was[:len(is)]) {
		t.Errorf("of the log %d packs were put back, from %v; there were %d from %v", len(is), is[:1], len(was), was[:1])
	}
	if err := restore(t, other, archive.Bytes()); annotary.CodeOf(err) != annotary.CodeStore {
		t.Errorf("put back over what is there: %v", err)
	}
	half(t, archive.Bytes())
}

// half: a restore that was broken off after a bucket was put back is known for
// what it is, and the next one begins anew.
func half(t *testing.T, archive []byte) {
	t.Helper()
	dir := t.TempDir()
	e, err := jetstream.Open(t.Context(), jetstream.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	r, err := e.Restore(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	from := tar.NewReader(bytes.NewReader(archive))
	for name := ""; name != "state/KV_kept/end"; {
		h, err := from.Next()
		if err != nil {
			t.Fatal(err)
		}
		name = h.Name
		if _, err := r.Entry(t.Context(), name, from); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.Close(); err != nil { // as if it had been killed
		t.Fatal(err)
	}
	e = open(t, jetstream.Options{Dir: dir})
	if err := e.CheckRestored(t.Context()); annotary.CodeOf(err) != annotary.CodeStore {
		t.Errorf("put back by half: %v", err)
	}
	if err := restore(t, e, archive); err != nil {
		t.Fatal(err)
	}
	if err := e.CheckRestored(t.Context()); err != nil {
		t.Errorf("put back as a whole: %v", err)
	}
	b, made, err := e.Bucket(t.Context(), "kept", jetstream.BucketOptions{})
	if err != nil || made {
		t.Fatal(made, err)
	}
	if v, _, err := b.Get(t.Context(), "k"); string(v) != "2" || err != nil {
		t.Errorf("put back: %q, %v", v, err)
	}
}

// restore puts an archive back.
func restore(t *testing.T, e *jetstream.Engine, archive []byte) error {
	t.Helper()
	r, err := e.Restore(t.Context())
	if err != nil {
		return err
	}
	from := tar.NewReader(bytes.NewReader(archive))
	for {
		h, err := from.Next()
		if errors.Is(err, io.EOF) {
			if !r.Whole() {
				t.Error("half a stream was put back")
			}
			return r.Done(t.Context())
		}
		if err != nil {
			return err
		}
		if ours, err := r.Entry(t.Context(), h.Name, from); !ours || err != nil {
			return err
		}
	}
}
