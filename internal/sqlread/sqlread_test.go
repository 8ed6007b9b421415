package sqlread_test

import (
	"strings"
	"testing"

	"github.com/annotary/annotary/internal/sqlread"
)

// A sample is a text and who calls it a read: p PostgreSQL, m MySQL, s SQLite,
// * no stated dialect.
type sample struct{ sql, reads string }

func (s sample) check(t *testing.T) {
	t.Helper()
	for d, letter := range map[sqlread.Dialect]string{
		sqlread.Postgres: "p", sqlread.MySQL: "m", sqlread.SQLite: "s", sqlread.Any: "*",
	} {
		got := sqlread.Read(s.sql, d)
		if want := strings.Contains(s.reads, letter); got.Read != want {
			t.Errorf("%.200q in %q: read is %v, want %v (%s)", s.sql, d, got.Read, want, got.Why)
		}
		if got.Why == "" {
			t.Errorf("%.80q in %q: no reason given", s.sql, d)
		}
	}
}

// queries are reads to at least one dialect.
var queries = []sample{
	{"SELECT 1", "pms*"},
	{"select 1;", "pms*"},
	{" ; ; select 1 ; ; select 2;", "pms*"},
	{"SELECT * FROM users", "pms*"},
	{"SELECT u.id, u.name AS n FROM public.users AS u WHERE u.id = 7 ORDER BY 1 DESC LIMIT 10 OFFSET 5", "pms*"},
	{"SELECT count(*), max(a), min(b) FROM t GROUP BY c HAVING count(*) > 1", "pms*"},
	{"SELECT DISTINCT a FROM t", "pms*"},
	{"SELECT a FROM t UNION ALL SELECT b FROM u ORDER BY 1", "pms*"},
	{"(SELECT a FROM t) UNION (SELECT b FROM u)", "pms*"},
	{"SELECT ((SELECT 1) + 2)", "pms*"},
	{"SELECT a FROM t WHERE b IN (1, 2, 3) AND c NOT IN (SELECT d FROM u)", "pms*"},
	{"SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.id = t.id)", "pms*"},
	{"SELECT a FROM t WHERE b BETWEEN 1 AND 2 OR c IS NOT NULL", "pms*"},
	{"SELECT a FROM t WHERE b LIKE 'x%' ESCAPE '!'", "pms*"},
	{"SELECT CASE WHEN a > 1 THEN 'x' ELSE 'y' END AS z FROM t", "pms*"},
	{"SELECT CASE a WHEN 1 THEN 2 END FROM t", "pms*"},
	{"SELECT CAST(a AS integer) FROM t", "pms*"},
	{"SELECT coalesce(a, b, 0), nullif(a, ''), upper(c) || 'x' FROM t", "pms*"},
	{"SELECT * FROM a JOIN b ON a.id = b.a LEFT JOIN c USING (id), d", "pms*"},
	{"SELECT * FROM a NATURAL JOIN b CROSS JOIN c", "pms*"},
	{"SELECT * FROM (SELECT 1 AS x) AS y", "pms*"},
	{"SELECT * FROM (a JOIN b ON a.x = b.x)", "pms*"},
	{"WITH x AS (SELECT 1 AS a) SELECT * FROM x", "pms*"},
	{"WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM x WHERE n < 5) SELECT n FROM x", "pms*"},
	{"SELECT sum(a) OVER (PARTITION BY b ORDER BY c ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) FROM t", "pms*"},
	{"SELECT row_number() OVER w FROM t WINDOW w AS (ORDER BY a)", "pms*"},
	{"SELECT lag(a, 1) OVER (ORDER BY b RANGE 3 PRECEDING) FROM t", "pms*"},
	{"SELECT 'it''s', 'a;b', '-- no comment', '/* nor this */' FROM t", "pms*"},
	{"SELECT 'DELETE FROM t; DROP TABLE t'", "pms*"},
	{"SELECT 1 /* plain */ + /* another */ 2 -- the end", "pms*"},
	{"-- a line\nSELECT 1", "pms*"},
	{"SELECT -1.5e10, .5, 1., +2", "pms*"},
	{"SELECT \"name\" FROM t", "pms*"},
	{"SELECT \"update\" FROM t", "pms*"},
	{"SELECT current_timestamp, current_date", "pms*"},
	{"SELECT replace(a, 'b', 'c') FROM t", "pms*"},
	{"SELECT load, call, copy FROM t", "ps"},
	{"SELECT größe FROM tabellen", "pms*"},
	{"SELECT key, rank, \"index\" FROM t", "ps"},
	{"VALUES (1, 2), (3, 4)", "pms*"},
	{"TABLE users", "pm"},
	{"EXPLAIN SELECT 1", "pms*"},
	{"EXPLAIN ANALYZE SELECT * FROM t", "pm"},
	{"EXPLAIN (ANALYZE, BUFFERS, FORMAT json) SELECT * FROM t", "p"},
	{"EXPLAIN QUERY PLAN SELECT * FROM t", "s"},
	{"EXPLAIN FORMAT=JSON SELECT * FROM t", "m"},
	{"EXPLAIN (SELECT 1)", "pms*"},
	{"DESCRIBE users", "m"},
	{"DESC db.users name", "m"},
	{"SHOW search_path", "p"},
	{"SHOW TRANSACTION ISOLATION LEVEL", "p"},
	{"SHOW TABLES", "pm"},
	{"SHOW FULL COLUMNS FROM users IN shop LIKE 'a%'", "m"},
	{"SHOW CREATE TABLE users", "pm"},
	{"SHOW VARIABLES WHERE Variable_name = 'version'", "m"},

	// PostgreSQL
	{"SELECT a::text, b::numeric(10,2), c::timestamp with time zone, d::int[] FROM t", "p"},
	{"SELECT 'users'::regclass, pg_catalog.lower('A'), \"lower\"('B')", "p"},
	{"SELECT $$it's; DELETE FROM t$$, $q$ $$ $q$", "p"},
	{"SELECT E'it\\'s' FROM t", "p"},
	{"SELECT 1 /* a /* nested */ comment */", "p"},
	{"SELECT data->>'a', data #> '{a,b}', data @> '{}', tags && ARRAY['x'] FROM t", "pm"},
	{"SELECT ARRAY[1,2][1], ARRAY[[1],[2]], ARRAY(SELECT 1), a[1:2] FROM t", "p"},
	{"SELECT date '2026-01-01' + interval '1 day' * 3, timestamp with time zone '2026-01-01 00:00Z'", "p"},
	{"SELECT a AT TIME ZONE 'UTC' FROM t WHERE b ILIKE 'x' AND c ~* 'y' AND d IS DISTINCT FROM e", "p"},
	{"SELECT extract(epoch FROM a), substring(b from 1 for 2), trim(both ' ' from c), position('a' in d) FROM t", "pm"},
	{"SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY a), count(*) FILTER (WHERE b) FROM t", "p"},
	{"SELECT string_agg(a, ',' ORDER BY a) FROM t", "ps"},
	{"SELECT * FROM generate_series(1, 3) AS g(n)", "ps"},
	{"SELECT g FROM generate_series(1, 3) g", "ps"},
	{"SELECT g.n FROM generate_series(1, 3) WITH ORDINALITY AS g(n, i)", "p"},
	{"SELECT e.key, e.value FROM t, LATERAL jsonb_each(t.data) AS e", "p"},
	{"SELECT x.a FROM jsonb_to_recordset('[]') AS x(a int, b text)", "p"},
	{"SELECT make_interval(days => 3)", "p"},
	{"SELECT DISTINCT ON (a) a, b FROM t ORDER BY a, b DESC NULLS LAST FETCH FIRST 3 ROWS ONLY", "p"},
	{"SELECT a, sum(b) FROM t GROUP BY GROUPING SETS ((a), ()), ROLLUP (c)", "p"},
	{"SELECT * FROM ONLY t TABLESAMPLE system (10)", "p"},
	{"SELECT * FROM t WHERE id = $1 AND x = ANY($2)", "p"},
	{"SELECT ROW(1, 2) = (3, 4)", "pm"},
	{"WITH x AS MATERIALIZED (SELECT 1) SELECT * FROM x", "ps"},

	// MySQL
	{"SELECT `a` FROM `t` WHERE `b` = \"x\"", "ms"},
	{"SELECT 1 # the end", "m"},
	{"SELECT a <=> b, a DIV 2, a MOD 2, NOT a XOR b, !c, a REGEXP 'x', a && b FROM t", "m"},
	{"SELECT DATE_ADD(a, INTERVAL 1 DAY), TIMESTAMPDIFF(MONTH, a, b), IF(a, 1, 2) FROM t", "m"},
	{"SELECT GROUP_CONCAT(DISTINCT a ORDER BY b SEPARATOR ', ') FROM t", "m"},
	{"SELECT CONVERT(a USING utf8mb4), CONVERT(a, SIGNED), CAST(a AS UNSIGNED) FROM t", "m"},
	{"SELECT @@version, @x", "pm"},
	{"SELECT SQL_NO_CACHE a FROM t USE INDEX (i) LIMIT 5, 10", "m"},
	{"SELECT a, count(*) FROM t GROUP BY a WITH ROLLUP", "m"},
	{"SELECT 'a' 'b'", "ms"},
	{"SELECT * FROM t WHERE a = ?", "ms"},
	{"SELECT 1--1", "pms"},
	{"SELECT JSON_EXTRACT(a, '$.b'), a->>'$.c' FROM t", "ms"},
	{"VALUES ROW(1,2), ROW(3,4)", "m"},
	{"SELECT * FROM t PARTITION (p0)", "m"},
	{"SELECT a FROM t WHERE MATCH (a, b) AGAINST ('x' IN BOOLEAN MODE)", "m"},
	{"SELECT 1 AS 'x', 2 'y'", "ms"},

	// SQLite
	{"SELECT [a b] FROM [t]", "s"},
	{"SELECT a == b, a GLOB 'x*', typeof(a), iif(a, 1, 2) FROM t WHERE b NOTNULL", "s"},
	{"SELECT * FROM fts WHERE fts MATCH 'x' ORDER BY bm25(fts)", "s"},
	{"SELECT * FROM t INDEXED BY i WHERE a = :a AND b = @b AND c = ?3 AND d = $4", "s"},
	{"SELECT j.value FROM json_each('[1]') AS j", "ps"},
	{"SELECT name FROM pragma_table_info('t')", "s"},
	{"SELECT x'00ff'", "pms*"},
	{"SELECT a FROM t WHERE b IS 3", "s"},
	{"SELECT 'C:\\' || 'x'", "s"},
}

