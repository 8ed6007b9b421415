package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/annotary/annotary/tool"
	"github.com/annotary/annotary/tool/internal/burst"
	"github.com/annotary/annotary/tool/tooltest"
)

type createIn struct {
	tool.Keyed
	Name string `json:"name"`
}

type created struct {
	ID int64 `json:"id"`
}

func createSpec() tool.Spec {
	return tool.Spec{Name: "customer_create", Title: "Create customer", Description: "Creates a customer."}
}

func TestMemory(t *testing.T) {
	m := &tool.Memory{}
	tooltest.Store(t, func(*testing.T) tool.Store { return m })
}

// TestMemory_keepsForItsLease: a draft that was used must be known as long as its
// seal is good, however short answers are kept.
func TestMemory_keepsForItsLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &tool.Memory{Keep: time.Minute}
		k := tool.Key{Name: "draft", Request: "r"}
		claim := func() tool.State {
			c, err := m.Claim(t.Context(), k, 3*time.Hour)
			if err != nil {
				t.Fatal(err)
			}
			return c.State
		}
		if got := claim(); got != tool.Claimed {
			t.Fatal(got)
		}
		if err := m.Settle(t.Context(), k, []byte("used")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Hour)
		if got := claim(); got != tool.Settled {
			t.Errorf("within its lease it is %s", got)
		}
		time.Sleep(2 * time.Hour)
		if got := claim(); got != tool.Claimed {
			t.Errorf("long after, it is %s", got)
		}
	})
}

// TestKeyed: two hundred equal writes at once, through real clients, are one
// deed with one answer.
func TestKeyed(t *testing.T) {
	var done atomic.Int64
	store := &burst.Store{Store: &tool.Memory{}}
	s := tool.New("x", "1", &tool.Options{Store: store})
	tool.Add(s, tool.Write(tool.Closed, tool.NotIdempotent), createSpec(), func(ctx context.Context, c *tool.Call, in createIn) (created, error) {
		store.Crowd(ctx)
		n := done.Add(1)
		c.Say("created %d", n)
		return created{n}, nil
	})
	var sessions []*mcp.ClientSession
	for i := range 4 {
		sessions = append(sessions, connect(t, s.HTTP(), eras[i%len(eras)], nil))
	}
	args := map[string]any{"name": "Ada", "idempotencyKey": "k1"}
	write := func(ctx context.Context, i int) (string, error) {
		res, err := sessions[i%len(sessions)].CallTool(ctx, &mcp.CallToolParams{Name: "customer_create", Arguments: args})
		if err != nil {
			return "", err
		}
		raw, err := json.Marshal(res.StructuredContent)
		return fmt.Sprint(string(raw), textOf(res), res.IsError), err
	}
	burst.Writes(t, 200, &done, write)

	other := call(t, sessions[0], "customer_create", map[string]any{"name": "Eve", "idempotencyKey": "k1"})
	if !other.IsError || !strings.Contains(textOf(other), "other arguments") {
		t.Errorf("a key was used twice: %s", textOf(other))
	}
	for range 2 {
		call(t, sessions[0], "customer_create", map[string]any{"name": "Ada"})
	}
	if n := done.Load(); n != 3 {
		t.Errorf("without a key %d deeds in all, want 3", n)
	}
}

// TestKeyed_users: one user's key is not another's.
func TestKeyed_users(t *testing.T) {
	var done atomic.Int64
	s := tool.New("x", "1", nil)
	tool.Add(s, tool.Write(tool.Closed, tool.NotIdempotent), createSpec(), func(context.Context, *tool.Call, createIn) (created, error) {
		return created{done.Add(1)}, nil
	})
	args := map[string]any{"name": "Ada", "idempotencyKey": "k"}
	call(t, connect(t, scoped(s), eras[0], http.Header{"Authorization": {"Bearer a"}}), "customer_create", args)
	call(t, connect(t, s.HTTP(), eras[0], nil), "customer_create", args)
	if n := done.Load(); n != 2 {
		t.Errorf("%d deeds, want 2", n)
	}
}

