package wire_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/annotary/annotary/internal/strict"
	"github.com/annotary/annotary/internal/wire"
)

// dying returns gateways that greet and are gone, every second one after it has
// read a line.
func dying() func(context.Context) (net.Conn, error) {
	n := 0
	return func(context.Context) (net.Conn, error) {
		n++
		reads := n%2 == 0
		ours, theirs := net.Pipe()
		go func() {
			defer theirs.Close()
			r := bufio.NewReader(theirs)
			if _, err := r.ReadString('\n'); err != nil {
				return
			}
			fmt.Fprintln(theirs, `{"annotary":1}`)
			if reads {
				_, _ = r.ReadString('\n')
			}
		}()
		return ours, nil
	}
}

// TestStdio_lost: whenever the gateway goes, every request is answered once.
func TestStdio_lost(t *testing.T) {
	const requests = 5_000
	var in, out bytes.Buffer
	for i := range requests {
		fmt.Fprintf(&in, `{"jsonrpc":"2.0","id":%d,"method":"ping"}`+"\n", i)
	}
	s := &wire.Stdio{Dial: dying(), Hello: []byte("{}\n"), In: &in, Out: &out}
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	answered := map[string]int{}
	for line := range strings.Lines(out.String()) {
		answered[string(strict.Get([]byte(line), "id"))]++
	}
	for i := range requests {
		if n := answered[fmt.Sprint(i)]; n != 1 {
			t.Errorf("request %d was answered %d times", i, n)
		}
	}
}
