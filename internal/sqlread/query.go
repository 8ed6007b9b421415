package sqlread

import "strings"

// isQuery reports whether a query begins here.
func (p *parser) isQuery() bool {
	n := 0
	for p.isSignAhead(n, "(") {
		n++
	}
	return p.isQueryAhead(n)
}

func (p *parser) isQueryAhead(n int) bool {
	return p.isAhead(n, "select", "with", "values") || p.d != SQLite && p.isAhead(n, "table")
}

// query reads a query with what may stand before and after it.
func (p *parser) query() {
	p.deeper(func() {
		if p.take("with") {
			p.take("recursive")
			p.list(p.commonTable)
		}
		p.core()
		p.more()
		p.tail()
	})
}

// commonTable reads one table of WITH. Its body must be a query too.
func (p *parser) commonTable() {
	p.name()
	if p.takeSign("(") {
		p.names()
		p.wantSign(")")
	}
	p.want("as")
	if p.d != MySQL {
		p.take("not")
		p.take("materialized")
	}
	p.wantSign("(")
	if !p.isQuery() {
		p.stuck("a query")
	}
	p.query()
	p.wantSign(")")
}

// core reads one part of a union.
func (p *parser) core() {
	switch {
	case p.take("select"):
		p.selection()
	case p.take("values"):
		p.list(func() {
			if p.d == MySQL {
				p.take("row")
			}
			p.wantSign("(")
			p.list(p.expr)
			p.wantSign(")")
		})
	case p.d != SQLite && p.take("table"):
		p.take("only")
		p.tableName()
	case p.isSign("("):
		p.next()
		p.query()
		p.wantSign(")")
	default:
		p.stuck("a query")
	}
}

// more reads the other parts of a union.
func (p *parser) more() {
	for p.take("union", "intersect", "except") {
		p.take("all", "distinct")
		p.core()
	}
}

// tail reads what orders and cuts a result.
func (p *parser) tail() {
	for {
		switch {
		case p.is("order"):
			p.orderBy()
		case p.take("limit"):
			if !p.take("all") {
				p.list(p.expr)
			}
		case p.take("offset"):
			p.expr()
			p.take("row", "rows")
		case p.take("fetch"):
			p.fetch()
		default:
			return
		}
	}
}

func (p *parser) fetch() {
	if !p.take("first", "next") {
		p.stuck("FIRST")
	}
	if !p.is("row", "rows") {
		p.operand()
	}
	p.take("row", "rows")
	if p.take("with") {
		p.want("ties")
		return
	}
	p.want("only")
}

func (p *parser) orderBy() {
	p.want("order")
	p.want("by")
	p.list(func() {
		p.expr()
		p.take("asc", "desc")
		if p.take("nulls") && !p.take("first", "last") {
			p.stuck("FIRST or LAST")
		}
	})
}

// selection reads what follows SELECT.
func (p *parser) selection() {
	switch {
	case p.take("distinct"):
		if p.d == Postgres && p.take("on") {
			p.wantSign("(")
			p.list(p.expr)
			p.wantSign(")")
		}
	case p.take("all"):
	case p.d == MySQL:
		for p.take("distinctrow", "straight_join", "sql_no_cache", "sql_calc_found_rows") {
		}
	}
	p.list(p.column)
	if p.take("from") {
		p.list(p.table)
	}
	if p.take("where") {
		p.expr()
	}
	if p.take("group") {
		p.want("by")
		p.groupBy()
	}
	if p.take("having") {
		p.expr()
	}
	if p.take("window") {
		p.list(func() {
			p.name()
			p.want("as")
			p.window()
		})
	}
}

// column reads one column of a result.
func (p *parser) column() {
	if p.takeSign("*") {
		return
	}
	p.expr()
	as := p.take("as")
	t := p.peek()
	switch {
	case as && (t.kind != str || p.d == Postgres):
		p.label()
	case t.kind == word && !reserved[p.d][t.text] && !notBareAlias[t.text], t.kind == quoted,
		t.kind == str && p.d != Postgres:
		p.next()
	}
}

func (p *parser) groupBy() {
	p.take("distinct", "all")
	p.list(func() {
		switch {
		case p.d == Postgres && p.take("rollup", "cube"):
			p.brackets()
		case p.d == Postgres && p.take("grouping"):
			p.want("sets")
			p.brackets()
		default:
			p.expr()
			p.take("asc", "desc")
		}
	})
	if p.d == MySQL && p.take("with") {
		p.want("rollup")
	}
}

