package rpc

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/annotary/annotary/internal/strict"
)

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		raw    string
		kind   Kind
		method string
		err    error
	}{
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}`, Request, "tools/call", nil},
		{`{"jsonrpc":"2.0","id":"a","method":"tools\/call"}`, Request, "tools/call", nil},
		{`{"jsonrpc":"2.0","method":"x/y"}`, Notification, "x/y", nil},
		{`{"jsonrpc":"2.0","id":null,"error":{}}`, Response, "", nil},
		{`{"jsonrpc":"2.0","id":1,"result":null}`, Response, "", nil},
		{`{"jsonrpc":"2.0","id":1}`, 0, "", ErrNotMessage},
		{`{"jsonrpc":"2.0","id":{},"method":"x"}`, 0, "", ErrNotMessage},
		{`{"jsonrpc":"2.0","id":1,"method":7}`, 0, "", ErrNotMessage},
		{`{"jsonrpc":"2.0","id":1,"method":"x","result":1}`, 0, "", ErrNotMessage},
		{`{"jsonrpc":"2.0","id":1,"result":1,"error":{}}`, 0, "", ErrNotMessage},
		{`{"jsonrpc":2.0,"id":1,"method":"x"}`, 0, "", ErrNotMessage},
		{`{"jsonrpc":"2.0","id":1,"Method":"x"}`, 0, "", ErrAmbiguous},
		{`{"jsonrpc":"2.0","id":1,"method":"x","params":{"ARGUMENTS":1}}`, 0, "", ErrAmbiguous},
		{`[{"jsonrpc":"2.0","method":"x"}]`, 0, "", ErrBatch},
		{`7`, 0, "", ErrNotMessage},
		{`{"id":1,"id":2}`, 0, "", strict.ErrDuplicateKey},
	} {
		m, err := Parse([]byte(tt.raw), strict.Limits{})
		if !errors.Is(err, tt.err) || (err == nil && (m.Kind != tt.kind || m.Method != tt.method)) {
			t.Errorf("%s: got %v %q %v, want %v %q %v", tt.raw, m.Kind, m.Method, err, tt.kind, tt.method, tt.err)
		}
	}
}

func TestSplice(t *testing.T) {
	for _, tt := range []struct{ raw, want string }{
		{`{ "id" : "a","jsonrpc":"2.0","method":"m","params":{"_meta":{"progressToken":1e3}, "x":9007199254740993} }`,
			`{ "id" : 7,"jsonrpc":"2.0","method":"m","params":{"_meta":{"progressToken":8}, "x":9007199254740993} }`},
		{`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"a"}}`,
			`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":8}}`},
		{`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a"}}`,
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}`},
		{`{"jsonrpc":"2.0","id":1,"method":"m","params":{"progressToken":"mine","requestId":"x"}}`,
			`{"jsonrpc":"2.0","id":7,"method":"m","params":{"progressToken":"mine","requestId":9}}`},
		{`{"jsonrpc":"2.0","id":1,"result":{"_meta":{"io.modelcontextprotocol/subscriptionId":4}}}`,
			`{"jsonrpc":"2.0","id":7,"result":{"_meta":{"io.modelcontextprotocol/subscriptionId":5}}}`},
	} {
		m, err := Parse([]byte(tt.raw), strict.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		got := m.Splice(Splice{ID: []byte("7"), ProgressToken: []byte("8"), RequestID: []byte("9"), Subscription: []byte("5")})
		if string(got) != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
}

func TestHeader(t *testing.T) {
	for _, value := range []string{"", "plain", "with space", " leading", "é", "=?base64?x?=", "a\nb", "\x7f"} {
		got, ok := DecodeHeader(EncodeHeader(value))
		if !ok || got != value {
			t.Errorf("%q became %q by way of %q", value, got, EncodeHeader(value))
		}
	}
	if _, ok := DecodeHeader("=?base64?%?="); ok {
		t.Error("bad base64 was taken")
	}
}

// TestEvents_long: an event that is too long is skipped whole, wherever the
// reader's buffer ends.
func TestEvents_long(t *testing.T) {
	for length := 16<<10 - 2; length <= 16<<10+2; length++ {
		line := "data:" + strings.Repeat("x", length-len("data:"))
		r := NewEvents(strings.NewReader(line+"\ndata: tail\n\ndata: next\n\n"), 1_000)
		if _, err := r.Next(); !errors.Is(err, ErrLong) {
			t.Errorf("a line of %d: %v, want %v", length, err, ErrLong)
		}
		if ev, err := r.Next(); err != nil || string(ev.Data) != "next" {
			t.Errorf("after a line of %d: got %q (%v), want next", length, ev.Data, err)
		}
	}
}

// FuzzMessage checks that a message that can be read can be written: splicing
// members with what they are changes no byte.
func FuzzMessage(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"x","_meta":{"progressToken":1}}}`))
	f.Add([]byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":[]}}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"result":{"_meta":{"io.modelcontextprotocol/subscriptionId":4}}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := Parse(raw, strict.Limits{Bytes: 1 << 20})
		if err != nil {
			return
		}
		same := m.Splice(Splice{ID: m.ID(), ProgressToken: m.ProgressToken(), RequestID: m.RequestID(), Subscription: m.Subscription()})
		if m.Method != "notifications/progress" && !bytes.Equal(same, raw) {
			t.Fatalf("%q became %q", raw, same)
		}
		other := m.Splice(Splice{ID: []byte("12345")})
		again, err := Parse(other, strict.Limits{Bytes: 1 << 20})
		if err != nil || again.Kind != m.Kind || again.Method != m.Method {
			t.Fatalf("%q became %q: %v", raw, other, err)
		}
		if m.ID() != nil && string(again.ID()) != "12345" {
			t.Fatalf("the id of %q is %q", other, again.ID())
		}
	})
}

