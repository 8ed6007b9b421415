package seal

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/annotary/annotary"
)

// shelf is a store that fails while down is set.
type shelf struct {
	mu    sync.Mutex
	value []byte
	rev   uint64
	down  bool
	reads int
}

func (s *shelf) Get(context.Context, string) ([]byte, uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reads++; s.down {
		return nil, 0, annotary.E(annotary.CodeStore, "down", nil)
	}
	return s.value, s.rev, nil
}

func (s *shelf) Swap(_ context.Context, _ string, v []byte, rev uint64) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if rev != s.rev {
		return 0, annotary.E(annotary.CodeConflict, "somebody else wrote first", nil)
	}
	s.value, s.rev = v, rev+1
	return s.rev, nil
}

var state = State{
	Call: "c", Round: 3, Nonce: "n", Principal: "default//ann", Binding: "sha256:1",
	Passed: true, Answered: []string{"class_rule"}, Grant: "g", Upstream: new("theirs"),
}

// TestSeal: what one replica sealed another opens, and nobody can change a bit.
func TestSeal(t *testing.T) {
	store := &shelf{}
	token, err := NewSealer(store).Seal(t.Context(), &state, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	other := NewSealer(store)
	got, err := other.Open(t.Context(), token)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&state, got); diff != "" {
		t.Error(diff)
	}
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(token, Prefix))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(raw, []byte("theirs")) {
		t.Error("the token can be read")
	}
	for i := range raw {
		raw[i] ^= 1
		_, err := other.Open(t.Context(), Prefix+base64.RawURLEncoding.EncodeToString(raw))
		if !errors.Is(err, ErrForged) {
			t.Fatalf("byte %d changed: %v", i, err)
		}
		raw[i] ^= 1
	}
	for _, forged := range []string{"", "x", Prefix, token[1:], token + "A", token[:len(token)-1], "theirs", Prefix + strings.Repeat("A", MaxBytes)} {
		if _, err := other.Open(t.Context(), forged); !errors.Is(err, ErrForged) {
			t.Errorf("%.20q: %v", forged, err)
		}
	}
}

// TestSeal_time: a token lives as long as it was made for, through the rotation
// of keys, and no longer; a key is gone when nothing it sealed can be alive.
func TestSeal_time(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &shelf{}
		s := NewSealer(store)
		seal := func(life time.Duration) string {
			token, err := s.Seal(t.Context(), &state, life)
			if err != nil {
				t.Fatal(err)
			}
			return token
		}
		time.Sleep(time.Second)
		short := seal(time.Minute)
		time.Sleep(23 * time.Hour)
		long := seal(100 * time.Hour)
		if _, err := s.Open(t.Context(), short); !errors.Is(err, ErrExpired) {
			t.Errorf("after its time: %v", err)
		}
		time.Sleep(20 * time.Hour)
		seal(time.Hour) // under another key
		if len(s.keys) != 2 {
			t.Errorf("there are %d keys", len(s.keys))
		}
		if _, err := s.Open(t.Context(), long); err != nil {
			t.Errorf("after the key was rotated: %v", err)
		}
		time.Sleep(5 * time.Hour)
		if _, err := s.Open(t.Context(), long); !errors.Is(err, ErrExpired) {
			t.Errorf("after the longest life: %v", err)
		}
		time.Sleep(24 * time.Hour)
		seal(time.Hour)
		if _, err := s.Open(t.Context(), long); !errors.Is(err, ErrForged) {
			t.Errorf("after its key is gone: %v", err)
		}
	})
}

// TestSealer_store: keys in memory outlast the store for a while; strange keys do
// not have it read at every try; many who find none make one.
func TestSealer_store(t *testing.T) {
	store := &shelf{}
	var wg sync.WaitGroup
	tokens := make(chan string, 16)
	for range 16 {
		wg.Go(func() {
			token, err := NewSealer(store).Seal(t.Context(), &state, time.Hour)
			if err != nil {
				t.Error(err)
			}
			tokens <- token
		})
	}
	wg.Wait()
	s := NewSealer(store)
	for range 16 {
		if _, err := s.Open(t.Context(), <-tokens); err != nil {
			t.Error(err)
		}
	}
	store.down = true
	if _, err := s.Seal(t.Context(), &state, time.Hour); err != nil {
		t.Errorf("with keys in memory: %v", err)
	}
	if _, err := NewSealer(store).Seal(t.Context(), &state, time.Hour); annotary.CodeOf(err) != annotary.CodeStore {
		t.Errorf("without: %v", err)
	}
	store.down = false
	strange := NewKey(time.Now())
	forged, err := strange.seal(&state, time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	before := store.reads
	for range 100 {
		if _, err := s.Open(t.Context(), forged); !errors.Is(err, ErrForged) {
			t.Fatal(err)
		}
	}
	if n := store.reads - before; n > 1 {
		t.Errorf("a hundred forged tokens had the keys read %d times", n)
	}
}

func TestSeal_tooLong(t *testing.T) {
	long := state
	long.Upstream = new(strings.Repeat("x", MaxBytes))
	if _, err := NewSealer(&shelf{}).Seal(t.Context(), &long, time.Hour); !errors.Is(err, ErrTooLong) {
		t.Error(err)
	}
}

// FuzzOpen: nothing but what was sealed is ever opened.
func FuzzOpen(f *testing.F) {
	s := NewSealer(&shelf{})
	token, err := s.Seal(f.Context(), &state, time.Hour)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(token)
	f.Add(token[:40])
	f.Add(Prefix + "AAAA")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := s.Open(t.Context(), text)
		switch {
		case text == token:
			if err != nil {
				t.Fatal(err)
			}
		case !errors.Is(err, ErrForged) || got != nil:
			t.Fatalf("%q was opened: %v, %v", text, got, err)
		}
	})
}
