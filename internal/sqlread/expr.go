package sqlread

import "strings"

// expr reads an expression. Precedence does not matter here: operands and
// operators in turn are enough to know every token's part.
func (p *parser) expr() {
	p.deeper(func() {
		p.operand()
		for p.operator() {
		}
	})
}

// operator reads an operator with its right operand, or what may follow an
// operand, and reports whether there was one.
func (p *parser) operator() bool {
	t := p.peek()
	switch {
	case t.kind == op && t.text != "=>":
		p.next()
		p.operand()
	case p.takeSign("::"):
		p.typeName()
	case p.isSign("[") && p.d == Postgres:
		p.subscript()
	case p.isSign("."):
		p.fail("a name after a bracket may call a function, at byte %d", t.start)
	case p.take("isnull", "notnull"):
	case p.take("is"):
		p.afterIs()
	case p.take("collate"):
		p.label()
		if p.takeSign(".") {
			p.label()
		}
	case p.is("at") && p.isAhead(1, "time"):
		p.i += 2
		p.want("zone")
		p.operand()
	case p.is("not") && !p.isAhead(1, "indexed"):
		p.next()
		if !p.take("null") {
			return p.comparison() || p.failed("LIKE, IN or BETWEEN")
		}
	case p.take("and", "or", "escape", "overlaps"), p.d == MySQL && p.take("xor", "div", "mod"):
		p.operand()
	default:
		return p.comparison()
	}
	return true
}

func (p *parser) failed(wanted string) bool {
	p.stuck(wanted)
	return true
}

// comparison reads a comparison written as a word, which NOT may precede.
func (p *parser) comparison() bool {
	switch {
	case p.take("in"):
		if p.d == SQLite && !p.isSign("(") {
			p.fail("IN looks into a table by its name")
		}
	case p.take("like"), p.d == Postgres && p.take("ilike"), p.d == SQLite && p.take("glob", "match"),
		p.d == MySQL && p.take("regexp", "rlike"):
	case p.take("between"):
		p.take("symmetric", "asymmetric")
	case p.d == Postgres && p.take("similar"):
		p.want("to")
	case p.d == MySQL && p.take("member"):
		p.want("of")
	case p.d == SQLite && p.is("regexp"):
		p.fail("REGEXP calls a function of the application")
	default:
		return false
	}
	p.operand()
	return true
}

// afterIs reads what follows IS.
func (p *parser) afterIs() {
	p.take("not")
	switch {
	case p.take("distinct"):
		p.want("from")
		p.operand()
	case p.take("null", "true", "false", "unknown", "normalized"):
	case p.d == SQLite:
		p.operand()
	default:
		p.stuck("NULL, TRUE or FALSE")
	}
}

func (p *parser) subscript() {
	p.wantSign("[")
	if !p.isSign(":") {
		p.expr()
	}
	if p.takeSign(":") && !p.isSign("]") {
		p.expr()
	}
	p.wantSign("]")
}

// operand reads one operand with the operators before it.
func (p *parser) operand() {
	for p.prefix() {
	}
	t := p.peek()
	switch {
	case t.kind == num, t.kind == param:
		p.next()
	case t.kind == str:
		p.strings()
	case p.isSign("("):
		p.brackets()
	case p.isCall():
		p.call()
	case t.kind == quoted:
		p.field()
	case t.kind == word:
		p.wordOperand(t.text)
	default:
		p.stuck("a value")
	}
}

// prefix reads an operator before an operand.
func (p *parser) prefix() bool {
	t := p.peek()
	if t.kind == op && prefixOperators[p.d][t.text] || p.is("not") || p.d == MySQL && p.is("binary") && !p.isSignAhead(1, "(") {
		p.next()
		return true
	}
	return false
}

// strings reads a string. MySQL joins strings that stand side by side; what
// PostgreSQL makes of them depends on the line breaks between, so it may not.
func (p *parser) strings() {
	p.next()
	for p.d == MySQL && p.peek().kind == str {
		p.next()
	}
	if p.d == Postgres && p.peek().kind == str {
		p.fail("two strings stand side by side")
	}
}

// wordOperand reads an operand that begins with an unquoted word.
func (p *parser) wordOperand(w string) {
	switch {
	case p.take("case"):
		p.caseWhen()
	case p.take("cast"):
		p.wantSign("(")
		p.expr()
		p.want("as")
		p.typeName()
		p.wantSign(")")
	case p.take("exists"):
		p.subquery()
	case p.d == Postgres && p.take("array"):
		p.array()
	case p.d != SQLite && p.take("row", "any", "some", "all"):
		p.brackets()
	case p.d == MySQL && p.take("match"):
		p.match()
	case p.d != SQLite && p.is("interval"):
		p.interval()
	case p.typedLiteral(w):
	case constants[p.d][w]:
		p.next()
	default:
		p.field()
	}
}