// FuzzLines checks that lines come back whole, and that long ones cost no
// memory.
func FuzzLines(f *testing.F) {
	f.Add([]byte("a\n\n  \r\nb\r\nccccccccccccccccccccccccccccccccccc\nd"))
	f.Add([]byte("eeeeeeeeeeeeeeeeeeeeeeeeeeeeee\r\r\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var want []string
		for line := range strings.SplitAfterSeq(string(data), "\n") {
			if len(line) > 32 { // its end counts for two
				continue
			}
			if line = strings.TrimRight(line, "\r\n"); strings.TrimSpace(line) != "" && len(line) <= 30 {
				want = append(want, line)
			}
		}
		l := NewLines(iotestReader{bytes.NewReader(data)}, 30)
		var got []string
		for {
			line, err := l.Next()
			if errors.Is(err, ErrLong) {
				continue
			}
			if err != nil {
				break
			}
			if len(line) <= 30 {
				got = append(got, string(line))
			} else if len(line) > 32 {
				t.Fatalf("a line of %d bytes", len(line))
			}
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Fatalf("%q: got %q, want %q", data, got, want)
		}
	})
}

// iotestReader gives one byte at a time.
type iotestReader struct{ r io.Reader }

func (r iotestReader) Read(p []byte) (int, error) { return r.r.Read(p[:min(1, len(p))]) }

// eventsOf returns what a browser reads of a stream: the data of each event that
// has any. Lines end in CRLF, LF or CR.
func eventsOf(stream []byte) []string {
	text := strings.TrimPrefix(string(stream), "\ufeff")
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	var events, data []string
	for line := range strings.Lines(text) {
		line, ended := strings.CutSuffix(line, "\n")
		name, value, _ := strings.Cut(line, ":")
		switch {
		case !ended:
		case line == "" && data != nil:
			events, data = append(events, strings.Join(data, "\n")), nil
		case name == "data":
			data = append(data, strings.TrimPrefix(value, " "))
		}
	}
	return events
}