// writes are a read to nobody.
var writes = []string{
	"", " ", ";", "-- only a comment", "/* */",
	"INSERT INTO t VALUES (1)", "UPDATE t SET a = 1", "DELETE FROM t", "DROP TABLE t", "TRUNCATE t",
	"CREATE TABLE t (a int)", "ALTER TABLE t ADD b int", "GRANT ALL ON t TO public", "REVOKE ALL ON t FROM public",
	"MERGE INTO t USING u ON t.a = u.a WHEN MATCHED THEN DELETE", "REPLACE INTO t VALUES (1)",
	"CREATE TABLE x AS SELECT 1", "CREATE VIEW v AS SELECT 1", "REFRESH MATERIALIZED VIEW v",
	"WITH x AS (DELETE FROM t RETURNING *) SELECT * FROM x",
	"WITH x AS (INSERT INTO t VALUES (1) RETURNING a) SELECT a FROM x",
	"WITH x AS (UPDATE t SET a = 1 RETURNING a) SELECT a FROM x",
	"WITH x AS (SELECT 1), y AS (DELETE FROM t RETURNING *) SELECT 1",
	"WITH x AS (WITH y AS (DELETE FROM t RETURNING *) SELECT * FROM y) SELECT * FROM x",
	"WITH x AS (SELECT 1) DELETE FROM t", "WITH x AS (SELECT 1) INSERT INTO t SELECT * FROM x",
	"WITH x AS (SELECT 1) UPDATE t SET a = 1",
	"SELECT * FROM (DELETE FROM t RETURNING *) x",
	"SELECT * INTO u FROM t", "SELECT a INTO TEMP u FROM t", "SELECT 1 INTO u",
	"SELECT a FROM t INTO OUTFILE '/tmp/x'", "SELECT a INTO DUMPFILE '/tmp/x' FROM t",
	"SELECT a INTO @v FROM t", "SELECT a FROM t LIMIT 1 INTO @v", "TABLE t INTO OUTFILE '/tmp/x'",
	"SELECT * FROM t FOR UPDATE", "SELECT * FROM t FOR NO KEY UPDATE", "SELECT * FROM t FOR SHARE",
	"SELECT * FROM t FOR KEY SHARE SKIP LOCKED", "SELECT * FROM t LOCK IN SHARE MODE",
	"SELECT * FROM (SELECT * FROM t FOR UPDATE) x", "WITH x AS (SELECT * FROM t FOR SHARE) SELECT * FROM x",
	"SELECT (SELECT a FROM t FOR UPDATE)", "SELECT 1 UNION SELECT a FROM t FOR UPDATE",
	"EXPLAIN ANALYZE DELETE FROM t", "EXPLAIN (ANALYZE) DELETE FROM t", "EXPLAIN ANALYZE INSERT INTO t VALUES (1)",
	"EXPLAIN DELETE FROM t", "EXPLAIN (ANALYZE true, VERBOSE) UPDATE t SET a = 1", "EXPLAIN ANALYZE CREATE TABLE x AS SELECT 1",
	"EXPLAIN ANALYZE EXECUTE p", "DESCRIBE UPDATE t SET a = 1", "EXPLAIN ANALYZE WITH x AS (DELETE FROM t RETURNING *) SELECT 1",
	"EXPLAIN ANALYZE SELECT nextval('s')", "EXPLAIN INTO @v SELECT 1",
	"COPY t TO '/tmp/x'", "COPY t FROM PROGRAM 'id'", "COPY (SELECT 1) TO PROGRAM 'id'",
	"CALL p()", "DO $$BEGIN DELETE FROM t; END$$", "DO SLEEP(1)", "SET a = 1", "SET ROLE x", "RESET ALL",
	"PRAGMA user_version = 1", "PRAGMA table_info(t)", "ATTACH 'x' AS y", "DETACH y", "LOAD 'x'", "LOAD DATA INFILE 'x' INTO TABLE t",
	"VACUUM", "ANALYZE", "REINDEX TABLE t", "CLUSTER t", "CHECKPOINT", "LISTEN x", "NOTIFY x", "LOCK TABLE t",
	"BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT x", "START TRANSACTION", "PREPARE p AS SELECT 1", "EXECUTE p", "DEALLOCATE p",
	"DECLARE c CURSOR FOR SELECT 1", "FETCH ALL FROM c", "HANDLER t OPEN", "KILL 1", "FLUSH TABLES", "USE x", "SHUTDOWN",
	"SELECT 1; DELETE FROM t", "DELETE FROM t; SELECT 1", "SELECT 1; COMMIT", "SELECT 1;\n.shell id", "SELECT 1; system id",
	"SELECT 1 \\! id", "SELECT 1 \\gexec", "SELECT 1\\G",

	// functions that do something
	"SELECT nextval('s')", "SELECT setval('s', 1)", "SELECT pg_catalog.nextval('s')", "SELECT \"nextval\"('s')",
	"SELECT pg_catalog.\"nextval\"('s')", "SELECT \"pg_catalog\".nextval('s')", "SELECT NextVal ('s')", "SELECT nextval/**/('s')",
	"SELECT ('s'::regclass).nextval", "SELECT (('s'::regclass)).nextval", "SELECT (ARRAY['s'::regclass])[1].nextval",
	"SELECT x.nextval FROM to_regclass('s') x", "SELECT unnest.nextval FROM unnest(ARRAY['s'::regclass])",
	"SELECT x.\"nextval\" FROM to_regclass('s') AS x",
	"SELECT (SELECT x.pg_sleep FROM generate_series(1,2) x) FROM unnest(ARRAY[1]) x(pg_sleep)",
	"SELECT pg_sleep.pg_sleep FROM json_array_elements_text('[1]') pg_sleep",

	"SELECT s.nextval", "SELECT NEXT VALUE FOR s", "SELECT nextval(s)",
	"SELECT pg_sleep(10)", "SELECT sleep(10)", "SELECT benchmark(1000000, md5('x'))", "SELECT get_lock('x', 1)",
	"SELECT release_lock('x')", "SELECT last_insert_id(5)", "SELECT load_file('/etc/passwd')", "SELECT sys_exec('id')",
	"SELECT pg_read_file('/etc/passwd')", "SELECT pg_ls_dir('.')", "SELECT lo_import('/etc/passwd')", "SELECT lo_unlink(1)",
	"SELECT * FROM dblink('x', 'DELETE FROM t') AS y(a int)", "SELECT dblink_exec('x', 'DELETE FROM t')",
	"SELECT set_config('a.b', 'c', false)", "SELECT pg_terminate_backend(1)", "SELECT pg_advisory_lock(1)",
	"SELECT query_to_xml('DELETE FROM t', true, true, '')", "SELECT ts_stat('DELETE FROM t')", "SELECT txid_current()",
	"SELECT pg_notify('a', 'b')", "SELECT setseed(0.5)", "SELECT load_extension('x')", "SELECT writefile('x', 'y')", "SELECT edit('x')",
	"SELECT fts3_tokenizer('x', 'y')", "SELECT optimize(t) FROM t",
	"SELECT * FROM main.'pragma_optimize'", "SELECT * FROM 'pragma_optimize'",
	"SELECT x.nextval FROM CAST('s' AS regclass) x", "SELECT x.nextval FROM coalesce('s'::regclass) x",
	"SELECT MATCH (a) AGAINST (f(1)) FROM t", "SELECT my_function()", "SELECT public.lower('x')", "SELECT db.f(1)", "SELECT * FROM f(1)", "SELECT * FROM public.f(x)",
	"SELECT * FROM \"public\".f(x)", "SELECT * FROM a, f(1)", "SELECT * FROM LATERAL f(x)", "SELECT * FROM t JOIN f(x) ON true",
	"SELECT * FROM ROWS FROM (f(1))", "SELECT \"LOWER\"('x')", "SELECT `lower`('x')", "SELECT [lower]('x')",
	"SELECT a FROM t ORDER BY f(a)", "SELECT a FROM t GROUP BY f(a)", "SELECT a FROM t LIMIT f(1)", "SELECT a FROM t OFFSET f(1)",
	"SELECT a FROM t WHERE b IN (SELECT f(c) FROM u)", "SELECT CASE WHEN f(1) THEN 1 END", "SELECT count(*) FILTER (WHERE f(a)) FROM t",
	"SELECT sum(a) OVER (PARTITION BY f(b)) FROM t", "SELECT sum(a) OVER (ROWS f(1) PRECEDING) FROM t", "VALUES (f(1))",
	"SELECT CAST(f(1) AS int)", "SELECT ROW(f(1))", "SELECT lower(f(1))",
	"SELECT extract(year FROM f(1))", "SELECT trim(both f(1) FROM 'x')", "SELECT a AT TIME ZONE f(1) FROM t",
	"SELECT * FROM t TABLESAMPLE mine (10)", "SELECT * FROM t TABLESAMPLE system (f(1))", "SELECT 'x' LIKE f(1)",
	"SELECT a FROM t WHERE (a, f(b)) = (1, 2)", "SELECT DISTINCT ON (f(a)) a FROM t", "SELECT a FROM t GROUP BY ROLLUP (f(a))",
	"WITH x(f) AS (VALUES (f(1))) SELECT 1", "SELECT a IS DISTINCT FROM f(1) FROM t", "SELECT a BETWEEN f(1) AND f(2) FROM t",

	// operators, types, variables
	"SELECT 1 OPERATOR(public.+) 2", "SELECT 1 <<<>>> 2", "SELECT a === b FROM t", "SELECT 'x'::mytype", "SELECT CAST('x' AS mytype)",
	"SELECT 'x'::public.text", "SELECT @a := 1", "SELECT @a := @a + 1", "SELECT lower(a := 'x')",
	"SELECT * FROM t AS x(a mytype)", "SELECT 1 FROM t ORDER BY a USING >",

	// comments that are obeyed, and texts that are cut in two ways
	"SELECT /*! 1 */", "SELECT 1 /*!50000 INTO OUTFILE '/tmp/x' */", "SELECT 1 /*M! INTO @a */", "SELECT /*+ SET_VAR(sql_mode='x') */ 1",
	"/*!DELETE FROM t*/", "SELECT 1 /* no end", "SELECT 'no end", "SELECT \"no end", "SELECT $$ no end", "SELECT $a$ no end $b$",
	"SELECT 'a\\'; DELETE FROM t; --'",
	"SELECT \"a\\\"; DELETE FROM t; -- \"", "SELECT U&\"\\006eextval\"('s')",
	"SELECT E'a'\n'b\\'; DELETE FROM t; --'", "SELECT 1INTO u", "SELECT 1.e(2)", "SELECT 1a", "SELECT $1a", "SELECT ?INTO",
	"SELECT 1\vFROM t", "SELECT\u00a01", "SELECT 1\u200b", "\ufeffSELECT 1", "SELECT 1\x00", "SELECT '\xff'",
	"SELECT 1 FROM t{}", "SELECT {fn now()}", "SELECT 1 FROM t PROCEDURE ANALYSE()", "SELECT (1", "SELECT 1)", "SELECT", "SELECT 1,", "SELECT FROM",
	"WITH x AS (SELECT 1)", "SELECT 1 UNION", "SELECT * FROM", "SELECT a b c FROM t", "EXPLAIN", "SHOW", "DESCRIBE", "VALUES", "TABLE", "SELECT 1 2",
	"SELECT 1 FROM t WHERE", "SELECT 1 AS into", "SELECT update FROM t", "SELECT a FROM t JOIN", "SELECT a.", "SELECT .a",
}

