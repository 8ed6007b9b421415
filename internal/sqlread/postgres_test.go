package sqlread_test

import (
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

func (p *postgres) runs(t *testing.T, sql string) bool { return runsOn(t, sql, p.run, p.old) }

func TestPostgres(t *testing.T) {
	t.Parallel()
	p := startPostgres(t)
	t.Run("sees-changes", func(t *testing.T) {
		testSeesChanges(t, p, sqlread.Postgres, []string{
			"INSERT INTO u VALUES (9)", "SELECT nextval('s')", "SELECT setval('s', 7)", "SELECT * FROM t FOR UPDATE",
			"SELECT ('s'::regclass).nextval", "SELECT (ARRAY['s'::regclass])[1].nextval", "SELECT x.nextval FROM to_regclass('s') x",
			"SELECT unnest.nextval FROM unnest(ARRAY['s'::regclass])", "SELECT pop.pop FROM json_array_elements('[1]') pop",
			"SELECT x.pop FROM generate_series(1, 1) x", "SELECT f(9)", "SELECT txid_current()", "SELECT set_config('work_mem', '123kB', false)",
			"SELECT pg_advisory_lock(1)", "SELECT lo_create(0)", "SELECT 1 INTO x", "SELECT 'a\\'; DELETE FROM t WHERE id = 15; --'", "WITH x AS (DELETE FROM u RETURNING *) SELECT * FROM x",
			"EXPLAIN ANALYZE DELETE FROM t WHERE id = 12", "SELECT query_to_xml('SELECT nextval(''s'')', true, true, '')",
			"LISTEN x", "SET work_mem = '124kB'", "SELECT 1; DELETE FROM t", "DO $$BEGIN PERFORM nextval('s'); END$$",
		})
	})
	t.Run("reads-change-nothing", func(t *testing.T) { testReadsChangeNothing(t, p, sqlread.Postgres) })
	t.Run("catalogue", p.testCatalogue)
}

// testCatalogue holds the lists to the catalogue of a real server: every
// function is there and none is volatile but those named here, every operator
// and type is built in, every reserved word is known.
func (p *postgres) testCatalogue(t *testing.T) {
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
