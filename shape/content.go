package shape

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/annotary/annotary/internal/strict"
)

// A block is one element of a result's content.
type block struct {
	raw     strict.Raw
	kind    string
	at      []string // where its text is; nil if it has none
	text    string
	media   int // length of its base64
	changed bool
	gone    bool

	mirror  bool   // the text repeats structured content
	mirrors string // the member it repeats, "" for all of it
}

func newBlock(raw strict.Raw) *block {
	b := &block{raw: raw}
	b.kind, _ = strict.Text(strict.Get(raw, "type"))
	switch b.kind {
	case "text":
		b.at = []string{"text"}
	case "resource":
		b.at = []string{"resource", "text"}
		b.media = len(strict.Get(raw, "resource", "blob"))
	case "image", "audio":
		b.media = len(strict.Get(raw, "data"))
	}
	var ok bool
	if b.text, ok = strict.Text(strict.Get(raw, b.at...)); !ok {
		b.at = nil
	}
	return b
}

// value returns the array or object the text spells, nil if it spells none.
func (b *block) value() *node {
	if b.at == nil || b.kind != "text" || !strings.ContainsAny(firstByte(b.text), "{[") {
		return nil
	}
	if strict.Check([]byte(b.text), strict.Limits{}) != nil {
		return nil
	}
	return parse([]byte(b.text))
}

func firstByte(s string) string {
	s = strings.TrimLeft(s, " \t\r\n")
	return s[:min(1, len(s))]
}

func (b *block) setText(s string) { b.text, b.changed = s, true }

// clean neutralises the text, and the names of a linked resource.
func (b *block) clean() bool {
	if b.kind == "resource_link" {
		n := parse(b.raw)
		if !n.cleanStrings(Clean) {
			return false
		}
		b.raw = n.json()
		b.changed = true
		return true
	}
	if n := b.value(); n != nil { // escapes inside JSON text become real later
		if !n.cleanStrings(Clean) {
			return false
		}
		b.setText(string(n.json()))
		return true
	}
	c := Clean(b.text)
	if c == b.text {
		return false
	}
	b.setText(c)
	return true
}

func (b *block) length() int { return utf8.RuneCountInString(b.text) }

// bytes writes the block with its new text.
func (b *block) bytes() []byte {
	if !b.changed || b.at == nil {
		return b.raw
	}
	n := parse(b.raw)
	parent := n
	for _, name := range b.at[:len(b.at)-1] {
		parent = parent.get(name)
	}
	parent.set(b.at[len(b.at)-1], text(b.text))
	return n.json()
}

// textBlock makes a block of our own.
func textBlock(s string) *block {
	return newBlock(fmt.Appendf(nil, `{"type":"text","text":%s}`, strict.Quote(s)))
}

// media leaves out what is over the limit, whole.
func (s *shaper) media() {
	for i, b := range s.blocks {
		if s.MediaLimit > 0 && b.media-2 > s.MediaLimit {
			s.blocks[i] = textBlock(fmt.Sprintf("[%s left out: %d characters of base64, at most %d]", b.kind, b.media-2, s.MediaLimit))
			s.report.Media++
		}
	}
}

// noticeRoom is kept free for a notice, which is never longer.
const noticeRoom = 128

func (s *shaper) noticeText() string {
	what := "the end is left out"
	if n := s.report.Cut.Items; n > 0 {
		what = strconv.Itoa(n) + " items are left out"
	}
	return "[Truncated: " + what + ". Use filters or pages to see more.]"
}

// truncate brings structured content and text within the limit.
func (s *shaper) truncate() error {
	s.reflect(false)
	if s.length(isAny) > s.Limit {
		s.reflect(true) // a text may be too long only for its white space
	}
	over := s.length(isAny) > s.Limit
	if over {
		s.dropRepeats()
	}
	if s.structured != nil && (over || s.structured.size > s.Limit) {
		budget := s.Limit
		if s.length(isMirror) > 0 {
			budget -= noticeRoom + min(s.length(isOther), s.Limit/4)
		}
		if err := s.truncateStructured(budget); err != nil {
			return err
		}
	}
	s.truncateTexts()
	return nil
}

