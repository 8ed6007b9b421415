package api

import (
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/annotary/annotary/internal/memory"
)

// TestServe_otherUser: another user is turned away even where the modes of the
// folder and the socket let everybody in.
func TestServe_otherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can become somebody else")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "o.sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{filepath.Dir(dir), dir, path} {
		if err := os.Chmod(p, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan error, 1)
	o := options(t, &memory.Log{})
	o.Token = "sesame"
	go func() { ended <- Serve(ctx, l, o) }()
	if got := statusLine(t, path, 0); got == "" {
		t.Error("the user got no answer")
	}
	if got := statusLine(t, path, 65534); got != "" {
		t.Errorf("another user was answered: %q", got)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// statusLine asks for the status as a user and returns the beginning of the
// answer. The kernel keeps credentials by thread: this one becomes the user and
// ends with its goroutine, since it is never unlocked.
func statusLine(t *testing.T, path string, uid uintptr) string {
	got := make(chan string, 1)
	go func() {
		defer close(got)
		runtime.LockOSThread()
		const same = ^uintptr(0)
		if _, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, same, uid, same); errno != 0 {
			t.Error(errno)
			return
		}
		conn, err := net.Dial("unix", path)
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "GET /v1/status HTTP/1.1\r\nHost: gateway\r\n\r\n")
		head := make([]byte, 12)
		n, _ := io.ReadFull(conn, head)
		got <- string(head[:n])
	}()
	return <-got
}