// TestKeyed_endings: a clean failure may be repeated; a crash, a time-out or a
// result that cannot be sent may not, because nobody was told what it did.
func TestKeyed_endings(t *testing.T) {
	var runs atomic.Int64
	s := tool.New("x", "1", &tool.Options{Timeout: 100 * time.Millisecond, Logger: slog.New(slog.DiscardHandler)})
	spec := createSpec()
	spec.Output = func(s *jsonschema.Schema) { s.Properties["id"].Minimum = new(1.0) }
	tool.Add(s, tool.Write(tool.Closed, tool.NotIdempotent), spec, func(ctx context.Context, _ *tool.Call, in createIn) (created, error) {
		if runs.Add(1) > 1 {
			return created{7}, nil
		}
		switch in.Name {
		case "fails":
			return created{}, errors.New("no")
		case "breaks-schema":
			return created{-1}, nil
		case "crashes":
			panic("no")
		default:
			<-ctx.Done()
			return created{}, ctx.Err()
		}
	})
	session := connect(t, s.HTTP(), eras[0], nil)
	for name, again := range map[string]string{
		"fails": `{"id":7}`, "breaks-schema": "an earlier attempt", "crashes": "an earlier attempt", "hangs": "an earlier attempt",
	} {
		runs.Store(0)
		args := map[string]any{"name": name, "idempotencyKey": name}
		if res := call(t, session, "customer_create", args); !res.IsError {
			t.Errorf("%s: the first try went well", name)
		}
		time.Sleep(50 * time.Millisecond)
		if got := textOf(call(t, session, "customer_create", args)); !strings.HasPrefix(got, again) {
			t.Errorf("%s: the second try said %q, want %q", name, got, again)
		}
	}
}

// TestKeyed_pointer: a key embedded as a pointer is a key that may be missing.
func TestKeyed_pointer(t *testing.T) {
	type in struct {
		*tool.Keyed
		*tool.Rehearsal
	}
	var done atomic.Int64
	s := tool.New("x", "1", nil)
	tool.Add(s, tool.Write(tool.Closed, tool.NotIdempotent), createSpec(), func(context.Context, *tool.Call, in) (created, error) {
		return created{done.Add(1)}, nil
	})
	session := connect(t, s.HTTP(), eras[0], nil)
	for _, want := range []string{`{"id":1}`, `{"id":2}`} {
		if got := textOf(call(t, session, "customer_create", map[string]any{})); got != want {
			t.Errorf("without a key: got %s, want %s", got, want)
		}
	}
	for range 2 {
		if got := textOf(call(t, session, "customer_create", map[string]any{"idempotencyKey": "k"})); got != `{"id":3}` {
			t.Errorf("with a key: got %s", got)
		}
	}
}

// TestKeyed_storeDown: what cannot be remembered is not done.
func TestKeyed_storeDown(t *testing.T) {
	var done atomic.Int64
	s := tool.New("x", "1", &tool.Options{Store: brokenStore{}, Logger: slog.New(slog.DiscardHandler)})
	tool.Add(s, tool.Write(tool.Closed, tool.NotIdempotent), createSpec(), func(context.Context, *tool.Call, createIn) (created, error) {
		return created{done.Add(1)}, nil
	})
	res := call(t, connect(t, s.HTTP(), eras[0], nil), "customer_create", map[string]any{"name": "a", "idempotencyKey": "k"})
	if !res.IsError || done.Load() != 0 || strings.Contains(textOf(res), "hunter2") {
		t.Errorf("done %d times: %s", done.Load(), textOf(res))
	}
}

type brokenStore struct{ tool.Store }

func (brokenStore) Claim(context.Context, tool.Key, time.Duration) (tool.Claim, error) {
	return tool.Claim{}, errors.New(secretText)
}

type mailIn struct {
	To string `json:"to"`
}

type mailDraft struct {
	To   string   `json:"to"`
	Text string   `json:"text"`
	CC   []string `json:"cc"`
}