func (s *shaper) truncateStructured(budget int) error {
	if s.structured.size <= budget {
		return nil
	}
	n, cut, err := truncate(s.structured, s.Schema, budget)
	if err != nil {
		return err
	}
	s.structured, s.touched, s.report.Cut = n, true, cut
	s.reflect(true)
	partial := false // a text that repeats only a member shows no meta
	for _, b := range s.blocks {
		partial = partial || (b.mirror && b.mirrors != "")
	}
	if !cut.Marked || partial {
		s.tell()
	}
	s.marked = !cut.Marked
	return nil
}

// dropRepeats leaves out all mirrors but the first.
func (s *shaper) dropRepeats() {
	seen := false
	for _, b := range s.blocks {
		if b.mirror && seen {
			b.drop(&s.report)
		}
		seen = seen || b.mirror
	}
}

func isAny(*block) bool      { return true }
func isMirror(b *block) bool { return b.mirror }
func isOther(b *block) bool  { return !b.mirror }

// length is the length of the texts of one kind.
func (s *shaper) length(kind func(*block) bool) int {
	total := 0
	for _, b := range s.blocks {
		if kind(b) && !b.gone {
			total += b.length()
		}
	}
	return total
}

// truncateTexts cuts the texts that repeat nothing, the last first.
func (s *shaper) truncateTexts() {
	room := s.Limit - s.length(isMirror) - utf8.RuneCountInString(s.notice)
	if s.length(isOther) <= room {
		return
	}
	if s.notice == "" {
		room -= noticeRoom
	}
	told := true
	for _, b := range s.blocks {
		if b.mirror || b.gone || b.length() == 0 {
			continue
		}
		if b.length() > room {
			told = s.shorten(b, max(0, room)) && told
		}
		room -= b.length()
	}
	if !told {
		s.tell()
		s.marked = true
	}
}

// shorten cuts a text to the room there is, or leaves it out. It reports
// whether the text itself tells.
func (s *shaper) shorten(b *block, room int) (told bool) {
	if n := b.value(); n != nil {
		if short, cut, err := truncate(n, nil, room); n.size > room && err == nil {
			s.report.Cut.Items += cut.Items
			s.report.Cut.Strings += cut.Strings
			s.report.Cut.Fields += cut.Fields
			b.setText(string(short.json()))
			return cut.Marked
		} else if n.size <= room {
			b.setText(string(n.json()))
			s.report.Rewritten = true
			return true
		}
	}
	if room == 0 {
		b.drop(&s.report)
		return false
	}
	s.report.TextCut += b.length() - room
	b.setText(firstRunes(b.text, room-1) + "…")
	return false
}

func (b *block) drop(r *Report) {
	r.TextCut += b.length()
	b.gone, b.text = true, ""
}

// tell adds the notice.
func (s *shaper) tell() { s.notice = s.noticeText() }

// bytes writes the result, with only what changed written anew.
func (s *shaper) bytes() []byte {
	out := []byte{'{'}
	for name, value := range strict.Members(s.raw) {
		switch name {
		case "content":
			value = s.contentBytes()
		case "structuredContent":
			if s.touched {
				value = s.structured.json()
			}
		case "_meta":
			value = s.metaBytes(value)
		}
		out = appendMember(out, name, value)
	}
	if strict.Get(s.raw, "content") == nil && s.notice != "" {
		out = appendMember(out, "content", s.contentBytes())
	}
	if strict.Get(s.raw, "_meta") == nil && s.marked {
		out = appendMember(out, "_meta", s.metaBytes([]byte("{}")))
	}
	return append(out, '}')
}

func appendMember(dst []byte, name string, value strict.Raw) []byte {
	if len(dst) > 1 {
		dst = append(dst, ',')
	}
	return append(append(append(dst, strict.Quote(name)...), ':'), value...)
}

func (s *shaper) contentBytes() []byte {
	out := []byte{'['}
	blocks := s.blocks
	if s.notice != "" {
		blocks = append(blocks, textBlock(s.notice))
	}
	for _, b := range blocks {
		if b.gone {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, b.bytes()...)
	}
	return append(out, ']')
}

func (s *shaper) metaBytes(raw strict.Raw) []byte {
	if !s.marked || strict.KindOf(raw) != strict.Object {
		return raw
	}
	meta := parse(raw)
	meta.set(MetaTruncated, parse(fmt.Appendf(nil, `{"limit":%d,"items":%d}`, s.Limit, s.report.Cut.Items)))
	return meta.json()
}
