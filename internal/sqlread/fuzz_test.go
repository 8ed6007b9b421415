package sqlread_test

import (
	"strings"
	"testing"

	"github.com/annotary/annotary/internal/sqlread"
)

var everyDialect = []sqlread.Dialect{sqlread.Any, sqlread.Postgres, sqlread.MySQL, sqlread.SQLite}

// FuzzRead holds the verdicts on one text to each other: what any dialect
// calls a read all do, a read twice over is a read, and a read with a write
// behind it is none.
func FuzzRead(f *testing.F) {
	for _, s := range queries {
		f.Add(s.sql)
	}
	for _, s := range divided {
		f.Add(s.sql)
	}
	for _, w := range writes {
		f.Add(w)
	}
	f.Fuzz(func(t *testing.T, sql string) {
		anyDialect := sqlread.Read(sql, sqlread.Any).Read
		for _, d := range everyDialect {
			v := sqlread.Read(sql, d)
			if v.Why == "" {
				t.Fatalf("%q in %q: no reason", sql, d)
			}
			if anyDialect && !v.Read {
				t.Fatalf("%q is a read in every dialect but not in %q: %s", sql, d, v.Why)
			}
			if !v.Read || len(sql) > sqlread.MaxBytes/4 {
				continue
			}
			if v := sqlread.Read(sql+"\n;"+sql, d); !v.Read {
				t.Fatalf("%q in %q is a read once, but not twice: %s", sql, d, v.Why)
			}
			for _, write := range []string{"DELETE FROM t", "SELECT nextval('s')", "SELECT 1 INTO u", "SELECT 1 FROM t FOR UPDATE"} {
				for _, both := range []string{sql + "\n;" + write, write + ";" + sql} {
					if sqlread.Read(both, d).Read {
						t.Fatalf("%q in %q is a read", both, d)
					}
				}
			}
		}
	})
}

// FuzzMutatedWrite: a write stays one however it is cased, spaced, commented
// and wrapped.
func FuzzMutatedWrite(f *testing.F) {
	for i := range spelledWrites {
		f.Add(uint(i), []byte{byte(i), 3, 1, 4, 1, 5, 9, 2, 6})
	}
	f.Fuzz(func(t *testing.T, n uint, noise []byte) {
		sql := disguise(spelledWrites[n%uint(len(spelledWrites))], noise)
		for _, d := range everyDialect {
			if sqlread.Read(sql, d).Read {
				t.Fatalf("%q in %q is a read", sql, d)
			}
		}
	})
}

// spelledWrites are writes without strings, so that their case and spaces can
// be changed and they do the same.
var spelledWrites = []string{
	"DELETE FROM t", "UPDATE t SET a = 1", "INSERT INTO t VALUES ( 1 )", "DROP TABLE t", "TRUNCATE t", "CALL p ( )",
	"REPLACE INTO t VALUES ( 1 )", "MERGE INTO t USING u ON a = b WHEN MATCHED THEN DELETE", "CREATE TABLE x AS SELECT 1",
	"WITH x AS ( DELETE FROM t RETURNING * ) SELECT * FROM x", "WITH x AS ( SELECT 1 ) DELETE FROM t",
	"SELECT * INTO u FROM t", "SELECT a FROM t INTO @v", "SELECT * FROM t FOR UPDATE", "SELECT * FROM t FOR NO KEY UPDATE",
	"SELECT * FROM t LOCK IN SHARE MODE", "SELECT * FROM ( SELECT * FROM t FOR SHARE ) x",
	"EXPLAIN ANALYZE DELETE FROM t", "EXPLAIN ( ANALYZE ) UPDATE t SET a = 1", "COPY t FROM STDIN", "SET a = 1", "PRAGMA user_version = 1",
	"SELECT nextval ( s )", "SELECT pg_catalog . nextval ( s )", "SELECT pg_sleep ( 10 )", "SELECT sleep ( 10 )", "SELECT get_lock ( a , 1 )",
	"SELECT load_extension ( a )", "SELECT load_file ( a )", "SELECT last_insert_id ( 5 )", "SELECT pg_terminate_backend ( 1 )", "SELECT txid_current ( )",
	"SELECT * FROM f ( 1 )", "SELECT * FROM a , LATERAL f ( 1 )", "SELECT * FROM public . f ( x )", "SELECT count ( f ( 1 ) ) FROM t",
	"SELECT @a := 1", "SELECT NEXT VALUE FOR s", "SELECT 1 ; DELETE FROM t", "DELETE FROM t ; SELECT 1", "VACUUM", "LISTEN x", "BEGIN",
	"SELECT ( s :: regclass ) . nextval", "SELECT x . nextval FROM to_regclass ( s ) x", "SELECT s . nextval FROM dual",
}

// disguise changes a text by the bytes of noise and keeps what it does: case,
// space, comments, and more statements around it.
func disguise(sql string, noise []byte) string {
	i := 0
	next := func(n int) int {
		if len(noise) == 0 {
			return 0
		}
		i++
		return int(noise[i%len(noise)]+byte(i)) % n
	}
	spaces := []string{" ", "\n", "\t \r\n", "/**/", " /* x; SELECT 1 */ ", " -- SELECT 1\n", "/* '\" */", "\f"}
	var b strings.Builder
	for at, w := range strings.Fields(sql) {
		if at > 0 {
			b.WriteString(spaces[next(len(spaces))])
		}
		if next(2) == 0 {
			w = strings.ToUpper(w[:len(w)/2]) + strings.ToLower(w[len(w)/2:])
		}
		b.WriteString(w)
	}
	around := []string{"%", "%;", "SELECT 1;%", "%\n;SELECT 1", "(%)", "/* SELECT */ %", "WITH q AS (%) SELECT * FROM q", "EXPLAIN %"}
	return strings.Replace(around[next(len(around))], "%", b.String(), 1)
}
