package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestReload_rejected: a configuration that is not taken over changes nothing of
// how the log is kept: what it says of old entries must not happen to them.
func TestReload_rejected(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "annotary.yaml")
	write := func(rest string) {
		t.Helper()
		if err := os.WriteFile(path, fmt.Appendf(nil, "data: %q\npage: {listen: \"off\"}\nservers: {}\n%s", dir, rest), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("identity: {anyone: true}\n")
	d, err := newDaemon(path, false, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.close)
	d.at = &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 80}
	before := d.ledger.keeper
	for name, rest := range map[string]string{
		"who calls":      "audit: {keep: 1h}\n",
		"how it is kept": "identity: {anyone: true}\naudit: {key: " + dir + "}\n",
	} {
		write(rest)
		if err := d.reload(); err == nil {
			t.Fatalf("%s: it was taken over", name)
		}
		ended := make(chan struct{})
		go func() { before.work.Wait(); close(ended) }()
		select {
		case <-ended:
			t.Fatalf("%s: nobody keeps the log any more", name)
		case <-time.After(100 * time.Millisecond):
		}
		if d.ledger.keeper != before {
			t.Fatalf("%s: the log is kept in another way", name)
		}
	}
}

// TestReload_slow: while a server that does not answer is asked for its tools,
// neither a reload nor anybody else waits for it.
func TestReload_slow(t *testing.T) {
	dir := t.TempDir()
	path, asked := filepath.Join(dir, "annotary.yaml"), filepath.Join(t.TempDir(), "asked") // commands do not reach the data folder
	text := fmt.Appendf(nil, "data: %q\npage: {listen: \"off\"}\nservers:\n  mute: {command: sh, args: [-c, %q]}\n", dir, "touch "+asked+"; exec sleep 600")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := newDaemon(path, false, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.close)
	ctx, giveUp := context.WithCancel(t.Context())
	surveyed, reloaded := make(chan struct{}), make(chan error, 1)
	go func() { defer close(surveyed); d.survey(ctx) }()
	for until := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(asked); err == nil {
			break
		}
		if time.Now().After(until) {
			t.Fatal("the server was not asked")
		}
	}
	go func() { reloaded <- d.reload() }()
	for range 50 {
		told := make(chan struct{})
		go func() { defer close(told); d.config(); d.stateHealth(); d.auditHealth() }()
		select {
		case <-told:
		case <-time.After(10 * time.Second):
			t.Fatal("who asks how the gateway is doing waits for the reload")
		}
		time.Sleep(2 * time.Millisecond)
	}
	select {
	case err := <-reloaded:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second): // a server is given 30 to answer
		t.Error("the reload waits for the server")
	}
	giveUp()
	<-surveyed
}

// TestReload_ended: a reload that meets the end of the gateway puts nothing back
// in service.
func TestReload_ended(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "annotary.yaml")
	text := fmt.Appendf(nil, "data: %q\npreset: off\npage: {listen: \"off\"}\nservers:\n  mute: {command: sleep, args: [\"600\"]}\n", dir)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := newDaemon(path, false, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	d.close()
	for _, preset := range []string{"off", "careful"} { // which opens a ledger
		if err := os.WriteFile(path, bytes.Replace(text, []byte("off"), []byte(preset), 1), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := d.reload(); !errors.Is(err, errEnded) {
			t.Errorf("preset %s: got %v", preset, err)
		}
		if n := len(d.gateway.Servers()); n != 0 || d.ledger != nil {
			t.Errorf("preset %s: %d servers, ledger %v", preset, n, d.ledger)
		}
	}
}
