// Package sqlread says whether a SQL text only reads.
//
// It is an allow-list reader. A text is a read only if the tokenizer of the
// stated dialect and a small grammar of queries understand every byte of it,
// every statement is a query, and every function, operator and type in it is a
// built-in on a shipped list. Whatever the reader does not know is not a read:
// it may be wrong about a query, never knowingly about a write.
//
//	text ─ tokenize(dialect) ─▶ tokens ─ parser.statement ─▶ Verdict
//
// Without a stated dialect ([Any]) a text is a read only if PostgreSQL, MySQL
// and SQLite all read it so, and cut it into the same tokens.
//
// What a database does behind a table's name is out of sight: views, row
// policies, computed columns, overloads of built-in functions, foreign tables.
// A read-only database role sees those; this package does not replace it.
package sqlread

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// A Dialect says whose rules a text is read by. The zero value is Any.
type Dialect uint8

// The dialects. MySQL stands for MariaDB too.
const (
	Any Dialect = iota // what all the others call a read
	Postgres
	MySQL
	SQLite
)

var dialectNames = [...]string{"", "postgres", "mysql", "sqlite"}

// productNames are the dialects as people write them.
var productNames = [...]string{"any dialect", "PostgreSQL", "MySQL", "SQLite"}

// String returns the word used in configuration; for Any the empty string.
func (d Dialect) String() string { return dialectNames[d] }

// ParseDialect is the inverse of String.
func ParseDialect(s string) (Dialect, bool) {
	for d, name := range dialectNames {
		if s == name {
			return Dialect(d), true
		}
	}
	return Any, false
}

// MaxBytes is the longest text that is looked at. A longer one is not a read.
const MaxBytes = 256 << 10

// A Verdict says whether a text only reads, and why. The zero value says no.
type Verdict struct {
	Read bool
	Why  string
}

// Read judges a SQL text by the rules of a dialect.
func Read(sql string, d Dialect) Verdict {
	switch {
	case len(sql) > MaxBytes:
		return Verdict{Why: fmt.Sprintf("the text is longer than %d bytes", MaxBytes)}
	case !utf8.ValidString(sql) || strings.Contains(sql, "\x00"):
		return Verdict{Why: "the text is not valid Unicode or has a zero byte"}
	case d == Any:
		return readAny(sql)
	}
	toks, why := tokenize(sql, d)
	if why != "" {
		return Verdict{Why: why}
	}
	return judge(toks, d)
}

// readAny asks every dialect. A text that they cut into different tokens is
// refused even if each would call its own reading a read: somebody wrote it to
// be read in two ways.
func readAny(sql string) Verdict {
	var first []token
	for d := Postgres; d <= SQLite; d++ {
		toks, why := tokenize(sql, d)
		if why != "" {
			return Verdict{Why: "as " + productNames[d] + " reads it, " + why}
		}
		if d == Postgres {
			first = toks
		}
		if !sameCuts(first, toks) {
			return Verdict{Why: "PostgreSQL and " + productNames[d] + " read different words in it"}
		}
		if v := judge(toks, d); !v.Read {
			return Verdict{Why: "as " + productNames[d] + " reads it, " + v.Why}
		}
	}
	return Verdict{Read: true, Why: "every statement is a query in every dialect"}
}

func sameCuts(a, b []token) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].start != b[i].start || a[i].end != b[i].end {
			return false
		}
	}
	return true
}

// judge runs the grammar over the tokens of a text, and then looks for words
// that no query contains: a second lock on the same door.
func judge(toks []token, d Dialect) Verdict {
	p := &parser{d: d, toks: toks}
	p.statements()
	if p.why != "" {
		return Verdict{Why: p.why}
	}
	for _, t := range toks {
		if t.kind == word && neverInQuery[t.text] {
			return Verdict{Why: strings.ToUpper(t.text) + " has no place in a query"}
		}
	}
	return Verdict{Read: true, Why: "every statement is a query and every function in it is a pure built-in"}
}
