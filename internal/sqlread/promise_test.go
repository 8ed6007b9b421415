package sqlread_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/annotary/annotary/internal/sqlread"
)

// A database is a real server with something in it that could be changed.
type database interface {
	// state tells everything a text could have changed.
	state(t *testing.T) string
	// runs runs a text and reports whether it ran without an error.
	runs(t *testing.T, sql string) bool
}

// A conn is a connection to a server. An error of the text itself is an errSQL.
type conn interface {
	query(sql string) ([]string, error)
}

// runsOn runs a text on every connection and reports whether it ran without an
// error on any.
func runsOn(t *testing.T, sql string, conns ...conn) bool {
	t.Helper()
	ran := false
	for _, c := range conns {
		_, err := c.query(sql)
		if err != nil && !errors.Is(err, errSQL) {
			t.Fatalf("%q broke the connection: %v", sql, err)
		}
		ran = ran || err == nil
	}
	return ran
}

// testSeesChanges proves the look-out: each of the texts changes something, is
// seen to, and is not a read.
func testSeesChanges(t *testing.T, db database, d sqlread.Dialect, texts []string) {
	for _, sql := range texts {
		before := db.state(t)
		if db.runs(t, sql); db.state(t) == before {
			t.Errorf("%q was not seen to change something", sql)
		}
		for _, d := range []sqlread.Dialect{sqlread.Any, d} {
			if sqlread.Read(sql, d).Read {
				t.Errorf("%q is a read in %q", sql, d)
			}
		}
	}
}

// testReadsChangeNothing is the promise of the package: whatever it calls a
// read changes nothing. The texts are the samples, and what is made of good
// queries by putting tricks into them.
func testReadsChangeNothing(t *testing.T, db database, d sqlread.Dialect) {
	texts := mutants(5000)
	for _, s := range slices.Concat(queries, divided) {
		texts = append(texts, s.sql)
	}
	all := len(texts)
	texts = slices.DeleteFunc(texts, func(sql string) bool { return !sqlread.Read(sql, d).Read })
	ran := 0
	for batch := range slices.Chunk(texts, 10) { // a look takes longer than ten texts
		before := db.state(t)
		for _, sql := range batch {
			if db.runs(t, sql) {
				ran++
			}
		}
		if db.state(t) != before {
			t.Fatalf("one of these reads changed something: %q", batch)
		}
	}
	t.Logf("%d texts, %d called reads, %d of them ran without an error", all, len(texts), ran)
	if len(texts) < 1000 || ran < 500 {
		t.Errorf("only %d reads, %d of which ran: the test proves little", len(texts), ran)
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

// mutants makes texts out of the seeds: each trick put before each word and in
// its place, and n more by chance, where words are dropped, doubled, swapped
// and queries put into queries. They are the same each time.
func mutants(n int) []string {
	var texts []string
	for _, seed := range seedsOfReads {
		words := strings.Fields(seed)
		for at := range len(words) + 1 {
			for _, trick := range tricks {
				before, behind := strings.Join(words[:at], " "), strings.Join(words[at:], " ")
				texts = append(texts, before+" "+trick+" "+behind)
				if at < len(words) {
					texts = append(texts, before+" "+trick+" "+strings.Join(words[at+1:], " "))
				}
			}
		}
	}
	rnd := rand.New(rand.NewPCG(2, 9))
	for range n {
		texts = append(texts, chanceMutant(rnd))
	}
	return texts
}

func chanceMutant(rnd *rand.Rand) string {
	pick := func(from []string) string { return from[rnd.IntN(len(from))] }
	words := strings.Fields(pick(seedsOfReads))
	for range 2 + rnd.IntN(3) {
		at := rnd.IntN(len(words))
		switch rnd.IntN(5) {
		case 0:
			words = slices.Insert(words, at, words[at])
		case 1:
			words[at] = pick(strings.Fields(pick(seedsOfReads)))
		case 2:
			words = slices.Concat(words[:at], []string{"(", pick(seedsOfReads), ")"}, words[at:])
		default:
			words = slices.Insert(words, at+rnd.IntN(2), pick(tricks))
		}
	}
	return strings.Join(words, pick([]string{" ", " ", "\n", "/**/"}))
}
