package upstream

import (
	"bytes"
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/annotary/annotary/internal/rpc"
	"github.com/annotary/annotary/internal/strict"
)

// FuzzChild lets a child say anything. Nothing panics or blocks, memory stays
// bounded, and a call ends only with a response that bears its id.
func FuzzChild(f *testing.F) {
	for _, s := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":1,"error":{"code":1}}`, `{"jsonrpc":"2.0","id":"1","result":{}}`,
		`{"jsonrpc":"2.0","id":9,"method":"ping"}`, `{"jsonrpc":"2.0","id":9,"method":"elicitation/create"}`,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}`,
		`{"jsonrpc":"2.0","method":"notifications/message","params":{}}`,
		`{"jsonrpc":"2.0","method":"x","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":1}}}`,
		`Listening on stdio...`, `[]`, `{"id":1,"id":1}`, "\x00\xff",
	} {
		f.Add([]byte(s+"\n"+s), uint8(1))
	}
	f.Fuzz(func(t *testing.T, out []byte, legs uint8) {
		s := &Server{opts: ServerOptions{}.withDefaults(), log: slog.New(slog.DiscardHandler)}
		in := &instance{server: s, key: key{era: EraLegacy}, legs: map[*pipeLeg]struct{}{}, idle: time.NewTimer(time.Hour)}
		c := &child{in: in, calls: map[int64]*call{}, questions: map[string]*pipeLeg{},
			link: newLink()}
		in.child = c
		for range legs % 3 {
			l := &pipeLeg{in: in, inflight: map[string]int64{}, subscribed: map[string]bool{}, outbox: newQueue(outboxBytes, 0)}
			l.outbox.lossy = true
			in.legs[l] = struct{}{}
		}
		m, err := rpc.Parse([]byte(`{"jsonrpc":"2.0","id":"mine","method":"tools/call","params":{"_meta":{"progressToken":"tok"}}}`), strict.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		q, err := c.forward(t.Context(), &m, &call{})
		if err != nil {
			t.Fatal(err)
		}
		readLines(bytes.NewReader(out), 1<<16, c.receive)
		checkAnswers(t, q)
	})
}

func checkAnswers(t *testing.T, q *queue) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for {
		it, err, ok := q.take()
		if !ok || err != nil {
			break
		}
		if id := string(strict.Get(it.Msg, "id")); it.Final && id != `"mine"` {
			t.Fatalf("the answer to \"mine\" is %s", it.Msg)
		}
	}
	if _, err := q.Next(ctx); err == nil {
		t.Fatal("there was more")
	}
}
