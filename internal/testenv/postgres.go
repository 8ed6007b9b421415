package testenv

import (
	"bytes"
	"errors"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// Postgres starts a PostgreSQL of its own for the test and returns the folder
// of its unix socket. The superuser is "postgres", without a password; nothing
// listens on the network, and nothing is written in the background: no
// autovacuum, no checkpoints.
func Postgres(t testing.TB) string {
	t.Helper()
	const debian = "/usr/lib/postgresql/15/bin"
	initdb, postgres := Program(t, "initdb", debian), Program(t, "postgres", debian)
	dir, err := os.MkdirTemp("", "pg") //nolint:usetesting // PostgreSQL runs as another user, who cannot enter t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	cred := unprivileged(t, dir)
	data := filepath.Join(dir, "data")
	run := func(name string, args ...string) *exec.Cmd {
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "TZ=UTC")
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: cred}
		return cmd
	}
	if out, err := run(initdb, "-D", data, "-U", "postgres", "-A", "trust", "--no-sync").CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	server := run(postgres, "-D", data, "-k", dir, "-h", "",
		"-c", "fsync=off", "-c", "autovacuum=off", "-c", "wal_level=minimal", "-c", "max_wal_senders=0", "-c", "checkpoint_timeout=1d", "-c", "log_min_messages=fatal")
	var said bytes.Buffer
	server.Stdout, server.Stderr = &said, &said
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Signal(syscall.SIGINT) // fast shutdown
		_ = server.Wait()
		if t.Failed() {
			t.Logf("postgres said:\n%s", said.Bytes())
		}
	})
	waitForSocket(t, filepath.Join(dir, ".s.PGSQL.5432"))
	return dir
}

// unprivileged gives the folder to a user PostgreSQL agrees to run as: it
// refuses root. For anybody else it returns nil, which changes nothing.
func unprivileged(t testing.TB, dir string) *syscall.Credential {
	t.Helper()
	if os.Getuid() != 0 {
		return nil
	}
	nobody, err := user.Lookup("nobody")
	if err != nil {
		t.Fatal(err)
	}
	uid, err1 := strconv.Atoi(nobody.Uid)
	gid, err2 := strconv.Atoi(nobody.Gid)
	if err := errors.Join(err1, err2, os.Chown(dir, uid, gid)); err != nil {
		t.Fatal(err)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

func waitForSocket(t testing.TB, path string) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for {
		conn, err := net.Dial("unix", path)
		if err == nil {
			conn.Close()
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("postgres did not start: %v", err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
