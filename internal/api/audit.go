package api

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/audit"
	"github.com/annotary/annotary/internal/catalog"
)

// followEvery is how often the log is looked at for a follower.
const followEvery = 200 * time.Millisecond

// A Filter says which entries of the log are meant. The zero Filter means all.
type Filter struct {
	// Server and Tool are names, or patterns in which * stands for anything.
	Server, Tool string
	Who          string // the subject
	Effect       string // allow, ask or deny
	Class        string // read, write or destructive
	Since        time.Time
	// Last means only so many, the latest; 0 is all.
	Last int
	// Follow goes on with entries as they are written.
	Follow bool
}

var filterParams = []string{"server", "tool", "who", "effect", "class", "since", "last", "follow"}

// query writes the filter as parameters.
func (f *Filter) query() url.Values {
	q := url.Values{}
	for name, v := range map[string]string{"server": f.Server, "tool": f.Tool, "who": f.Who, "effect": f.Effect, "class": f.Class} {
		if v != "" {
			q.Set(name, v)
		}
	}
	if !f.Since.IsZero() {
		q.Set("since", f.Since.Format(time.RFC3339Nano))
	}
	if f.Last > 0 {
		q.Set("last", strconv.Itoa(f.Last))
	}
	if f.Follow {
		q.Set("follow", "true")
	}
	return q
}

// parseFilter reads what query writes.
func parseFilter(q url.Values) (f Filter, err error) {
	f = Filter{Server: q.Get("server"), Tool: q.Get("tool"), Who: q.Get("who"), Effect: q.Get("effect"), Class: q.Get("class")}
	if v := q.Get("since"); v != "" {
		f.Since, err = time.Parse(time.RFC3339, v)
	}
	if v := q.Get("last"); v != "" && err == nil {
		f.Last, err = strconv.Atoi(v)
	}
	if v := q.Get("follow"); v != "" && err == nil {
		f.Follow, err = strconv.ParseBool(v)
	}
	if err == nil && f.Last < 0 {
		err = strconv.ErrRange
	}
	if err != nil {
		return f, annotary.E(annotary.CodeInvalid, "a filter cannot be read: "+err.Error(), err)
	}
	return f, nil
}

// everything reports whether no entry is left out for what it says.
func (f *Filter) everything() bool {
	bare := Filter{Last: f.Last, Follow: f.Follow}
	return *f == bare
}

func (f *Filter) matches(line []byte) bool {
	if f.everything() {
		return true
	}
	e, err := audit.Decode(line)
	fits := func(pattern, name string) bool { return pattern == "" || catalog.Match(pattern, name) }
	return err == nil && fits(f.Server, e.Server) && fits(f.Tool, e.Tool) &&
		(f.Who == "" || f.Who == e.Subject) && (f.Effect == "" || f.Effect == e.Effect) &&
		(f.Class == "" || f.Class == e.Class) && !e.Time.Before(f.Since)
}

// audit streams entries as they stand in the log, one on a line.
func (s *server) audit(w http.ResponseWriter, r *http.Request) error {
	f, err := parseFilter(r.URL.Query())
	if err != nil {
		return err
	}
	log := s.Log()
	if log == nil {
		return errNoLog()
	}
	t := &tail{Filter: f, log: log, out: w}
	if sealer, err := s.sealer(); err == nil { // what was dropped may linger for a moment
		if t.next, _, err = sealer.First(r.Context()); err != nil {
			return err
		}
	}
	w.Header().Set("Content-Type", "application/jsonl")
	if err := t.run(r.Context()); err != nil {
		if !t.begun {
			return err
		}
		panic(http.ErrAbortHandler) // a stream cut short must not look whole
	}
	return nil
}

func errNoLog() error {
	return annotary.E(annotary.CodeConfig, "this gateway records nothing", nil).
		WithHint("write 'preset: careful' into the configuration")
}

// tail sends the entries of a log that are meant.
type tail struct {
	Filter
	log   Log
	out   http.ResponseWriter
	next  uint64   // the pack to go on with
	held  [][]byte // the latest, while they are gathered
	begun bool     // something was sent
}

func (t *tail) run(ctx context.Context) error {
	if err := t.skip(ctx); err != nil {
		return err
	}
	if err := t.log.Read(ctx, t.next, t.take); err != nil {
		return err
	}
	if err := t.send(t.held...); err != nil {
		return err
	}
	if err := t.flush(); err != nil {
		return err
	}
	t.Last = 0
	for t.Follow {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(followEvery):
		}
		if err := t.log.Read(ctx, t.next, t.take); err != nil {
			return err
		}
		if err := t.flush(); err != nil {
			return err
		}
	}
	return nil
}

// skip leaves out packs that cannot be among the latest: each has an entry.
func (t *tail) skip(ctx context.Context) error {
	if t.Last == 0 || !t.everything() {
		return nil
	}
	_, last, _, err := t.log.Extent(ctx)
	if n := uint64(t.Last); err == nil && last > n {
		t.next = max(t.next, last-n+1)
	}
	return err
}

// take sends the entries that are meant, or holds the latest of them.
func (t *tail) take(pack uint64, lines [][]byte) error {
	t.next = pack + 1
	for _, line := range lines {
		switch {
		case !t.matches(line):
		case t.Last == 0:
			if err := t.send(line); err != nil {
				return err
			}
		default:
			t.held = append(t.held, line)
			t.held = t.held[max(0, len(t.held)-t.Last):]
		}
	}
	return nil
}

// send writes entries.
func (t *tail) send(lines ...[]byte) error {
	t.begun = true
	for _, line := range lines {
		if _, err := t.out.Write(append(slices.Clip(line), '\n')); err != nil {
			return err
		}
	}
	return nil
}

// flush lets whoever follows have what was sent.
func (t *tail) flush() error {
	t.begun = true
	return http.NewResponseController(t.out).Flush()
}