// divided are texts that at least one dialect reads as a write.
var divided = []sample{
	{"SELECT @'x'", "p"},
	{"SELECT U&'\\0041'", "ms"},
	{"SELECT 'a\\' || '; DELETE FROM t; --'", "s"},
	{"SELECT mytype 'x'", "ms"},
	{"SELECT a[f(1)] FROM t", "s"},
	{"SELECT ARRAY[f(1)]", "s"},
	{"SELECT * FROM main.\"PRAGMA_optimize\"", "p"},
	{"SELECT * FROM pragma_optimize", "pm"},
	{"SELECT x.ordinality FROM generate_series(1, 2) x", "s"},
	{"SELECT x.pg_sleep FROM generate_series(1, 2) x", "s"},
	{"SELECT 1 -- \rDELETE FROM t", "ms"},
	{"SELECT 1 WHERE 1 IN pragma_optimize", "pm"},
	{"SELECT 1 WHERE 1 IN 'pragma_optimize'", "pm"},
	{"SELECT x.upper FROM current_user x", "s"},
	{"SELECT `café` FROM t", "s"},
	{"SELECT `cafés` FROM t", "ms"},
	{"SELECT 'é\\\\' FROM t", "ps"},
	{"SELECT 1 --x\n; DELETE FROM t", ""},
	{"SELECT 1 --DELETE FROM t", "ps"},
	{"SELECT 1 # DELETE FROM t", "m"},
	{"SELECT 1 # 2", "pm"},
	{"SELECT 1 # 2\n; DELETE FROM t", ""},
	{"SELECT /* /* */ 1 /* */ */", ""},
	{"SELECT 1 /* /* */ ; DELETE FROM t /* */ */", "p"},
	{"SELECT $$ '; DELETE FROM t; -- $$", "p"},
	{"SELECT \"lower\"('x')", "p"},
	{"SELECT lower ('x')", "ps"},
	{"SELECT `a", ""},
	{"SELECT [1]", "s"},
	{"SELECT a REGEXP 'x' FROM t", "m"},
	{"SELECT E'\\'' || '; DELETE FROM t --'", "p"},
}