// field reads a name with what it is qualified by, and remembers qualified
// names for checkFields.
func (p *parser) field() {
	qualifier, last := "", p.name()
	for p.takeSign(".") {
		if p.takeSign("*") {
			return
		}
		qualifier, last = last, p.label()
	}
	if qualifier == "" {
		return
	}
	if p.isSign("(") {
		p.fail("it calls %s.%s, which is no built-in function", qualifier, last)
	}
	p.fields = append(p.fields, [2]string{qualifier, last})
}

// checkFields refuses a name that calls a function without brackets. To
// PostgreSQL x.nextval is nextval(x) where x is a function in FROM that has no
// column of that name; MariaDB and others read sequences as s.nextval.
func (p *parser) checkFields() {
	for _, f := range p.fields {
		columns, isRow := p.rows[f[0]]
		if isRow && p.d == Postgres && !columns[f[1]] || strings.EqualFold(f[1], "nextval") {
			p.fail("%s.%s may call a function", f[0], f[1])
		}
	}
}

// brackets reads a list of expressions or a query in brackets.
func (p *parser) brackets() {
	p.wantSign("(")
	switch {
	case p.isQueryAhead(0):
		p.query()
	case !p.isSign(")"):
		p.list(p.expr)
		p.more()
		p.tail()
	}
	p.wantSign(")")
}

func (p *parser) subquery() {
	p.wantSign("(")
	if !p.isQuery() {
		p.stuck("a query")
	}
	p.query()
	p.wantSign(")")
}

func (p *parser) array() {
	if p.isSign("(") {
		p.subquery()
		return
	}
	p.wantSign("[")
	if !p.isSign("]") {
		p.list(func() {
			if p.isSign("[") {
				p.deeper(p.array)
				return
			}
			p.expr()
		})
	}
	p.wantSign("]")
}

func (p *parser) caseWhen() {
	if !p.is("when") {
		p.expr()
	}
	for p.take("when") {
		p.expr()
		p.want("then")
		p.expr()
	}
	if p.take("else") {
		p.expr()
	}
	p.want("end")
}

// match reads the rest of MySQL's MATCH (columns) AGAINST (text mode).
func (p *parser) match() {
	p.brackets()
	p.want("against")
	p.wantSign("(")
	p.operand()
	for p.take("in", "boolean", "natural", "language", "mode", "with", "query", "expansion") {
	}
	p.wantSign(")")
}

// interval reads an interval: INTERVAL '1 day' or, for MySQL, INTERVAL 1 DAY.
func (p *parser) interval() {
	p.next()
	if p.d == MySQL {
		p.expr()
		if t := p.peek(); t.kind != word || !intervalUnits[t.text] {
			p.stuck("a unit of time")
		}
		p.next()
		return
	}
	if p.peek().kind != str {
		p.stuck("a string")
	}
	p.strings()
	for p.take("year", "month", "day", "hour", "minute", "second", "to") {
	}
}

// typedLiteral reads a string with its type before it, such as date
// '2026-01-01', and reports whether there was one.
func (p *parser) typedLiteral(w string) bool {
	if !typedLiterals[p.d][w] {
		return false
	}
	n := 1
	if p.isAhead(1, "with", "without") && p.isAhead(2, "time") && p.isAhead(3, "zone") {
		n = 4
	}
	if p.ahead(n).kind != str {
		return false
	}
	p.i += n
	p.strings()
	return true
}

// typeName reads a built-in type.
func (p *parser) typeName() {
	if p.d == Postgres && p.is("pg_catalog") && p.isSignAhead(1, ".") {
		p.i += 2
	}
	t := p.peek()
	if t.kind != word || !types[p.d][t.text] {
		if t.kind == word || t.kind == quoted {
			p.fail("%s is no built-in type", t.text)
		}
		p.stuck("a type")
		return
	}
	p.next()
	for p.take("precision", "varying", "unsigned", "signed", "character", "char", "integer", "int") {
	}
	if p.takeSign("(") {
		p.list(func() { p.operand() })
		p.wantSign(")")
	}
	if p.is("with", "without") && p.isAhead(1, "time") {
		p.i += 2
		p.want("zone")
	}
	p.arrayType()
}

func (p *parser) arrayType() {
	if p.d != Postgres {
		return
	}
	p.take("array")
	for p.takeSign("[") {
		if p.peek().kind == num {
			p.next()
		}
		p.wantSign("]")
	}
}
