// Package shape brings the result of a tool into a form a model and a terminal
// can take: not longer than a limit, without fields its schema does not declare,
// without control characters.
//
// A result says the same thing twice, as text and as structuredContent. Both
// stay valid JSON, keep to the output schema and agree with each other, whatever
// is cut:
//
//	result ─ sanitise ─ clean ─ truncate ─▶ result'
//	          undeclared  ANSI,   list items from the end,
//	          fields      control then the longest strings
//
// [Result] does all of it on the bytes of a tools/call result and leaves every
// byte it need not touch as it was. [Sanitise], [Clean] and [Truncate] do one
// thing each. The package is pure: it reads no clock, file or network, and
// bounds what a hostile schema or result may cost. It neither redacts secrets
// nor judges content.
package shape

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/strict"
)

// DefaultLimit is the length, in characters, that most models' hosts take.
const DefaultLimit = 25_000

// MinLimit is the smallest limit: below it there is no room to say what was cut.
const MinLimit = 256

// MetaTruncated is the _meta key that tells of a cut where the value cannot.
const MetaTruncated = "dev.annotary/truncated"

// Options say what [Result] does. The zero value does nothing.
type Options struct {
	// Schema is the tool's output schema; nil if it has none.
	Schema *Schema
	// Limit is the most characters of text, and of structuredContent: hosts
	// show a model one or the other. If zero, there is no limit; if below
	// MinLimit, MinLimit.
	Limit int
	// MediaLimit is the longest image, audio or blob, in characters of its
	// base64. Longer ones are left out whole, with a line that says so; none is
	// ever cut. If zero, all pass.
	MediaLimit int
	// Sanitise drops fields the schema does not declare.
	Sanitise bool
	// Clean neutralises escape sequences and control characters.
	Clean bool
}

// A Report says what [Result] did.
type Report struct {
	Cut     Cut
	Dropped []string // places of undeclared fields
	Cleaned bool
	Media   int // images, sounds and blobs left out
	// Rewritten says that JSON text was written anew, without white space, to
	// say what the structured content says.
	Rewritten bool
	// TextCut is how many characters of plain text were cut off.
	TextCut int
	// Refused says the whole result was replaced by an error, since no shorter
	// one keeps to the schema.
	Refused bool
}

// Changed reports whether the result is not the one that came in.
func (r *Report) Changed() bool {
	return r.Cut.Any() || len(r.Dropped) > 0 || r.Cleaned || r.Media > 0 || r.Rewritten || r.TextCut > 0 || r.Refused
}

// Result shapes the result of a tools/call. What needs no shaping comes back as
// the same bytes. A result that cannot be shaped becomes a result with isError
// and a sentence that says so; an error is returned only for bytes that are no
// JSON object.
//
// Error results are cut and cleaned too, but a schema does not hold for them.
func Result(raw []byte, o Options) ([]byte, Report, error) {
	if err := strict.Check(raw, strict.Limits{}); err != nil {
		return nil, Report{}, annotary.E(annotary.CodeInvalid, "the result cannot be read: "+err.Error(), err)
	}
	if strict.KindOf(raw) != strict.Object {
		return nil, Report{}, annotary.E(annotary.CodeInvalid, "a result is a JSON object", nil)
	}
	if o.Limit > 0 {
		o.Limit = max(o.Limit, MinLimit)
	}
	if o.idle(raw) {
		return raw, Report{}, nil
	}
	s := newShaper(raw, o)
	if err := s.run(); err != nil {
		return refusal(err), Report{Refused: true}, nil
	}
	if !s.report.Changed() {
		return raw, s.report, nil
	}
	return s.bytes(), s.report, nil
}

// idle reports whether a look at the bytes suffices: most results need nothing.
func (o *Options) idle(raw []byte) bool {
	switch {
	case o.Sanitise && o.Schema != nil, o.MediaLimit > 0, o.Limit > 0 && len(raw) > o.Limit:
		return false
	case o.Clean:
		return !slices.ContainsFunc(controlEscapes, func(e []byte) bool { return bytes.Contains(raw, e) }) &&
			!bytes.ContainsFunc(raw, isControl)
	}
	return true
}