func TestRead(t *testing.T) {
	for _, s := range append(append([]sample{}, queries...), divided...) {
		s.check(t)
	}
	for _, w := range writes {
		sample{sql: w}.check(t)
	}
	t.Logf("%d texts in 4 dialects", len(queries)+len(divided)+len(writes))
}

func TestReadBounds(t *testing.T) {
	for name, sql := range map[string]string{
		"long":    "SELECT '" + strings.Repeat("x", sqlread.MaxBytes) + "'",
		"deep":    "SELECT " + strings.Repeat("(", 5000) + "1" + strings.Repeat(")", 5000),
		"deep-in": strings.Repeat("SELECT * FROM (", 3000) + "SELECT 1" + strings.Repeat(") x", 3000),
		"case":    strings.Repeat("SELECT CASE WHEN ", 3000) + "1",
		"comment": "SELECT 1 " + strings.Repeat("/*", 100000),
		"array":   "SELECT ARRAY" + strings.Repeat("[", 100000),
	} {
		t.Run(name, func(t *testing.T) { sample{sql: sql}.check(t) })
	}
	for n, want := range map[int]bool{63: true, 64: false, sqlread.MaxBytes / 2: false} {
		if v := sqlread.Read("SELECT 1 "+strings.Repeat("+", n)+" 1", sqlread.Postgres); v.Read != want {
			t.Errorf("%d signs: %+v", n, v)
		}
	}
}

func TestDialect(t *testing.T) {
	for _, name := range []string{"", "postgres", "mysql", "sqlite"} {
		d, ok := sqlread.ParseDialect(name)
		if got, want := d.String(), name; !ok || got != want {
			t.Errorf("ParseDialect(%q) = %q, %v", name, got, ok)
		}
	}
	if _, ok := sqlread.ParseDialect("Postgres"); ok {
		t.Error("an unknown dialect was accepted")
	}
}
