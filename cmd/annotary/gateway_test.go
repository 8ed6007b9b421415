package main

import (
	"net"
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
