package toolpg_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/annotary/annotary/internal/testenv"
	"github.com/annotary/annotary/tool"
	"github.com/annotary/annotary/tool/internal/burst"
	"github.com/annotary/annotary/tool/toolpg"
	"github.com/annotary/annotary/tool/tooltest"
)

func connect(t *testing.T, dsn string) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

func open(t *testing.T, dsn string, opts *toolpg.Options) *toolpg.Store {
	t.Helper()
	s, err := toolpg.Open(t.Context(), connect(t, dsn), opts)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// start starts a PostgreSQL and waits until it answers: it listens earlier.
func start(t *testing.T) (dsn string) {
	t.Helper()
	dsn = "host=" + testenv.Postgres(t) + " user=postgres dbname=postgres"
	pool := connect(t, dsn)
	var err error
	for range 300 {
		if err = pool.Ping(t.Context()); err == nil {
			return dsn
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatal(err)
	return ""
}

func TestStore(t *testing.T) {
	dsn := start(t)
	tooltest.Store(t, func(t *testing.T) tool.Store { return open(t, dsn, nil) })
	t.Run("deeds", func(t *testing.T) { testDeeds(t, dsn) })
	t.Run("prune", func(t *testing.T) { testPrune(t, dsn) })
	t.Run("create", func(t *testing.T) { testCreate(t, dsn) })
}

type createIn struct {
	tool.Keyed
	Name string `json:"name"`
}

type created struct {
	ID int64 `json:"id"`
}

// testDeeds: two hundred equal writes with one key, sent at once by clients of
// both generations to two servers that share a database, are one deed with one
// answer.
func testDeeds(t *testing.T, dsn string) {
	var done atomic.Int64
	var sessions []*mcp.ClientSession
	for _, era := range []string{"2026-07-28", "2025-11-25"} {
		store := &burst.Store{Store: open(t, dsn, nil)}
		s := tool.New("x", "1", &tool.Options{Store: store})
		tool.Add(s, tool.Write(tool.Closed, tool.NotIdempotent),
			tool.Spec{Name: "customer_create", Title: "Create customer", Description: "Creates a customer."},
			func(ctx context.Context, _ *tool.Call, _ createIn) (created, error) {
				store.Crowd(ctx)
				return created{done.Add(1)}, nil
			})
		srv := httptest.NewServer(s.HTTP())
		t.Cleanup(srv.Close)
		client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
		session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: srv.URL, DisableStandaloneSSE: true}, &mcp.ClientSessionOptions{ProtocolVersion: era})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = session.Close() })
		sessions = append(sessions, session)
	}
	args := map[string]any{"name": "Ada", "idempotencyKey": "k1"}
	burst.Writes(t, 200, &done, func(ctx context.Context, i int) (string, error) {
		res, err := sessions[i%2].CallTool(ctx, &mcp.CallToolParams{Name: "customer_create", Arguments: args})
		if err != nil {
			return "", err
		}
		return fmt.Sprint(res.StructuredContent, res.IsError), nil
	})
}

// testPrune: what was done is forgotten when neither its lease nor its time to be
// kept goes on.
func testPrune(t *testing.T, dsn string) {
	s := open(t, dsn, &toolpg.Options{Table: "old deeds", Keep: time.Millisecond})
	for lease, want := range map[time.Duration]tool.State{time.Millisecond: tool.Claimed, time.Hour: tool.Settled} {
		k := tool.Key{Name: lease.String(), Request: "r"}
		if _, err := s.Claim(t.Context(), k, lease); err != nil {
			t.Fatal(err)
		}
		if err := s.Settle(t.Context(), k, []byte("x")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond)
		if err := s.Prune(t.Context()); err != nil {
			t.Fatal(err)
		}
		if c, err := s.Claim(t.Context(), k, lease); err != nil || c.State != want {
			t.Errorf("a key with a lease of %v is %s (%v), want %s", lease, c.State, err, want)
		}
	}
}

// testCreate: processes that start together do not trip over the table.
func testCreate(t *testing.T, dsn string) {
	pool := connect(t, dsn)
	errs := make(chan error, 20)
	for range 20 {
		go func() {
			_, err := toolpg.Open(t.Context(), pool, &toolpg.Options{Table: "new_deeds"})
			errs <- err
		}()
	}
	for range 20 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}
