package main

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/annotary/annotary/internal/api"
	"github.com/annotary/annotary/internal/testenv"
)

// freePort sets a variable to a port nobody listens on: "freeport NAME".
func freePort(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: freeport NAME")
	}
	port, err := testenv.FreePort()
	ts.Check(err)
	ts.Setenv(args[0], port)
}

// setEnv sets a variable to what stands in a file: "setenv NAME FILE".
func setEnv(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: setenv NAME FILE")
	}
	ts.Setenv(args[0], strings.TrimSpace(ts.ReadFile(args[1])))
}

// await waits until somebody listens on a loopback port: "await PORT".
func await(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: await PORT")
	}
	for range 1200 { // a minute: machines are slow when they are busy
		if testenv.Listening("127.0.0.1:" + args[0]) {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	ts.Fatalf("nobody listens on port %s", args[0])
}

// awaitText waits until a file holds what fits an expression: "awaittext FILE
// REGEXP".
func awaitText(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: awaittext FILE REGEXP")
	}
	want, err := regexp.Compile(args[1])
	ts.Check(err)
	var text []byte
	for range 1200 {
		if text, err = os.ReadFile(ts.MkAbs(args[0])); err == nil && want.Match(text) {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	ts.Fatalf("%s does not come to hold %s: %v\n%s", args[0], args[1], err, text)
}

// stopGateway kills the gateway of a data folder: "stopgateway DIR".
func stopGateway(ts *testscript.TestScript, _ bool, args []string) {
	conn := signalGateway(ts, args, syscall.SIGKILL)
	defer conn.Close()
	_, _ = io.Copy(io.Discard, conn) // until it is gone
}

// hangUp has the gateway of a data folder read its configuration again:
// "hangup DIR".
func hangUp(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(signalGateway(ts, args, syscall.SIGHUP).Close())
}

// reload has the gateway of a data folder read its configuration again and
// waits until it has: "reload DIR"; "! reload DIR REGEXP" wants that refused.
func reload(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 && (!neg || len(args) != 2) {
		ts.Fatalf("usage: reload DIR [REGEXP]")
	}
	client := operator(ts.MkAbs(args[0]))
	defer client.Close()
	err := client.Reload(context.Background())
	switch {
	case !neg:
		ts.Check(err)
	case err == nil:
		ts.Fatalf("the configuration was taken")
	case len(args) == 2 && !regexp.MustCompile(args[1]).MatchString(err.Error()):
		ts.Fatalf("reload said %q", err)
	}
}

// operator reaches the gateway of a data folder.
func operator(data string) *api.Client {
	return api.NewClient(
		func() (net.Conn, error) { return net.Dial("unix", filepath.Join(data, "operator.sock")) },
		func() (string, error) {
			token, err := os.ReadFile(filepath.Join(data, "operator.token"))
			return string(token), err
		})
}

// signalGateway signals whoever listens on the socket of a data folder.
func signalGateway(ts *testscript.TestScript, args []string, sig syscall.Signal) net.Conn {
	if len(args) != 1 {
		ts.Fatalf("name the data folder")
	}
	conn, err := net.Dial("unix", filepath.Join(ts.MkAbs(args[0]), "gateway.sock"))
	ts.Check(err)
	pid, err := peer(conn.(*net.UnixConn))
	ts.Check(err)
	ts.Check(syscall.Kill(pid, sig))
	return conn
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
