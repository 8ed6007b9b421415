package cli

import (
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
