package main

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/annotary/annotary/examples/internal/drive"
	"github.com/annotary/annotary/tool/tooltest"
)

func TestMain(m *testing.M) { drive.Main(m, main) }

func TestTools(t *testing.T) {
	tooltest.Snapshot(t, newServer(newSchema()).All(), "testdata/tools.json")
	tooltest.Lint(t, newServer(newSchema()).All())
	tooltest.Annotations(t, newServer(newSchema()).All(), tooltest.Intents{Destroy: []string{"migrate_database"}})
}

// A watcher is a client that listens to progress.
func watcher() (*mcp.ClientOptions, chan string) {
	messages := make(chan string, 100)
	return &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
		messages <- r.Params.Message
	}}, messages
}

func params(dryRun bool) *mcp.CallToolParams {
	p := &mcp.CallToolParams{Name: "migrate_database", Arguments: map[string]any{"dryRun": dryRun}}
	p.SetProgressToken("progress")
	return p
}

// TestMigrate rehearses, then runs, as a client of each generation over each
// transport.
func TestMigrate(t *testing.T) {
	for _, era := range drive.Eras {
		t.Run("stdio-"+era, func(t *testing.T) {
			o, messages := watcher()
			testMigrate(t, drive.Stdio(t, era, o), messages)
		})
		t.Run("http-"+era, func(t *testing.T) {
			o, messages := watcher()
			testMigrate(t, drive.HTTP(t, newServer(newSchema()).HTTP(), era, o, nil), messages)
		})
	}
}

func testMigrate(t *testing.T, s *mcp.ClientSession, messages chan string) {
	names := []string{"001_create_customers", "002_add_status", "003_drop_legacy_notes"}
	for _, step := range []struct {
		dryRun bool
		text   string
		want   []string
	}{
		{true, "[DRY RUN] Migrations complete: 3 migrations processed.", names},
		{false, "Migrations complete: 3 migrations processed.", names},
		{false, "Migrations complete: 0 migrations processed.", []string{}},
	} {
		res, err := s.CallTool(t.Context(), params(step.dryRun))
		if err != nil {
			t.Fatal(err)
		}
		if got := drive.Text(res); got != step.text {
			t.Errorf("got %q, want %q", got, step.text)
		}
		var got out
		raw, _ := json.Marshal(res.StructuredContent)
		if err := json.Unmarshal(raw, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(out{step.want, step.dryRun}, got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	}
	for _, want := range []string{"[DRY RUN] Running: " + names[0], "[DRY RUN] Running: " + names[1], "[DRY RUN] Running: " + names[2], "Running: " + names[0]} {
		select {
		case got := <-messages:
			if got != want {
				t.Errorf("progress %q, want %q", got, want)
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("no progress %q", want)
		}
	}
}

// TestCancel: a client that gives up stops the work where it is.
func TestCancel(t *testing.T) {
	for _, era := range drive.Eras {
		t.Run(era, func(t *testing.T) {
			started := make(chan struct{})
			stopped := make(chan error, 1)
			db := &schema{pending: []migration{
				{"001_quick", pause(0)},
				{"002_endless", func(ctx context.Context) error {
					close(started)
					<-ctx.Done()
					stopped <- ctx.Err()
					return ctx.Err()
				}},
				{"003_never", pause(0)},
			}}
			s := drive.HTTP(t, newServer(db).HTTP(), era, nil, nil)
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				<-started
				cancel()
			}()
			if _, err := s.CallTool(ctx, params(false)); err == nil {
				t.Error("a cancelled call gave a result")
			}
			select {
			case <-stopped:
			case <-time.After(60 * time.Second):
				t.Fatal("the migration ran on")
			}
			db.mu.Lock()
			defer db.mu.Unlock()
			if diff := cmp.Diff([]string{"001_quick"}, db.applied); diff != "" {
				t.Errorf("applied (-want +got)\n%s", diff)
			}
		})
	}
}