// mailServer has a two-step tool and counts what is sent.
func mailServer(opts *tool.Options, sent *atomic.Int64) *tool.Server {
	s := tool.New("mail", "1", opts)
	tool.AddTwoStep(s, tool.Destroy(tool.Open, tool.NotIdempotent),
		tool.Spec{Name: "mail_send", Title: "Send mail", Description: "Sends a mail."},
		func(_ context.Context, _ *tool.Call, in mailIn) (mailDraft, error) {
			return mailDraft{To: in.To, Text: "Dear " + in.To}, nil
		},
		func(_ context.Context, c *tool.Call, d mailDraft) (tool.Nothing, error) {
			sent.Add(1)
			c.Say("Sent to %s.", d.To)
			return tool.Nothing{}, nil
		})
	return s
}

func draft(t *testing.T, s *mcp.ClientSession) map[string]any {
	t.Helper()
	res := call(t, s, "preview_mail_send", map[string]any{"to": "ada@example.test"})
	p, ok := res.StructuredContent.(map[string]any)
	if !ok || res.IsError {
		t.Fatalf("no draft: %s", textOf(res))
	}
	delete(p, "expiresAt")
	return p
}

// TestTwoStep: draft, confirm, commit; then everything that must be refused.
func TestTwoStep(t *testing.T) {
	var sent atomic.Int64
	s := mailServer(&tool.Options{Logger: slog.New(slog.DiscardHandler)}, &sent)
	for _, era := range eras {
		sent.Store(0)
		session := connect(t, s.HTTP(), era, nil)
		good := draft(t, session)
		if sent.Load() != 0 {
			t.Fatal("the draft was sent")
		}
		if got := textOf(call(t, session, "mail_send", good)); got != "Sent to ada@example.test." || sent.Load() != 1 {
			t.Fatalf("commit said %q and sent %d", got, sent.Load())
		}
		refused := func(name, why string, args any) {
			t.Helper()
			res := call(t, session, "mail_send", args)
			if !res.IsError || !strings.Contains(textOf(res), why) || sent.Load() != 1 {
				t.Errorf("%s: %q, sent %d in all", name, textOf(res), sent.Load())
			}
		}
		refused("second commit", "has been used", good)
		changed := draft(t, session)
		changed["draft"].(map[string]any)["to"] = "eve@example.test"
		refused("changed draft", "not the one that was sealed", changed)
		forged := draft(t, session)
		forged["seal"] = strings.Map(swapAB, forged["seal"].(string))
		refused("forged seal", "not one of this tool's", forged)
		refused("no seal", "seal", map[string]any{"draft": good["draft"], "seal": ""})
		swapped := draft(t, session)
		swapped["draft"] = map[string]any{"to": "x", "text": "y", "cc": []string{}}
		refused("another draft", "not the one that was sealed", swapped)
	}
}

// TestTwoStep_empty: a draft with nothing in its lists and maps comes back as the
// draft it was.
func TestTwoStep_empty(t *testing.T) {
	type listing struct {
		To     []string            `json:"to"`
		Fields map[string][]string `json:"fields"`
	}
	s := tool.New("x", "1", nil)
	tool.AddTwoStep(s, tool.Destroy(tool.Open, tool.NotIdempotent),
		tool.Spec{Name: "mail_send", Title: "Send mail", Description: "Sends a mail."},
		func(context.Context, *tool.Call, struct{}) (listing, error) {
			return listing{Fields: map[string][]string{"cc": nil}}, nil
		},
		func(context.Context, *tool.Call, listing) (tool.Nothing, error) { return tool.Nothing{}, nil })
	session := connect(t, s.HTTP(), eras[0], nil)
	res := call(t, session, "preview_mail_send", map[string]any{})
	proposal, _ := res.StructuredContent.(map[string]any)
	delete(proposal, "expiresAt")
	if res := call(t, session, "mail_send", proposal); res.IsError {
		t.Errorf("%v: %s", proposal, textOf(res))
	}
}

// swapAB changes some letters of a seal, and keeps it base64.
func swapAB(r rune) rune {
	switch r {
	case 'A', 'a', '0', '-', '_':
		return 'B'
	case 'B', 'b', '1', 'c', 'd':
		return 'A'
	}
	return r
}

