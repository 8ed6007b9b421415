package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Text is a string in which ${env:NAME} stands for a variable of the
// environment. It prints as it was written, so that a token never shows.
type Text struct{ written, value string }

// TextOf returns a text that means exactly s.
func TextOf(s string) Text { return Text{written: s, value: s} }

// Value returns the text with its variables filled in.
func (t Text) Value() string { return t.value }

// String returns the text as it was written.
func (t Text) String() string { return t.written }

// MarshalJSON writes the text as it was written.
func (t Text) MarshalJSON() ([]byte, error) { return json.Marshal(t.written) }

// Secret is a Text that does not print at all: people paste tokens.
type Secret struct{ text Text }

const hidden = "(hidden)"

// Value returns the secret itself.
func (s Secret) Value() string { return s.text.value }

// String hides the secret.
func (s Secret) String() string { return hidden }

// GoString hides the secret.
func (s Secret) GoString() string { return hidden }

// MarshalJSON hides the secret.
func (s Secret) MarshalJSON() ([]byte, error) { return json.Marshal(hidden) }

// Duration is a length of time, written like 30s, 5m or 1h30m.
type Duration time.Duration

// D returns the duration as the standard library has it.
func (d Duration) D() time.Duration { return time.Duration(d) }

// String writes the duration without the zero units of the standard library.
func (d Duration) String() string {
	s := time.Duration(d).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// UnmarshalText reads a duration.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil {
		return errors.New("not a duration: write a number with a unit, like 30s, 5m or 1h30m")
	}
	if v <= 0 {
		return errors.New("a duration must be longer than nothing")
	}
	*d = Duration(v)
	return nil
}

// Size is a number of bytes, written like 512KiB, 4MiB or 65536.
type Size int64

var sizeUnits = []struct {
	name  string
	bytes int64
}{
	{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10},
	{"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"KB", 1e3}, {"B", 1}, {"", 1},
}

// String writes the size in the largest unit that leaves no remainder.
func (s Size) String() string {
	for _, u := range sizeUnits[:3] {
		if s != 0 && int64(s)%u.bytes == 0 {
			return fmt.Sprintf("%d%s", int64(s)/u.bytes, u.name)
		}
	}
	return strconv.FormatInt(int64(s), 10)
}

// UnmarshalText reads a size.
func (s *Size) UnmarshalText(text []byte) error {
	for _, u := range sizeUnits {
		digits, ok := strings.CutSuffix(string(text), u.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseUint(strings.TrimSpace(digits), 10, 32)
		if err != nil {
			break
		}
		if n == 0 {
			return errors.New("a size must be larger than nothing")
		}
		*s = Size(int64(n) * u.bytes)
		return nil
	}
	return errors.New("not a size: write a whole number of bytes, or one with a unit, like 512KiB or 4MiB")
}

// Instance says who shares one running command.
type Instance string

// The instances there are.
const (
	Shared       Instance = "shared"
	PerPrincipal Instance = "per-principal"
	PerSession   Instance = "per-session"
)

// UnmarshalText reads an instance.
func (i *Instance) UnmarshalText(text []byte) error {
	return word(i, text, Shared, PerPrincipal, PerSession)
}

// word sets a value to one of the words it may be.
func word[T ~string](v *T, text []byte, words ...T) error {
	if w := T(text); slices.Contains(words, w) {
		*v = w
		return nil
	}
	var list []string
	for _, w := range words {
		list = append(list, string(w))
	}
	last := len(list) - 1
	return fmt.Errorf("must be %s or %s", strings.Join(list[:last], ", "), list[last])
}

// Switch is on or off.
type Switch string

// The positions of a switch.
const (
	On  Switch = "on"
	Off Switch = "off"
)

// UnmarshalText reads a switch.
func (s *Switch) UnmarshalText(text []byte) error {
	if v := Switch(text); v != On && v != Off {
		return fmt.Errorf("write on or off, not %q", text)
	}
	*s = Switch(text)
	return nil
}