// readEvents returns what we read of a stream, and the bytes we would pass on.
func readEvents(r io.Reader) (events []string, raw []byte) {
	for in := NewEvents(r, 1<<16); ; {
		ev, err := in.Next()
		if err != nil {
			return events, raw
		}
		raw = append(raw, ev.Raw...)
		if hasData(ev.Raw) {
			events = append(events, string(ev.Data))
		}
	}
}

// hasData reports whether an event has a line of data, be it empty.
func hasData(raw []byte) bool {
	for line := range bytes.Lines(raw) {
		if name, _, _ := bytes.Cut(bytes.TrimRight(line, "\r\n"), []byte(":")); string(name) == "data" {
			return true
		}
	}
	return false
}

// checkEvents: we read what a browser reads, however the bytes arrive; and what we
// pass on means the same to a client that knows of no bare CR.
func checkEvents(t *testing.T, stream []byte) {
	t.Helper()
	want := eventsOf(stream)
	for name, r := range map[string]io.Reader{"at once": bytes.NewReader(stream), "byte by byte": iotestReader{bytes.NewReader(stream)}} {
		got, raw := readEvents(r)
		if !slices.Equal(got, want) {
			t.Errorf("%q %s: read %q, want %q", stream, name, got, want)
		}
		if again := eventsOf(bytes.ReplaceAll(raw, []byte("\r"), nil)); !slices.Equal(again, want) {
			t.Errorf("%q %s: passed on as %q, which says %q, want %q", stream, name, raw, again, want)
		}
		plain := bytes.Count(stream, []byte("\r")) == bytes.Count(stream, []byte("\r\n")) && !bytes.HasPrefix(stream, []byte("\ufeff"))
		if plain && !bytes.HasPrefix(stream, raw) {
			t.Errorf("%q %s came back as %q", stream, name, raw)
		}
	}
}

// TestEvents_lines: lines end as the format says, also in a bare CR: what we take
// for one line must not be two to whom it is passed on.
func TestEvents_lines(t *testing.T) {
	for _, stream := range []string{
		"data: a\rdata: b\r\rdata: c\n\n", "data: a\r\rdata: b\r\r", "data: a\r\n\r\ndata: b\r\n\r\n",
		": x\rdata: hidden\n\n", "data: a\r\r\ndata: b\n\r\n", "data: a\n\rdata: b\r\n\n", "\ufeffdata: a\n\n", "\rdata: a\r\r",
	} {
		checkEvents(t, []byte(stream))
	}
}

// TestEvents_soon: an event that ends in CR does not wait for what may follow.
func TestEvents_soon(t *testing.T) {
	r, w := io.Pipe()
	defer w.Close()
	events := NewEvents(r, 1<<16)
	for _, sent := range []string{"data: 1\r\r", "data: 2\r\n\r", "\ndata: 3\r\n\r", "\n: 4\n\n"} {
		go func() { _, _ = io.WriteString(w, sent) }()
		got := make(chan Event, 1)
		go func() { ev, _ := events.Next(); got <- ev }()
		select {
		case ev := <-got:
			if want := eventsOf([]byte(sent)); len(want) > 0 && string(ev.Data) != want[0] {
				t.Errorf("%q: got %q", sent, ev.Data)
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("%q was not read", sent)
		}
	}
}

// FuzzEvents checks that we read what was sent, and that what we write we read.
func FuzzEvents(f *testing.F) {
	f.Add([]byte(": c\n\nid: 1\ndata: {}\n\ndata: a\ndata: b\r\n\r\nevent: x\nretry: 1\n\nrest"))
	f.Add([]byte("data: a\rdata: b\r\rdata: c\r\n\r"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) < 1<<15 {
			checkEvents(t, data)
		}
		if m := OneLine(data); strict.Check(data, strict.Limits{}) == nil {
			ev, err := NewEvents(bytes.NewReader(AppendEvent(nil, "7", data)), 1<<20).Next()
			if err != nil || !bytes.Equal(bytes.TrimLeft(ev.Data, " "), bytes.TrimLeft(m, " ")) || ev.ID != "7" {
				t.Fatalf("%q came back as %q %q %v", data, ev.Data, ev.ID, err)
			}
		}
	})
}
