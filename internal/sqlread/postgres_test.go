package sqlread_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/annotary/annotary/internal/sqlread"
	"github.com/annotary/annotary/internal/testenv"
)

// A postgres is a running server with something in it that could be changed.
type postgres struct {
	run   *pgConn // where texts run
	old   *pgConn // where backslashes escape, as they did by default before 9.1
	watch *pgConn // who looks on
}

func startPostgres(t *testing.T) *postgres {
	t.Helper()
	dir := testenv.Postgres(t)
	p := &postgres{dialPostgres(t, dir), dialPostgres(t, dir), dialPostgres(t, dir)}
	for _, sql := range []string{
		`CREATE SEQUENCE s`,
		`CREATE TABLE t (id int, a int, b int, c text, d text, data jsonb, tags text[])`,
		`INSERT INTO t SELECT n, n, n % 3, 'c' || n, 'd', '{"a":1}', '{x,y}' FROM generate_series(1, 20) n`,
		`CREATE TABLE u (id int, a int, b int, d int)`,
		`INSERT INTO u SELECT n, n, n, n FROM generate_series(1, 5) n`,
		`CREATE TABLE users (id int, name text)`,
		`CREATE FUNCTION f(int) RETURNS int LANGUAGE sql AS 'DELETE FROM t WHERE id = $1 RETURNING id'`,
		`CREATE FUNCTION pop(json) RETURNS int LANGUAGE sql AS 'DELETE FROM t WHERE id = (SELECT min(id) FROM t) RETURNING id'`,
		`CREATE FUNCTION pop(int) RETURNS int LANGUAGE sql AS 'DELETE FROM t WHERE id = (SELECT min(id) FROM t) RETURNING id'`,
		`VACUUM FREEZE`,
	} {
		if _, err := p.run.query(sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	for _, c := range []*pgConn{p.run, p.old} {
		if _, err := c.query(`SET statement_timeout = '2s'; SET default_transaction_read_only = off`); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := p.old.query(`SET standard_conforming_strings = off; SET backslash_quote = on`); err != nil {
		t.Fatal(err)
	}
	p.state(t) // the first look fills caches
	return p
}

// state tells everything a text could have changed: what was written to the
// log, the next transaction number, sequences, rows, locks, and the session's
// settings.
func (p *postgres) state(t *testing.T) string {
	t.Helper()
	outside, err := p.watch.query(`SELECT pg_current_wal_insert_lsn(), pg_snapshot_xmax(pg_current_snapshot()),
		(SELECT last_value::text || is_called FROM s), (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'),
		(SELECT md5(string_agg(t::text, ',' ORDER BY id)) FROM t), (SELECT count(*) FROM pg_class)`)
	if err != nil {
		t.Fatal(err)
	}
	inside, err := p.run.query(`SELECT md5(string_agg(name || '=' || setting, ',' ORDER BY name)) FROM pg_settings`)
	if err != nil {
		t.Fatal(err)
	}
	listening, err := p.run.query(`SELECT count(*) FROM pg_listening_channels()`)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(slices.Concat(outside, inside, listening), " ")
}

// changes runs a text and reports whether anything is different after, and
// whether it ran without an error anywhere.
func (p *postgres) changes(t *testing.T, sql string) (changed, ran bool) {
	t.Helper()
	before := p.state(t)
	for _, c := range []*pgConn{p.run, p.old} {
		_, err := c.query(sql)
		if err != nil && !errors.Is(err, errSQL) {
			t.Fatalf("%q broke the connection: %v", sql, err)
		}
		ran = ran || err == nil
	}
	return p.state(t) != before, ran
}

// TestPostgresSeesChanges proves the look-out: each of these texts changes
// something, is seen to, and is not a read.
func TestPostgresSeesChanges(t *testing.T) {
	p := startPostgres(t)
	for _, sql := range []string{
		"INSERT INTO u VALUES (9)", "SELECT nextval('s')", "SELECT setval('s', 7)", "SELECT * FROM t FOR UPDATE",
		"SELECT ('s'::regclass).nextval", "SELECT (ARRAY['s'::regclass])[1].nextval", "SELECT x.nextval FROM to_regclass('s') x",
		"SELECT unnest.nextval FROM unnest(ARRAY['s'::regclass])", "SELECT pop.pop FROM json_array_elements('[1]') pop",
		"SELECT x.pop FROM generate_series(1, 1) x", "SELECT f(9)", "SELECT txid_current()", "SELECT set_config('work_mem', '123kB', false)",
		"SELECT pg_advisory_lock(1)", "SELECT lo_create(0)", "SELECT 1 INTO x", "SELECT 'a\\'; DELETE FROM t WHERE id = 15; --'", "WITH x AS (DELETE FROM u RETURNING *) SELECT * FROM x",
		"EXPLAIN ANALYZE DELETE FROM t WHERE id = 12", "SELECT query_to_xml('SELECT nextval(''s'')', true, true, '')",
		"LISTEN x", "SET work_mem = '124kB'", "SELECT 1; DELETE FROM t", "DO $$BEGIN PERFORM nextval('s'); END$$",
	} {
		changed, ran := p.changes(t, sql)
		if !changed || !ran {
			t.Errorf("%q: ran %v, seen to change something %v", sql, ran, changed)
		}
		for _, d := range []sqlread.Dialect{sqlread.Any, sqlread.Postgres} {
			if sqlread.Read(sql, d).Read {
				t.Errorf("%q is a read in %q", sql, d)
			}
		}
	}
}

// TestPostgresReadsChangeNothing is the promise of the package, on a real
// server: whatever it calls a read changes nothing. The texts are the samples
// and what chance makes of samples, writes and tricks.
func TestPostgresReadsChangeNothing(t *testing.T) {
	p := startPostgres(t)
	texts := mutants(20000)
	for _, s := range slices.Concat(queries, divided) {
		texts = append(texts, s.sql)
	}
	reads, ran := 0, 0
	for _, sql := range texts {
		if !sqlread.Read(sql, sqlread.Postgres).Read {
			continue
		}
		reads++
		changed, ok := p.changes(t, sql)
		if changed {
			t.Fatalf("this read changed something: %q", sql)
		}
		if ok {
			ran++
		}
	}
	t.Logf("%d texts, %d called reads, %d of them ran without an error", len(texts), reads, ran)
	if reads < 1000 || ran < 500 {
		t.Errorf("only %d reads, %d of which ran: the test proves little", reads, ran)
	}
}

// seedsOfReads all run on the server of startPostgres.
var seedsOfReads = []string{
	"SELECT 1", "SELECT a , b FROM t WHERE id = 3 ORDER BY a LIMIT 5", "SELECT count(*) FROM t GROUP BY b",
	"SELECT upper ( c ) FROM t AS x WHERE a IN ( 1 , 2 )", "WITH x AS ( SELECT a FROM t ) SELECT * FROM x",
	"SELECT x FROM generate_series ( 1 , 3 ) AS x", "SELECT * FROM t x JOIN u y ON x . id = y . id",
	"SELECT CASE WHEN a > 1 THEN 2 ELSE 3 END FROM t", "SELECT 's' :: regclass", "SELECT ( SELECT a FROM u LIMIT 1 )",
	"SELECT sum ( a ) OVER ( PARTITION BY b ) FROM t", "SELECT coalesce ( a , 1 ) + 2 FROM u", "VALUES ( 1 ) , ( 2 )",
	"SELECT x FROM to_regclass ( 's' ) AS x", "SELECT value FROM json_array_elements ( '[1]' ) AS x", "TABLE u",
	"EXPLAIN SELECT a FROM t", "SELECT ARRAY [ 1 , 2 ] [ 1 ]", "SELECT data -> 'a' FROM t", "SELECT a FROM t UNION SELECT b FROM u",
}

// tricks are pieces that turn a query into something else, or try to.
var tricks = []string{
	"nextval ( 's' )", "f ( 1 )", ". nextval", ". pop", "x . nextval", "x . pop", "pop ( 1 )", "pop", "AS pop", "x . x", "INTO zz", "FOR UPDATE", "FOR SHARE",
	"; DELETE FROM t", "; SELECT nextval ( 's' )", "/* x */", "/*! x */", "-- x\n", "'", "\"", "$$", "$a$", "\\", "E'\\''", "U&'x'", "(", ")", "[", "]", ",", ";", "::",
	":: regclass", "LATERAL", "ROWS FROM (", "ONLY", "RETURNING *", "DELETE FROM t", "INSERT INTO u VALUES ( 1 )", "WITH y AS (", "setval ( 's' , 1 )",
	"set_config ( 'a.b' , 'c' , false )", "pg_advisory_lock ( 1 )", "txid_current ( )", "OPERATOR ( pg_catalog . + )", "\"nextval\" ( 's' )", "pg_catalog . nextval ( 's' )",
	", nextval ( 's' ) y", ", LATERAL nextval ( 's' ) y", "JOIN nextval ( 's' ) y ON true", "( 's' :: regclass ) . nextval", "x", "AS x", "t", "a", "1", "WITH ORDINALITY", "json_each ( '{}' ) AS x",
	"EXPLAIN ANALYZE", "ANALYZE", "TABLE", "SELECT", "FROM", "*", "=>", ":=", "#", "?", "NULL", "NOT", "UNION", "VALUES ( f ( 1 ) )", "ARRAY [", "x ( pop )", "x ( nextval )", "COLLATE", "AT TIME ZONE", "IS", "OVER (", "FILTER ( WHERE",
	"`", "`a`", "@a := 1", "INTO @v", "# x\n", "/*! , nextval ( s ) */", "LOCK IN SHARE MODE", "get_lock ( 'a' , 0 )", "last_insert_id ( 7 )", "s . nextval",
	"NEXT VALUE FOR s", "count (1)", "sum (1)", "INTO OUTFILE 'x'", "'\\'", "'\\' ; DELETE FROM t ; -- '", "--x", "\r", "ON true", "USE INDEX ( a )", "INTERVAL 1 DAY",
}

// mutants makes texts out of the seeds: words are dropped, doubled, swapped,
// and tricks put between them. The same number gives the same texts.
func mutants(n int) []string {
	rnd := rand.New(rand.NewPCG(2, 9))
	pick := func(from []string) string { return from[rnd.IntN(len(from))] }
	texts := make([]string, 0, n)
	for range n {
		words := strings.Fields(pick(seedsOfReads))
		for range 1 + rnd.IntN(3) {
			at := rnd.IntN(len(words))
			switch rnd.IntN(6) {
			case 0:
				words = slices.Delete(words, at, at+1)
			case 1:
				words[at] = pick(strings.Fields(pick(seedsOfReads)))
			case 2:
				words = slices.Concat(words[:at], []string{"(", pick(seedsOfReads), ")"}, words[at:])
			default:
				words = slices.Insert(words, at+rnd.IntN(2), pick(tricks))
			}
			if len(words) == 0 {
				break
			}
		}
		texts = append(texts, strings.Join(words, []string{" ", "\n", "/**/"}[max(0, rnd.IntN(6)-3)]))
	}
	return texts
}

// TestPostgresCatalogue holds the lists to the catalogue of a real server:
// every function is there and none is volatile but those named here, every
// operator and type is built in, every reserved word is known.
func TestPostgresCatalogue(t *testing.T) {
	p := startPostgres(t)
	ask := func(sql string) []string {
		rows, err := p.run.query(sql)
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
	list := func(words []string) string { return "ARRAY['" + strings.Join(words, "','") + "']" }

	// Written with words instead of commas, they are no entries of the catalogue.
	syntax := []string{"coalesce", "greatest", "grouping", "least", "nullif", "trim"}
	// Volatile because they answer differently each time, not because they change anything.
	fickle := []string{
		"clock_timestamp", "gen_random_uuid", "pg_database_size", "pg_indexes_size", "pg_is_in_recovery", "pg_relation_size",
		"pg_table_size", "pg_total_relation_size", "random", "timeofday",
	}
	functions := list(sqlread.Functions(sqlread.Postgres))
	missing := ask(`SELECT f FROM unnest(` + functions + `) f WHERE NOT EXISTS (SELECT FROM pg_proc WHERE proname = f) ORDER BY 1`)
	if !slices.Equal(missing, syntax) {
		t.Errorf("functions that PostgreSQL does not have: %q, want %q", missing, syntax)
	}
	volatile := ask(`SELECT DISTINCT proname FROM pg_proc WHERE provolatile = 'v' AND pronamespace = 'pg_catalog'::regnamespace
		AND proname = ANY(` + functions + `) ORDER BY 1`)
	if !slices.Equal(volatile, fickle) {
		t.Errorf("volatile functions on the list: %q, want %q", volatile, fickle)
	}
	for _, f := range ask(`SELECT DISTINCT proname FROM pg_proc WHERE proname = ANY(` + functions + `) AND proargmodes && '{o,b,t}'`) {
		if !sqlread.OutColumns(f) && !strings.HasSuffix(f, "_to_record") && !strings.HasSuffix(f, "_to_recordset") {
			t.Errorf("%s names its columns itself and is not in outColumns", f)
		}
	}

	spelled := []string{"!=", "=>"} // the first is another spelling of <>, the second names an argument
	missing = ask(`SELECT o FROM unnest(` + list(sqlread.Operators(sqlread.Postgres)) + `) o
		WHERE NOT EXISTS (SELECT FROM pg_operator JOIN pg_proc p ON p.oid = oprcode WHERE oprname = o AND provolatile <> 'v') ORDER BY 1`)
	if !slices.Equal(missing, spelled) {
		t.Errorf("operators that PostgreSQL does not have: %q", missing)
	}
	for _, name := range sqlread.Types(sqlread.Postgres) {
		switch name {
		case "double", "national": // the first of two words
			continue
		}
		if _, err := p.run.query("SELECT NULL::" + name); err != nil {
			t.Errorf("type %s: %v", name, err)
		}
	}
	for _, w := range ask(`SELECT word FROM pg_get_keywords() WHERE catcode IN ('R', 'T')`) {
		if !sqlread.Reserved(sqlread.Postgres, w) {
			t.Errorf("%s is reserved and not on the list", w)
		}
	}
}
