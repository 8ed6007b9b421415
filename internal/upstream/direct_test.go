package upstream

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/annotary/annotary/internal/rpc"
	"github.com/annotary/annotary/internal/strict"
)

// rawServer answers every request with the given bytes, on as many connections
// as are opened.
func rawServer(t testing.TB, answer func(n int, w net.Conn)) (url string, connections *atomic.Int64) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	connections = new(atomic.Int64)
	var requests atomic.Int64
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			connections.Add(1)
			go func() {
				defer c.Close()
				r := bufio.NewReader(c)
				for {
					req, err := http.ReadRequest(r)
					if err != nil {
						return
					}
					_, _ = io.Copy(io.Discard, req.Body)
					answer(int(requests.Add(1)), c)
				}
			}()
		}
	}()
	return "http://" + l.Addr().String(), connections
}

func webServer(t testing.TB, url string, opts ServerOptions) *Server {
	t.Helper()
	s, err := New(Target{Name: "w", URL: url}, opts)
	if err != nil {
		t.Fatal(err)
	}
	if s.direct == nil {
		t.Fatal("the transport would be used")
	}
	t.Cleanup(s.Retire)
	return s
}

func ask(ctx context.Context, s *Server) (string, error) {
	m, err := rpc.Parse([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`), strict.Limits{})
	if err != nil {
		return "", err
	}
	a, err := s.Leg(Who{}, EraModern).Send(ctx, &m, nil)
	if err != nil {
		return "", err
	}
	defer a.Close()
	if a.Stream == nil {
		return string(a.Body), nil
	}
	it, err := a.Stream.Next(ctx)
	return string(it.Msg), err
}

const okHead = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"

// TestDirect answers in every way HTTP/1.1 knows, properly and not.
func TestDirect(t *testing.T) {
	for _, tt := range []struct {
		name   string
		answer string
		close  bool // the server closes the connection after it
		want   string
		err    error
		conns  int64 // for three calls; zero if it does not matter
	}{
		{"plain", okHead + "Content-Length: 2\r\n\r\n{}", false, "{}", nil, 1},
		{"chunked", okHead + "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\n\r\n", false, "{}", nil, 1},
		{"informed first", "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + okHead + "Content-Length: 2\r\n\r\n{}", false, "{}", nil, 1},
		{"closing", okHead + "Connection: close\r\nContent-Length: 2\r\n\r\n{}", true, "{}", nil, 3},
		{"closing unannounced", okHead + "Content-Length: 2\r\n\r\n{}", true, "{}", nil, 3},
		{"until the end", okHead + "\r\n{}", true, "{}", nil, 3},
		{"more than announced", okHead + "Content-Length: 2\r\n\r\n{}HTTP/1.1 200 OK\r\n", false, "{}", nil, 3},
		{"cut short", okHead + "Content-Length: 9\r\n\r\n{}", true, "", ErrStopped, 3},
		{"nothing", "", true, "", ErrStopped, 3},
		{"not HTTP", "SSH-2.0-x\r\n\r\n", true, "", ErrStopped, 3},
		{"endless headers", okHead + strings.Repeat("X-Y: z\r\n", 20_000) + "\r\n", true, "", ErrStopped, 3},
		{"too long", okHead + "Content-Length: 99999\r\n\r\n", true, "", ErrBroken, 3},
		{"event", "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n9\r\ndata: x\n\n\r\n0\r\n\r\n", false, "x", nil, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			url, conns := rawServer(t, func(_ int, w net.Conn) {
				_, _ = io.WriteString(w, tt.answer)
				if tt.close {
					_ = w.Close()
				}
			})
			s := webServer(t, url, ServerOptions{MaxBytes: 1000, Silence: 5 * time.Second})
			for range 3 {
				got, err := ask(t.Context(), s)
				if got != tt.want || !errors.Is(err, tt.err) {
					t.Errorf("got %q, %v, want %q, %v", got, err, tt.want, tt.err)
				}
				time.Sleep(20 * time.Millisecond) // for an end to arrive
			}
			if got := conns.Load(); got != tt.conns && tt.conns != 0 {
				t.Errorf("%d connections, want %d", got, tt.conns)
			}
		})
	}
}

// TestDirect_gone checks a server that is silent and a caller who leaves.
func TestDirect_gone(t *testing.T) {
	left := make(chan struct{}, 2)
	url, _ := rawServer(t, func(_ int, w net.Conn) {
		_, _ = w.Read(make([]byte, 1)) // until the other end closes
		left <- struct{}{}
	})
	s := webServer(t, url, ServerOptions{Silence: 200 * time.Millisecond})
	if _, err := ask(t.Context(), s); !errors.Is(err, ErrSilent) {
		t.Errorf("got %v, want %v", err, ErrSilent)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := ask(ctx, s); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want %v", err, context.DeadlineExceeded)
	}
	for range 2 {
		select {
		case <-left:
		case <-time.After(30 * time.Second):
			t.Fatal("the connection is still open")
		}
	}
}

// TestDirect_redirect follows within the host, and remembers.
func TestDirect_redirect(t *testing.T) {
	var hits atomic.Int64
	url, _ := rawServer(t, func(n int, w net.Conn) {
		hits.Add(1)
		if n == 1 {
			_, _ = io.WriteString(w, "HTTP/1.1 307 Temporary Redirect\r\nLocation: /mcp/\r\nContent-Length: 0\r\n\r\n")
			return
		}
		_, _ = io.WriteString(w, okHead+"Content-Length: 2\r\n\r\n{}")
	})
	s := webServer(t, url+"/mcp", ServerOptions{})
	for range 2 {
		if got, err := ask(t.Context(), s); got != "{}" || err != nil {
			t.Errorf("got %q %v", got, err)
		}
	}
	if hits.Load() != 3 || s.url.Load().Path != "/mcp/" {
		t.Errorf("%d requests, now at %s", hits.Load(), s.url.Load())
	}
	away, _ := rawServer(t, func(_ int, w net.Conn) {
		_, _ = io.WriteString(w, "HTTP/1.1 308 Permanent Redirect\r\nLocation: http://elsewhere.invalid/\r\nContent-Length: 0\r\n\r\n")
	})
	if _, err := ask(t.Context(), webServer(t, away, ServerOptions{})); !errors.Is(err, ErrBroken) {
		t.Errorf("got %v, want %v", err, ErrBroken)
	}
}

// TestHeaders_configured refuses headers that would break a request apart.
func TestHeaders_configured(t *testing.T) {
	for name, value := range map[string]string{"X": "a\r\nY: b", "": "x", "a b": "x", "Host": "x", "content-length": "1", "X:": "y"} {
		if _, err := New(Target{Name: "w", URL: "http://localhost", Header: map[string]string{name: value}}, ServerOptions{}); err == nil {
			t.Errorf("%q: %q was taken", name, value)
		}
	}
}

// TestHeaders_smuggled has a client and a server put a whole request of their own
// where a value is repeated in a header. Nobody judged it, so it must not arrive.
func TestHeaders_smuggled(t *testing.T) {
	const extra = "\r\nContent-Length: 0\r\n\r\nPOST / HTTP/1.1\r\nHost: x\r\nX: "
	meta := `{"_meta":{"` + rpc.MetaVersion + `":%s}}`
	for _, tt := range []struct {
		name, method, params string
		era                  Era
	}{
		{"version", "tools/list", fmt.Sprintf(meta, strict.Quote(rpc.Modern+extra)), EraModern},
		{"method", "x/y" + extra, fmt.Sprintf(meta, strict.Quote(rpc.Modern)), EraModern},
		{"negotiated", "tools/list", "{}", EraLegacy},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var requests atomic.Int64
			body := `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":` + string(strict.Quote(rpc.Legacy+extra)) + `}}`
			url, _ := rawServer(t, func(n int, w net.Conn) {
				requests.Store(int64(n))
				fmt.Fprintf(w, "%sContent-Length: %d\r\n\r\n%s", okHead, len(body), body)
			})
			leg, sent := webServer(t, url, ServerOptions{}).Leg(Who{}, tt.era), int64(0)
			for _, m := range []rpc.Message{mustParse(t, "initialize", "{}"), mustParse(t, tt.method, tt.params)} {
				a, err := leg.Send(t.Context(), &m, nil)
				if err != nil {
					t.Fatal(err)
				}
				a.Close()
				sent++
			}
			time.Sleep(50 * time.Millisecond) // for one too many to arrive
			if got := requests.Load(); got != sent {
				t.Errorf("%d requests arrived, %d were sent", got, sent)
			}
		})
	}
}

