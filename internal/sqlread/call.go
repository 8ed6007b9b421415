package sqlread

// isCall reports whether a function call begins here: a name with a bracket
// behind it that is not a keyword of the grammar.
func (p *parser) isCall() bool {
	n := 0
	if p.d == Postgres && p.isAhead(0, "pg_catalog") && p.isSignAhead(1, ".") {
		n = 2
	}
	t := p.ahead(n)
	if !p.isSignAhead(n+1, "(") {
		return false
	}
	if t.kind == quoted {
		return true
	}
	return t.kind == word && (functions[p.d][t.text] || n > 0 || !reserved[p.d][t.text] && !opensBrackets[t.text])
}

// opensBrackets are words that are not reserved everywhere and have a rule of
// their own.
var opensBrackets = set(`cast exists row any some all array interval`)

// call reads a function call and returns the function's name.
func (p *parser) call() string {
	if p.isSignAhead(1, ".") {
		p.i += 2
	}
	t := p.next()
	switch {
	case !functions[p.d][t.text]:
		p.fail("it calls %s, which is not on the list of pure %s functions", t.text, productNames[p.d])
	case t.kind == quoted && p.d != Postgres:
		p.fail("it calls a function by a quoted name, %s", t.text)
	case p.d == MySQL && t.end != p.peek().start:
		p.fail("a space between %s and its bracket may make it somebody's own function", t.text)
	}
	p.wantSign("(")
	p.deeper(func() { p.arguments(t.text) })
	p.wantSign(")")
	p.callTail()
	return t.text
}

// arguments reads what stands in a call's brackets.
func (p *parser) arguments(function string) {
	if p.isSign(")") {
		return
	}
	if p.isSign("*") && p.isSignAhead(1, ")") {
		p.next()
		return
	}
	p.take("distinct", "all")
	for p.argument(function) {
	}
	if p.is("order") {
		p.orderBy()
	}
	if p.d == MySQL && p.take("separator") {
		p.strings()
	}
}

// wordy are the functions whose arguments are separated by words.
var wordy = set(`extract substring substr mid trim overlay position convert char`)

// argument reads one argument and reports whether another follows.
func (p *parser) argument(function string) bool {
	if function == "trim" && p.take("leading", "trailing", "both") && p.take("from") {
		return true
	}
	p.take("variadic")
	if k := p.peek().kind; (k == word || k == quoted) && p.isSignAhead(1, "=>") {
		p.i += 2
	}
	p.expr()
	if function == "convert" && p.d == MySQL && p.takeSign(",") {
		p.typeName()
		return false
	}
	return p.takeSign(",") || wordy[function] && p.take("from", "for", "placing", "using", "similar", "escape")
}

// callTail reads what may follow a call of an aggregate.
func (p *parser) callTail() {
	if p.is("within") && p.isAhead(1, "group") {
		p.i += 2
		p.wantSign("(")
		p.orderBy()
		p.wantSign(")")
	}
	if p.is("filter") && p.isSignAhead(1, "(") {
		p.i += 2
		p.want("where")
		p.expr()
		p.wantSign(")")
	}
	if p.is("respect", "ignore") && p.isAhead(1, "nulls") {
		p.i += 2
	}
	if p.take("over") {
		p.window()
	}
}

// window reads a window by name or in full.
func (p *parser) window() {
	if !p.takeSign("(") {
		p.name()
		return
	}
	if t := p.peek(); t.kind == quoted || t.kind == word && !p.is("partition", "order", "rows", "range", "groups") {
		p.name()
	}
	if p.take("partition") {
		p.want("by")
		p.list(p.expr)
	}
	if p.is("order") {
		p.orderBy()
	}
	if p.take("rows", "range", "groups") {
		p.frame()
	}
	p.wantSign(")")
}

// frame reads which rows of a window count.
func (p *parser) frame() {
	if p.take("between") {
		p.bound()
		p.want("and")
	}
	p.bound()
	if p.take("exclude") && !p.take("ties", "group") {
		if p.take("no") {
			p.want("others")
			return
		}
		p.want("current")
		p.want("row")
	}
}

func (p *parser) bound() {
	if p.take("current") {
		p.want("row")
		return
	}
	if !p.take("unbounded") {
		p.operand()
	}
	if !p.take("preceding", "following") {
		p.stuck("PRECEDING or FOLLOWING")
	}
}
