package wire

import (
	"net"
	"testing"

	"github.com/annotary/annotary/internal/rpc"
	"github.com/annotary/annotary/internal/strict"
)

// TestStdio_note: a request is not put down for a connection that was lost after
// it was looked up. What it left open has been answered already, so that nobody
// would ever answer this one.
func TestStdio_note(t *testing.T) {
	conn, other := net.Pipe()
	defer other.Close()
	s := &Stdio{pending: map[string]struct{}{}, conn: conn}
	m, err := rpc.Parse([]byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`), strict.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	found, err := s.connect(t.Context(), &m)
	if err != nil || found != conn {
		t.Fatal(found, err)
	}
	s.lost(conn)
	if s.note(found, &m) || len(s.pending) > 0 {
		t.Errorf("it waits for an answer on a connection that is gone: %v", s.pending)
	}
}