func TestTwoStep_expires(t *testing.T) {
	var sent atomic.Int64
	s := mailServer(&tool.Options{DraftTTL: time.Nanosecond, Logger: slog.New(slog.DiscardHandler)}, &sent)
	session := connect(t, s.HTTP(), eras[0], nil)
	if res := call(t, session, "mail_send", draft(t, session)); !strings.Contains(textOf(res), "expired") || sent.Load() != 0 {
		t.Errorf("%q, sent %d", textOf(res), sent.Load())
	}
}

// TestTwoStep_users: a draft belongs to who made it.
func TestTwoStep_users(t *testing.T) {
	var sent atomic.Int64
	s := mailServer(&tool.Options{Logger: slog.New(slog.DiscardHandler)}, &sent)
	mine := draft(t, connect(t, scoped(s), eras[0], http.Header{"Authorization": {"Bearer a"}}))
	if res := call(t, connect(t, s.HTTP(), eras[0], nil), "mail_send", mine); !res.IsError || sent.Load() != 0 {
		t.Errorf("somebody else sent it: %s", textOf(res))
	}
}

// TestTwoStep_race: of fifty commits of one draft at once, one happens, whichever
// of two processes with one key and store gets it.
func TestTwoStep_race(t *testing.T) {
	var sent, refused atomic.Int64
	opts := &tool.Options{DraftKey: []byte("0123456789abcdef0123456789abcdef"), Store: &tool.Memory{}, Logger: slog.New(slog.DiscardHandler)}
	a := connect(t, mailServer(opts, &sent).HTTP(), eras[0], nil)
	b := connect(t, mailServer(opts, &sent).HTTP(), eras[1], nil)
	d := draft(t, a)
	ends := make(chan bool, 50)
	for i := range 50 {
		go func() {
			res, err := []*mcp.ClientSession{a, b}[i%2].CallTool(t.Context(), &mcp.CallToolParams{Name: "mail_send", Arguments: d})
			if err == nil && res.IsError {
				refused.Add(1)
			}
			ends <- true
		}()
	}
	for range 50 {
		<-ends
	}
	if sent.Load() != 1 || refused.Load() != 49 {
		t.Errorf("sent %d, refused %d", sent.Load(), refused.Load())
	}
}

// TestTwoStep_hints: the first step is read-only, the second what was said.
func TestTwoStep_hints(t *testing.T) {
	var sent atomic.Int64
	session := connect(t, mailServer(nil, &sent).HTTP(), eras[0], nil)
	for tl, err := range session.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		first := tl.Name == "preview_mail_send"
		if tl.Annotations.ReadOnlyHint != first || *tl.Annotations.DestructiveHint == first || !*tl.Annotations.OpenWorldHint {
			t.Errorf("%s: %+v", tl.Name, tl.Annotations)
		}
	}
}

// TestTwoStep_names: the first step begins with what it does, in the style of
// the second's name. "mail_send_draft" would read as sending a draft.
func TestTwoStep_names(t *testing.T) {
	for name, want := range map[string]string{
		"mail_send": "preview_mail_send", "cancel-order": "preview-cancel-order", "send": "preview_send",
		"sendMail": "previewSendMail", "mail.send": "mail.preview_send", "mail.send_all": "mail.preview_send_all",
	} {
		s := tool.New("x", "1", nil)
		same := func(_ context.Context, _ *tool.Call, in mailIn) (mailIn, error) { return in, nil }
		tool.AddTwoStep(s, tool.Destroy(tool.Open, tool.NotIdempotent),
			tool.Spec{Name: name, Title: "Send mail", Description: "Sends a mail."}, same, same)
		var got []string
		for tl, err := range connect(t, s.HTTP(), eras[0], nil).Tools(t.Context(), nil) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, tl.Name)
		}
		if !slices.Contains(got, want) || !slices.Contains(got, name) {
			t.Errorf("%s made %v, want %s", name, got, want)
		}
	}
}