// table reads a table with everything joined to it.
func (p *parser) table() {
	p.deeper(func() {
		p.source()
		for p.join() {
		}
	})
}

// join reads one join and reports whether there was one.
func (p *parser) join() bool {
	switch {
	case p.take("on"): // of a join whose right side was a join itself
		p.expr()
		return true
	case p.take("straight_join"):
	case p.is("natural", "left", "right", "full", "inner", "cross", "join"):
		p.take("natural")
		p.take("left", "right", "full", "inner", "cross")
		p.take("outer")
		p.want("join")
	default:
		return false
	}
	p.source()
	switch {
	case p.take("on"):
		p.expr()
	case p.take("using"):
		p.wantSign("(")
		p.names()
		p.wantSign(")")
		if p.take("as") {
			p.name()
		}
	}
	return true
}

// source reads one thing rows come from.
func (p *parser) source() {
	p.take("lateral")
	function := ""
	switch {
	case p.takeSign("("):
		p.inner()
		p.wantSign(")")
	case p.isCall():
		function = p.call()
	default:
		p.take("only")
		p.tableName()
		p.takeSign("*")
		p.tableOptions()
	}
	alias, columns := p.alias(function)
	if function != "" {
		p.row(alias, columns)
	}
	p.indexHints()
}

// inner reads a query or joined tables in brackets.
func (p *parser) inner() {
	if p.isQueryAhead(0) {
		p.query()
		return
	}
	p.list(p.table)
	p.more()
	p.tail()
}

func (p *parser) tableOptions() {
	switch {
	case p.d == MySQL && p.is("partition") && p.isSignAhead(1, "("):
		p.i += 2
		p.names()
		p.wantSign(")")
	case p.d == Postgres && p.take("tablesample"):
		if !p.take("bernoulli", "system") {
			p.stuck("BERNOULLI or SYSTEM")
		}
		p.brackets()
		if p.take("repeatable") {
			p.brackets()
		}
	}
}

// indexHints reads which indexes a table is to be read by.
func (p *parser) indexHints() {
	switch {
	case p.d == SQLite && p.take("indexed"):
		p.want("by")
		p.name()
	case p.d == SQLite && p.is("not") && p.isAhead(1, "indexed"):
		p.i += 2
	case p.d == MySQL:
		for p.take("use", "force", "ignore") {
			if !p.take("index", "key") {
				p.stuck("INDEX")
			}
			p.wantSign("(")
			if !p.isSign(")") {
				p.list(func() { p.label() })
			}
			p.wantSign(")")
		}
	}
}

// alias reads the name of a source and of its columns. A function without an
// alias goes by its own name.
func (p *parser) alias(function string) (string, map[string]bool) {
	columns := map[string]bool{}
	if p.d == Postgres && function != "" && p.take("with") {
		p.want("ordinality")
		columns["ordinality"] = true
	}
	name, named := function, function != ""
	t := p.peek()
	switch {
	case p.take("as"):
		if !named || !p.isSign("(") {
			name, named = p.label(), true
		}
	case t.kind == quoted, t.kind == word && !reserved[p.d][t.text] && !notBareAlias[t.text]:
		name, named = p.next().text, true
	}
	if named && p.takeSign("(") {
		p.list(func() {
			columns[p.name()] = true
			if !p.isSign(",") && !p.isSign(")") {
				p.typeName()
			}
		})
		p.wantSign(")")
		return name, columns
	}
	own := outColumns[function]
	for c := range own {
		columns[c] = true
	}
	if own == nil { // the one column goes by the alias
		columns[name] = true
	}
	return name, columns
}

// row remembers a function in FROM. Where two go by one name, only columns
// that both have are known.
func (p *parser) row(alias string, columns map[string]bool) {
	before, twice := p.rows[alias]
	for c := range before {
		if !columns[c] {
			delete(before, c)
		}
	}
	if !twice {
		p.rows[alias] = columns
	}
}

// tableName reads the name of a table with its schema. To SQLite some names
// of its own are tables that do something when they are read.
func (p *parser) tableName() {
	last := p.name()
	for p.takeSign(".") {
		last = p.label()
	}
	last = lower(last)
	if p.d == SQLite && strings.HasPrefix(last, "pragma_") && !functions[SQLite][last] {
		p.fail("%s runs a PRAGMA", last)
	}
}
