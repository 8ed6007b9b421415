package upstream

import (
	"context"
	"errors"
	"runtime"
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

// listed asks for the tools on a leg and returns the answer.
func listed(t *testing.T, l Leg) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	m := mustParse(t, "tools/list", `{}`)
	a, err := l.Send(ctx, &m, nil)
	if err != nil {
		return "", err
	}
	defer a.Close()
	it, err := a.Stream.Next(ctx)
	return string(it.Msg), err
}

// commands is a server that starts the fixture, with time to spare for each.
func commands(t *testing.T, mode string) *Server {
	t.Helper()
	s, err := New(self(t, mode), ServerOptions{Stop: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Retire(); s.Wait() })
	return s
}

// TestIdle: a command that nobody used is stopped, and whoever comes at that
// very moment is served by the next one.
func TestIdle(t *testing.T) {
	s := commands(t, "modern")
	l := s.Leg(Who{}, EraModern).(*pipeLeg)
	if _, err := listed(t, l); err != nil {
		t.Fatal(err)
	}
	first := l.in
	c, err := first.running(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	first.stopIfIdle()
	m := mustParse(t, "tools/list", `{}`)
	if _, err := c.forward(t.Context(), &m, &call{leg: l}); !errors.Is(err, errGone) {
		t.Errorf("a child that was told to end took a call: %v", err)
	}
	if got, err := listed(t, l); err != nil || l.in == first {
		t.Errorf("who had looked the instance up before got %s, %v", got, err)
	}
	endsWithin(t, "the child ends", func() { <-c.link.done })
}

// TestIdle_atOnce: however a stop and a call meet, the call is answered.
func TestIdle_atOnce(t *testing.T) {
	for _, session := range []string{"", "a session"} {
		s := commands(t, "legacy")
		hello := mustParse(t, "initialize", `{"protocolVersion":"2025-06-18","capabilities":{}}`)
		era := EraLegacy
		if session == "" {
			s, era = commands(t, "modern"), EraModern
		}
		for i := range 60 {
			l := s.Leg(Who{Session: session}, era).(*pipeLeg)
			open := func() error { _, err := listed(t, l); return err }
			if session != "" {
				open = func() error {
					_, err := l.Send(t.Context(), &hello, nil)
					return err
				}
			}
			in := s.any()
			go in.stopIfIdle()
			for range i % 8 { // meet it elsewhere each time
				runtime.Gosched()
			}
			if err := open(); err != nil {
				t.Fatalf("session %q: %v", session, err)
			}
			if _, err := listed(t, l); err != nil {
				t.Fatalf("session %q: %v", session, err)
			}
			l.Close(t.Context())
		}
	}
}

// any returns an instance of the server, one that does nothing if it has none.
func (s *Server) any() *instance {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, in := range s.instances {
		return in
	}
	return &instance{server: s, idle: time.NewTimer(time.Hour), quit: func() {}}
}
