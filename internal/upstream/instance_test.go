package upstream

import (
	"context"
	"errors"
	"testing"
	"time"
)

// patience is how long a test waits for what must happen.
const patience = 30 * time.Second

// endsWithin fails the test if f takes longer than a slow machine would.
func endsWithin(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatalf("%s: not within %s", what, patience)
	}
}

// TestRetire_starting: a command that is still starting ends with its server,
// whatever its start may take.
func TestRetire_starting(t *testing.T) {
	s, err := New(self(t, "mute"), ServerOptions{Start: time.Hour, Probe: time.Hour, Stop: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if !s.Acquire() {
		t.Fatal("it is out of service")
	}
	ctx, leave := context.WithCancel(t.Context())
	m := mustParse(t, "tools/list", `{}`)
	left := make(chan error)
	go func() {
		_, err := s.Leg(Who{}, EraModern).Send(ctx, &m, nil)
		left <- err
	}()
	for started := false; !started; time.Sleep(time.Millisecond) {
		s.mu.Lock()
		in := s.instances[key{era: EraModern}]
		s.mu.Unlock()
		if in != nil {
			in.mu.Lock()
			started = in.starting != nil
			in.mu.Unlock()
		}
	}
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	s.Release()
	s.Retire()
	endsWithin(t, "a retired server ends", s.Wait)
}
