package sqlread

import (
	"fmt"
	"slices"
	"strings"
)

// maxDepth bounds how deep queries and expressions nest.
const maxDepth = 100

// A parser recognises queries. It builds nothing: it only makes sure that it
// knows every token's part. The first thing it does not know is kept in why,
// and from then on it sees the end of the text everywhere, so that every rule
// returns.
type parser struct {
	d     Dialect
	toks  []token
	i     int
	depth int
	why   string

	// rows are the functions in FROM by alias, with the columns each is known
	// to have; fields are the names written as alias.name.
	rows   map[string]map[string]bool
	fields [][2]string
}

func (p *parser) peek() token { return p.ahead(0) }

func (p *parser) ahead(n int) token {
	if p.why != "" || p.i+n >= len(p.toks) {
		return token{}
	}
	return p.toks[p.i+n]
}

func (p *parser) next() token {
	t := p.peek()
	p.i++
	return t
}

// fail refuses the text. The first reason stays.
func (p *parser) fail(format string, args ...any) {
	if p.why == "" {
		p.why = fmt.Sprintf(format, args...)
	}
}

// stuck refuses the text at the current token.
func (p *parser) stuck(wanted string) {
	switch t := p.peek(); t.kind {
	case end:
		p.fail("it ends where %s should follow", wanted)
	case word:
		p.fail("%s stands where %s should, at byte %d", strings.ToUpper(t.text), wanted, t.start)
	default:
		p.fail("%s should stand at byte %d", wanted, t.start)
	}
}

// is reports whether the next token is one of the keywords.
func (p *parser) is(words ...string) bool { return p.isAhead(0, words...) }

func (p *parser) isAhead(n int, words ...string) bool {
	t := p.ahead(n)
	return t.kind == word && slices.Contains(words, t.text)
}

// take consumes the next token if it is one of the keywords.
func (p *parser) take(words ...string) bool {
	if !p.is(words...) {
		return false
	}
	p.i++
	return true
}

func (p *parser) want(w string) {
	if !p.take(w) {
		p.stuck(strings.ToUpper(w))
	}
}

// isSign reports whether the next token is the punctuation or operator.
func (p *parser) isSign(s string) bool { return p.isSignAhead(0, s) }

func (p *parser) isSignAhead(n int, s string) bool {
	t := p.ahead(n)
	return (t.kind == punct || t.kind == op) && t.text == s
}

func (p *parser) takeSign(s string) bool {
	if !p.isSign(s) {
		return false
	}
	p.i++
	return true
}

func (p *parser) wantSign(s string) {
	if !p.takeSign(s) {
		p.stuck(s)
	}
}

// deeper runs a rule one level down.
func (p *parser) deeper(rule func()) {
	if p.depth++; p.depth > maxDepth {
		p.fail("it nests deeper than %d levels", maxDepth)
	}
	rule()
	p.depth--
}

// list runs a rule for each part of a list separated by commas.
func (p *parser) list(rule func()) {
	rule()
	for p.takeSign(",") {
		rule()
	}
}

// name reads a name that is no reserved word and returns it.
func (p *parser) name() string {
	t := p.peek()
	if t.kind == quoted || t.kind == word && !reserved[p.d][t.text] {
		return p.next().text
	}
	p.stuck("a name")
	return ""
}

func (p *parser) names() { p.list(func() { p.name() }) }

// label reads a name after AS or a dot, where reserved words may stand too.
func (p *parser) label() string {
	t := p.peek()
	if t.kind == quoted || t.kind == word {
		return p.next().text
	}
	p.stuck("a name")
	return ""
}

// statements reads the whole text.
func (p *parser) statements() {
	for p.takeSign(";") {
	}
	if len(p.toks) == p.i {
		p.fail("it has no statement")
	}
	for p.peek().kind != end {
		p.rows, p.fields = map[string]map[string]bool{}, nil
		p.statement()
		p.checkFields()
		if p.peek().kind != end && !p.isSign(";") {
			p.afterQuery()
		}
		for p.takeSign(";") {
		}
	}
}

// afterQuery names what stands behind a query where nothing should.
func (p *parser) afterQuery() {
	switch {
	case p.is("for", "lock"):
		p.fail("%s … locks what it reads", strings.ToUpper(p.peek().text))
	case p.is("into"):
		p.fail("INTO writes what it reads")
	default:
		p.stuck("the end of a query")
	}
}

func (p *parser) statement() {
	switch {
	case p.isQuery():
		p.query()
	case p.take("explain"):
		p.explain()
	case p.d == MySQL && p.take("describe", "desc"):
		if p.isQuery() {
			p.query()
			return
		}
		p.describeTable()
	case p.d != SQLite && p.take("show"):
		p.show()
	case p.peek().kind == word:
		p.fail("%s is not a query", strings.ToUpper(p.peek().text))
	default:
		p.stuck("a query")
	}
}

// explain reads what follows EXPLAIN. It is judged as the statement itself, so
// that it does not matter whether the server runs it.
func (p *parser) explain() {
	switch p.d {
	case Postgres:
		if p.isSign("(") && !p.isQueryAhead(1) && !p.isSignAhead(1, "(") {
			p.next()
			p.list(p.explainOption)
			p.wantSign(")")
		} else {
			p.take("analyze", "analyse")
			p.take("verbose")
		}
	case MySQL:
		p.take("analyze")
		p.take("extended", "partitions")
		if p.is("format") && p.isSignAhead(1, "=") {
			p.i += 2
			p.label()
		}
	default:
		if p.take("query") {
			p.want("plan")
		}
	}
	if !p.isQuery() {
		p.stuck("a query")
		return
	}
	p.query()
}

func (p *parser) explainOption() {
	if !p.take("analyze", "analyse", "verbose", "costs", "settings", "generic_plan", "buffers", "wal", "timing",
		"summary", "memory", "serialize", "format") {
		p.stuck("an option of EXPLAIN")
		return
	}
	if k := p.peek().kind; k == word || k == str || k == num {
		p.next()
	}
}

// describeTable reads the rest of MySQL's DESCRIBE table [column].
func (p *parser) describeTable() {
	p.tableName()
	if k := p.peek().kind; k == word || k == quoted || k == str {
		p.next()
	}
}

// show reads what follows SHOW. PostgreSQL shows settings by name; of MySQL's
// many only those that tell what exists are known.
func (p *parser) show() {
	if p.d == Postgres {
		for p.label(); p.peek().kind == word || p.takeSign("."); {
			p.label()
		}
		return
	}
	p.take("full", "extended", "global", "session")
	p.take("full")
	switch {
	case p.take("create"):
		if !p.take("table", "view", "database", "schema") {
			p.stuck("a kind of object")
		}
		p.tableName()
		return
	case p.take("table"):
		p.want("status")
	case !p.take("tables", "databases", "schemas", "columns", "fields", "index", "indexes", "keys", "status", "variables",
		"engines", "processlist", "warnings", "errors", "grants", "triggers", "events", "plugins", "collation"):
		p.stuck("something to show")
	}
	for p.take("from", "in") {
		p.tableName()
	}
	switch {
	case p.take("like"):
		p.expr()
	case p.take("where"):
		p.expr()
	}
	p.tail()
}
