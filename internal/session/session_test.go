package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestTable(t *testing.T) {
	var ended []string
	table := NewTable[string](Limits{Total: 3, PerOwner: 2}, func(v string) { ended = append(ended, v) })
	for _, tt := range []struct {
		id, owner string
		want      error
	}{{"1", "ann", nil}, {"2", "ann", nil}, {"3", "ann", ErrFull}, {"4", "bob", nil}, {"5", "cid", ErrFull}} {
		if err := table.Add(tt.id, tt.owner, "v"+tt.id); !errors.Is(err, tt.want) {
			t.Errorf("adding %s: got %v, want %v", tt.id, err, tt.want)
		}
	}
	if _, ok := table.Acquire("1", "bob"); ok {
		t.Error("bob got ann's session")
	}
	if _, ok := table.Take("1", "bob"); ok {
		t.Error("bob took ann's session")
	}
	if v, ok := table.Acquire("1", "ann"); !ok || v != "v1" {
		t.Errorf("got %q %v", v, ok)
	}
	table.Remove("1")
	table.Remove("1")
	if v, ok := table.Take("2", "ann"); !ok || v != "v2" {
		t.Errorf("got %q %v", v, ok)
	}
	if err := table.Add("6", "ann", "v6"); err != nil {
		t.Errorf("ann has room again: %v", err)
	}
	table.Close()
	if got := strings.Join(ended, " "); len(ended) != 3 || ended[0] != "v1" || len(table.byID) != 0 {
		t.Errorf("ended %s, %d left", got, len(table.byID))
	}
}

// TestTable_idle checks that only sessions nobody uses end by themselves.
func TestTable_idle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := NewTable[string](Limits{Idle: time.Hour}, func(string) {})
		defer table.Close()
		for _, id := range []string{"busy", "idle", "used"} {
			if err := table.Add(id, "ann", id); err != nil {
				t.Fatal(err)
			}
		}
		table.Release("idle")
		table.Release("used")
		time.Sleep(50 * time.Minute)
		table.Acquire("used", "ann")
		table.Release("used")
		time.Sleep(30 * time.Minute)
		for id, want := range map[string]bool{"busy": true, "idle": false, "used": true} {
			if _, got := table.Acquire(id, "ann"); got != want {
				t.Errorf("%s: there %v, want %v", id, got, want)
			}
		}
	})
}

func TestLog(t *testing.T) {
	l := NewLog(1 << 20)
	e := l.Open()
	for n := range 5 {
		e.Append(fmt.Append(nil, n))
	}
	e.Finish()
	for _, tt := range []struct {
		id   string
		want string
		ok   bool
	}{{"1_0", "0 1 2 3 4", true}, {"1_3", "3 4", true}, {"1_5", "", true}, {"2_0", "", false}, {"x", "", false}, {"1_-1", "", false}, {"", "", false}} {
		found, seq, ok := l.Find(tt.id)
		if ok != tt.ok {
			t.Errorf("%q: found %v, want %v", tt.id, ok, tt.ok)
		}
		if !ok {
			continue
		}
		if got := rest(t, found, seq); got != tt.want {
			t.Errorf("after %q: got %q, want %q", tt.id, got, tt.want)
		}
	}
}

func rest(t *testing.T, e *Events, seq int) string {
	t.Helper()
	var got []string
	for {
		msg, number, _, err := e.Next(t.Context(), seq)
		if errors.Is(err, io.EOF) {
			return strings.Join(got, " ")
		}
		if err != nil {
			t.Fatal(err)
		}
		got, seq = append(got, string(msg)), number
	}
}

// TestLog_bounded checks that finished streams go first, then old events.
func TestLog_bounded(t *testing.T) {
	l := NewLog(100)
	done := l.Open()
	done.Append(make([]byte, 60))
	done.Finish()
	live := l.Open()
	for range 10 {
		live.Append(make([]byte, 30))
	}
	if l.bytes > 100 {
		t.Errorf("the log keeps %d bytes", l.bytes)
	}
	if _, _, ok := l.Find("1_0"); ok {
		t.Error("the finished stream is still there")
	}
	if _, number, _, err := live.Next(t.Context(), 0); err != nil || number != 8 {
		t.Errorf("the oldest event is %d, want 8: %v", number, err)
	}
}

// TestLog_wait checks that a reader waits for what is to come.
func TestLog_wait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := NewLog(100).Open()
		go func() {
			time.Sleep(time.Second)
			e.Append([]byte("late"))
		}()
		msg, _, id, err := e.Next(t.Context(), 0)
		if string(msg) != "late" || id != "1_1" || err != nil {
			t.Errorf("got %q %q %v", msg, id, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, _, _, err := e.Next(ctx, 1); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}
