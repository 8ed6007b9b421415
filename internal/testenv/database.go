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
	d := newDatabase(t)
	d.run(initdb, "-D", d.data, "-U", "postgres", "-A", "trust", "--no-sync")
	d.start(syscall.SIGINT, filepath.Join(d.dir, ".s.PGSQL.5432"), postgres, "-D", d.data, "-k", d.dir, "-h", "",
		"-c", "fsync=off", "-c", "autovacuum=off", "-c", "wal_level=minimal", "-c", "max_wal_senders=0",
		"-c", "checkpoint_timeout=1d", "-c", "log_min_messages=fatal")
	// The socket is there before the server answers queries.
	ready := Program(t, "pg_isready", debian)
	for deadline := time.Now().Add(time.Minute); d.command(ready, "-q", "-h", d.dir, "-U", "postgres").Run() != nil; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("postgres does not become ready")
		}
	}
	return d.dir
}

// MariaDB starts a MariaDB of its own for the test, which keeps a binary log,
// and returns the path of its unix socket and the folder of its data. The user
// is "root", without a password; nothing listens on the network.
func MariaDB(t testing.TB) (socket, data string) {
	t.Helper()
	install, mariadbd := Program(t, "mariadb-install-db"), Program(t, "mariadbd", "/usr/sbin")
	d := newDatabase(t)
	d.run(install, "--no-defaults", "--datadir="+d.data, "--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve")
	socket = filepath.Join(d.dir, "socket")
	d.start(syscall.SIGTERM, socket, mariadbd, "--no-defaults", "--datadir="+d.data, "--socket="+socket, "--skip-networking",
		"--pid-file="+filepath.Join(d.dir, "pid"), "--log-bin="+filepath.Join(d.dir, "log"), "--server-id=1",
		"--innodb-flush-log-at-trx-commit=0", "--sync-binlog=0")
	return socket, d.data
}

// A database is a server under construction, in a folder of its own and under
// a user that database servers agree to run as: they refuse root.
type database struct {
	t         testing.TB
	dir, data string
	cred      *syscall.Credential
}

func newDatabase(t testing.TB) *database {
	t.Helper()
	dir, err := os.MkdirTemp("", "db") //nolint:usetesting // the server runs as another user, who cannot enter t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	d := &database{t: t, dir: dir, data: filepath.Join(dir, "data")}
	if os.Getuid() != 0 {
		return d
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
	d.cred = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return d
}

func (d *database) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = d.dir
	// MariaDB clears its temporary directory of what an earlier one left there,
	// which must not be the tables of another that is running.
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "TZ=UTC", "TMPDIR="+d.dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: d.cred}
	return cmd
}

// run runs a program to its end.
func (d *database) run(name string, args ...string) {
	d.t.Helper()
	if out, err := d.command(name, args...).CombinedOutput(); err != nil {
		d.t.Fatalf("%s: %v\n%s", name, err, out)
	}
}

// start runs the server until the test ends, and returns once it listens.
func (d *database) start(stop syscall.Signal, socket, name string, args ...string) {
	d.t.Helper()
	server := d.command(name, args...)
	var said bytes.Buffer
	server.Stdout, server.Stderr = &said, &said
	if err := server.Start(); err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() {
		_ = server.Process.Signal(stop)
		_ = server.Wait()
		if d.t.Failed() {
			d.t.Logf("%s said:\n%s", name, said.Bytes())
		}
	})
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		conn, err := net.Dial("unix", socket)
		if err == nil {
			conn.Close()
			return
		}
		if time.Now().After(deadline) {
			d.t.Fatalf("%s did not start: %v", name, err)
		}
	}
}
