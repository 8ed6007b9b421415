package main

import (
	"bufio"
	"bytes"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/rogpeppe/go-internal/testscript"
)

// cluster starts a NATS server as an operator would and sets a variable to its
// address: "cluster NAME".
func cluster(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: cluster NAME")
	}
	s, err := server.NewServer(&server.Options{
		ServerName: "script", Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, NoSigs: true,
		JetStream: true, StoreDir: ts.MkAbs("nats"), SyncAlways: true,
	})
	ts.Check(err)
	s.Start()
	ts.Defer(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(30 * time.Second) {
		ts.Fatalf("the server does not start")
	}
	ts.Setenv(args[0], s.ClientURL())
}

// eventually runs a program until its output matches: "eventually REGEXP PROGRAM
// [ARGS...]".
func eventually(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: eventually REGEXP PROGRAM [ARGS...]")
	}
	want := regexp.MustCompile("(?m)" + args[0])
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		err := ts.Exec(args[1], args[2:]...)
		if err == nil && want.MatchString(ts.ReadFile("stdout")) {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%q never said %s: %v\n%s", args[1:], args[0], err, ts.ReadFile("stdout"))
		}
	}
}

// hear opens a legacy session and its stream of what belongs to no call, makes
// the file FILE, and prints the first message that comes: hear URL FILE.
func hear() {
	c := newLegacyClient(os.Args[1])
	req, err := http.NewRequest(http.MethodGet, c.url, nil)
	check(err)
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("Mcp-Session-Id", c.session)
	res, err := http.DefaultClient.Do(req)
	check(err)
	check(os.WriteFile(os.Args[2], nil, 0o600))
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		if msg, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			fmt.Println(msg)
			os.Exit(0)
		}
	}
	os.Exit(1)
}

// begins ends well if the first file begins with the second: begins FILE FILE.
func begins() {
	whole, err := os.ReadFile(os.Args[1])
	check(err)
	start, err := os.ReadFile(os.Args[2])
	check(err)
	if !bytes.HasPrefix(whole, start) || len(whole) == len(start) {
		fmt.Fprintln(os.Stderr, "it does not begin so, or does not go on")
		os.Exit(1)
	}
	os.Exit(0)
}