// controlEscapes are the ways JSON has to write a control character that we do
// not let pass.
var controlEscapes = [][]byte{[]byte(`\u`), []byte(`\b`), []byte(`\f`)}

// refusal is the result in place of one that cannot be shaped.
func refusal(err error) []byte {
	return fmt.Appendf(nil, `{"content":[{"type":"text","text":%s}],"isError":true}`, strict.Quote(err.Error()))
}

// A shaper works on one result.
type shaper struct {
	Options
	raw        []byte
	structured *node // nil if there is none
	touched    bool  // structured is not what was sent
	blocks     []*block
	report     Report
	marked     bool   // _meta must tell of the cut
	notice     string // a text block to append
}

func newShaper(raw []byte, o Options) *shaper {
	s := &shaper{Options: o, raw: raw}
	if strict.KindOf(strict.Get(raw, "isError")) == strict.True {
		s.Schema = nil
	}
	if v := strict.Get(raw, "structuredContent"); v != nil {
		s.structured = parse(v)
	}
	for _, b := range strict.Elements(strict.Get(raw, "content")) {
		s.blocks = append(s.blocks, newBlock(b))
	}
	return s
}

func (s *shaper) run() error {
	if err := s.findMirrors(); err != nil {
		return err
	}
	if err := s.neutralise(); err != nil {
		return err
	}
	s.media()
	if s.Limit > 0 {
		if err := s.truncate(); err != nil {
			return err
		}
	}
	s.reflect(false)
	return nil
}

// findMirrors sanitises, and notes which texts repeat the structured content or
// one of its members. A text that holds undeclared fields as well is such a
// mirror: what is dropped here is dropped there.
func (s *shaper) findMirrors() error {
	if s.structured == nil {
		return nil
	}
	schema := s.Schema
	if !s.Sanitise {
		schema = nil
	}
	clean, dropped, err := sanitise(s.structured, schema)
	if err != nil {
		return err
	}
	m := newMirrors(clean, schema)
	for _, b := range s.blocks {
		if n := b.value(); n != nil {
			if b.mirrors, b.mirror, err = m.find(n); err != nil {
				return err
			}
		}
	}
	s.structured, s.report.Dropped, s.touched = clean, dropped, len(dropped) > 0
	return nil
}

func same(a, b *node) bool {
	if a == nil || b == nil || a.kind != b.kind {
		return false
	}
	x, ok := a.sum()
	y, ok2 := b.sum()
	return ok && ok2 && x == y
}

// neutralise cleans.
func (s *shaper) neutralise() error {
	if !s.Clean {
		return nil
	}
	for _, b := range s.blocks {
		s.report.Cleaned = (!b.mirror && b.clean()) || s.report.Cleaned
	}
	if s.structured == nil {
		return nil
	}
	return s.cleanStructured()
}

// cleanStructured drops control characters or, where the schema counts every
// character, covers them.
func (s *shaper) cleanStructured() error {
	var err error
	for _, clean := range []func(string) string{Clean, cover} {
		n := s.structured.clone()
		if !n.cleanStrings(clean) {
			return nil
		}
		if err = s.Schema.validate(n); err == nil || s.Schema.validate(s.structured) != nil {
			s.structured, s.touched, s.report.Cleaned = n, true, true
			return nil
		}
	}
	return annotary.E(annotary.CodeInvalid, "the result cannot be shown safely and keep to its schema", err)
}

// reflect writes the mirrors anew: all of them, or those whose original says
// something else by now.
func (s *shaper) reflect(all bool) {
	for _, b := range s.blocks {
		if !b.mirror || b.gone {
			continue
		}
		n := s.structured
		if b.mirrors != "" {
			n = n.get(b.mirrors)
		}
		if n == nil { // the member it repeats is gone
			b.drop(&s.report)
			continue
		}
		if !all && same(b.value(), n) {
			continue
		}
		if compact := string(n.json()); compact != b.text {
			b.setText(compact)
			s.report.Rewritten = true
		}
	}
}
