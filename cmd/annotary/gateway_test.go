package main

import (
	"errors"
	"io"
	"net"
	"path/filepath"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// freePort sets a variable to a port nobody listens on: "freeport NAME".
func freePort(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: freeport NAME")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	_, port, err := net.SplitHostPort(l.Addr().String())
	ts.Check(err)
	ts.Check(l.Close())
	ts.Setenv(args[0], port)
}

// await waits until somebody listens on a loopback port: "await PORT".
func await(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: await PORT")
	}
	for range 100 {
		if c, err := net.Dial("tcp", "127.0.0.1:"+args[0]); err == nil {
			ts.Check(c.Close())
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	ts.Fatalf("nobody listens on port %s", args[0])
}

// stopGateway ends the gateway that a script's pipes started: "stopgateway".
func stopGateway(ts *testscript.TestScript, _ bool, _ []string) {
	data := filepath.Join(ts.Getenv("XDG_DATA_HOME"), "annotary")
	conn, err := net.Dial("unix", filepath.Join(data, "gateway.sock"))
	ts.Check(err)
	defer conn.Close()
	pid, err := peer(conn.(*net.UnixConn))
	ts.Check(err)
	ts.Check(syscall.Kill(pid, syscall.SIGKILL))
	_, _ = io.Copy(io.Discard, conn) // until it is gone
}

// peer returns the process at the other end of a socket.
func peer(conn *net.UnixConn) (int, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	var cred *syscall.Ucred
	var inner error
	err = raw.Control(func(fd uintptr) {
		cred, inner = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	})
	if err = errors.Join(err, inner); err != nil {
		return 0, err
	}
	return int(cred.Pid), nil
}