func mustParse(t *testing.T, method, params string) rpc.Message {
	t.Helper()
	m, err := rpc.Parse([]byte(`{"jsonrpc":"2.0","id":0,"method":`+string(strict.Quote(method))+`,"params":`+params+`}`), strict.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// FuzzDirect lets a server answer anything. Nothing panics, hangs or grows.
func FuzzDirect(f *testing.F) {
	for _, s := range []string{
		okHead + "Content-Length: 2\r\n\r\n{}", okHead + "Transfer-Encoding: chunked\r\n\r\nffffffff\r\n", "HTTP/1.1 100 Continue\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: {}\n\n", "HTTP/1.1 307 x\r\nLocation: /\r\n\r\n", "\r\n\r\n",
	} {
		f.Add([]byte(s))
	}
	var next atomic.Pointer[[]byte]
	url, _ := rawServer(f, func(_ int, w net.Conn) {
		_, _ = w.Write(*next.Load())
		_ = w.Close()
	})
	s := webServer(f, url, ServerOptions{MaxBytes: 1 << 16, Silence: 2 * time.Second})
	f.Fuzz(func(t *testing.T, answer []byte) {
		next.Store(&answer)
		began := time.Now()
		got, err := ask(t.Context(), s)
		if took := time.Since(began); took > 8*time.Second {
			t.Fatalf("it took %s", took)
		}
		if err == nil && len(got) > 1<<16 {
			t.Fatal(fmt.Sprint(len(got), " bytes"))
		}
	})
}
