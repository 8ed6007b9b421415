package audit

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/annotary/annotary"
)

// A line is an entry on its way to JSON. Two are written for every call, so it is
// done without reflection; what comes out is what encoding/json would write.
type line struct {
	b   []byte
	err error
}

// marshal writes the entry.
func (e *Entry) marshal() ([]byte, error) {
	room := rooms.Get().(*[]byte)
	l := &line{b: (*room)[:0]}
	l.b = append(l.b, `{"v":`...)
	l.b = strconv.AppendInt(l.b, int64(e.Version), 10)
	l.text("kind", string(e.Kind))
	l.text("call", e.Call)
	l.optional("parent", e.Parent)
	l.name("time")
	l.b = append(e.Time.AppendFormat(append(l.b, '"'), time.RFC3339Nano), '"')
	l.optional("replica", e.Replica)
	l.text("tenant", e.Tenant)
	l.optional("issuer", e.Issuer)
	l.text("subject", e.Subject)
	l.optional("client", e.Client)
	l.list("groups", e.Groups)
	l.optional("conversation", e.Conversation)
	l.about(e)
	l.decision(e)
	l.outcome(e)
	l.b = append(l.b, '}')
	out := bytes.Clone(l.b)
	*room = l.b
	rooms.Put(room)
	return out, l.err
}

// rooms are where lines grow; what leaves has just its size.
var rooms = sync.Pool{New: func() any { b := make([]byte, 0, 2048); return &b }}

// about writes what was called.
func (l *line) about(e *Entry) {
	l.text("method", e.Method)
	l.text("server", e.Server)
	l.optional("tool", e.Tool)
	l.optional("definition", e.Definition)
	hints(l, "declared", e.Declared, (*line).quote)
	hints(l, "effective", e.Effective, (*line).effective)
	l.flag("believed", e.Believed)
	l.optional("class", e.Class)
	l.text("severity", string(e.Severity))
	l.optional("argumentsDigest", e.ArgumentsDigest)
	if len(e.Arguments) > 0 {
		l.name("arguments")
		l.any(e.Arguments)
	}
	l.list("hidden", e.Hidden)
	l.flag("truncated", e.Truncated)
}

// decision writes what was decided, and who let it happen.
func (l *line) decision(e *Entry) {
	l.optional("effect", e.Effect)
	if len(e.Reasons) > 0 {
		l.name("reasons")
		for i, r := range e.Reasons {
			l.b = append(l.b, "[,"[min(i, 1)])
			l.b = append(l.b, '{')
			l.text("code", string(r.Code))
			l.optional("rule", r.Rule)
			l.optional("at", r.At)
			l.optional("ask", r.Ask)
			l.b = append(l.b, '}')
		}
		l.b = append(l.b, ']')
	}
	l.optional("policy", e.Policy)
	l.flag("observe", e.Observe)
	l.optional("approval", e.Approval)
	l.optional("grant", e.Grant)
	l.optional("approvedBy", e.ApprovedBy)
	l.optional("channel", e.Channel)
	l.flag("spooled", e.Spooled)
}

// outcome writes what became of it.
func (l *line) outcome(e *Entry) {
	l.count("attempt", e.Attempt)
	l.number("waited", e.Waited)
	l.optional("shared", e.Shared)
	l.optional("result", string(e.Result))
	l.optional("code", string(e.Code))
	l.number("millis", e.Millis)
	l.count("bytes", e.Bytes)
	l.list("shaped", e.Shaped)
	l.optional("target", e.Target)
	l.optional("note", e.Note)
}

func (l *line) name(s string) {
	if l.b[len(l.b)-1] != '{' {
		l.b = append(l.b, ',')
	}
	l.b = append(append(append(l.b, '"'), s...), `":`...)
}

func (l *line) text(name, value string) {
	l.name(name)
	l.quote(value)
}

func (l *line) optional(name, value string) {
	if value != "" {
		l.text(name, value)
	}
}

func (l *line) flag(name string, value bool) {
	if value {
		l.name(name)
		l.b = append(l.b, "true"...)
	}
}

func (l *line) count(name string, value int) {
	if value != 0 {
		l.name(name)
		l.b = strconv.AppendInt(l.b, int64(value), 10)
	}
}

func (l *line) number(name string, value float64) {
	if value != 0 { // a time in milliseconds, far from where an exponent is wanted
		l.name(name)
		l.b = strconv.AppendFloat(l.b, value, 'f', -1, 64)
	}
}

func (l *line) list(name string, values []string) {
	if len(values) == 0 {
		return
	}
	l.name(name)
	for i, v := range values {
		l.b = append(l.b, "[,"[min(i, 1)])
		l.quote(v)
	}
	l.b = append(l.b, ']')
}

// quote writes a string. Most are plain.
func (l *line) quote(s string) {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			l.any(s)
			return
		}
	}
	l.b = append(append(append(l.b, '"'), s...), '"')
}

func (l *line) effective(e Effective) {
	l.b = append(l.b, '{')
	l.name("value")
	switch e.Value {
	case annotary.Yes:
		l.b = append(l.b, "true"...)
	case annotary.No:
		l.b = append(l.b, "false"...)
	default:
		l.b = append(l.b, "null"...)
	}
	l.text("from", e.From.String())
	l.b = append(l.b, '}')
}

// any writes what has no way of its own.
func (l *line) any(v any) {
	b, err := json.Marshal(v)
	if err != nil && l.err == nil {
		l.err = err
	}
	l.b = append(l.b, b...)
}

// hints writes a member for each hint, in the order of their names.
func hints[V any](l *line, name string, of map[string]V, write func(*line, V)) {
	if len(of) == 0 {
		return
	}
	l.name(name)
	l.b = append(l.b, '{')
	for _, n := range namesIn(of) {
		if v, ok := of[n]; ok {
			l.name(n)
			write(l, v)
		}
	}
	l.b = append(l.b, '}')
}

// hintNames are all hints, in the order of their names.
var hintNames = func() []string {
	var names []string
	for n := range annotary.HintName(annotary.NumHints) {
		names = append(names, n.String())
	}
	slices.Sort(names)
	return names
}()

// namesIn returns, in order, names among which are all in the map.
func namesIn[V any](of map[string]V) []string {
	known := 0
	for _, n := range hintNames {
		if _, ok := of[n]; ok {
			known++
		}
	}
	if known == len(of) {
		return hintNames
	}
	return slices.Sorted(maps.Keys(of))
}
