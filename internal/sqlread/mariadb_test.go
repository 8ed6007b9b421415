package sqlread_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/annotary/annotary/internal/sqlread"
	"github.com/annotary/annotary/internal/testenv"
)

// A mariadb is a running server with something in it that could be changed.
// Texts run under several modes, since a text is not told which one it meets.
type mariadb struct {
	data  string
	watch conn
	modes []conn
}

var mariadbModes = []string{"", "ANSI,NO_BACKSLASH_ESCAPES", "ORACLE", "IGNORE_SPACE,PIPES_AS_CONCAT"}

func startMariaDB(t *testing.T) *mariadb {
	t.Helper()
	socket, data := testenv.MariaDB(t)
	m := &mariadb{data: data, watch: dialMariaDB(t, socket, "mysql")}
	must := func(c conn, sql string) {
		t.Helper()
		if _, err := c.query(sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	must(m.watch, `CREATE DATABASE x; USE x; CREATE SEQUENCE s NOCACHE; SET GLOBAL log_bin_trust_function_creators = 1;
		CREATE TABLE t (id int, a int, b int, c text, d text, data text, tags text);
		INSERT INTO t VALUES (1, 1, 1, 'c', 'd', '{"a":1}', ''), (2, 2, 1, 'c', 'd', '{}', '');
		CREATE TABLE u (id int, a int, b int, d int); INSERT INTO u VALUES (1, 2, 3, 4)`)
	for _, name := range []string{"f", "pop", "`count`", "`sum`"} {
		must(m.watch, `CREATE FUNCTION `+name+`(x int) RETURNS int BEGIN INSERT INTO u VALUES (x, x, x, x); RETURN 1; END`)
	}
	for _, mode := range mariadbModes {
		c := dialMariaDB(t, socket, "x")
		must(c, `SET SESSION sql_mode = '`+mode+`', max_statement_time = 2`)
		m.modes = append(m.modes, c)
	}
	return m
}

// state tells what a text could have changed: what was written to the binary
// log, rows, sequences, files, and of each session its settings, variables and
// locks.
func (m *mariadb) state(t *testing.T) string {
	t.Helper()
	var all []string
	ask := func(c conn, sql string) {
		rows, err := c.query(sql)
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		all = append(all, rows...)
	}
	ask(m.watch, `SHOW MASTER STATUS`)
	ask(m.watch, `CHECKSUM TABLE x.t, x.u, x.s`)
	for _, c := range m.modes {
		ask(c, `SELECT @a, @v, LAST_INSERT_ID(), IS_USED_LOCK('a')`)
		ask(c, `SHOW SESSION VARIABLES WHERE Variable_name NOT IN ('timestamp', 'rand_seed1', 'rand_seed2', 'error_count', 'warning_count',
			'last_gtid', 'gtid_binlog_pos', 'gtid_binlog_state', 'gtid_current_pos', 'innodb_buffer_pool_load_incremental')`)
	}
	files, err := filepath.Glob(filepath.Join(m.data, "x", "*"))
	if err != nil {
		t.Fatal(err)
	}
	more, err := os.ReadDir(m.data)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range more {
		if !strings.HasPrefix(f.Name(), "ib") && !strings.HasPrefix(f.Name(), "aria") {
			files = append(files, f.Name())
		}
	}
	return strings.Join(append(all, files...), "\n")
}

func (m *mariadb) runs(t *testing.T, sql string) bool { return runsOn(t, sql, m.modes...) }

func TestMariaDB(t *testing.T) {
	t.Parallel()
	m := startMariaDB(t)
	t.Run("sees-changes", func(t *testing.T) {
		testSeesChanges(t, m, sqlread.MySQL, []string{
			"INSERT INTO u VALUES (9,9,9,9)", "SELECT nextval(s)", "SELECT NEXT VALUE FOR s", "SELECT s.nextval FROM DUAL", "SELECT @a := 5",
			"SELECT 6 INTO @v", "SELECT 1 INTO OUTFILE 'out'", "SELECT get_lock('a', 0)", "SELECT last_insert_id(5)", "SELECT f(1)", "SELECT x.f(1)",
			"SELECT count (1)", "SELECT sum/**/(1)", "SELECT 1 /*!50000 INTO @a */", "SELECT 7 /*M! INTO @v */", "SET @a = 8", "SET SESSION sort_buffer_size = 100000",
			"SELECT 1; DELETE FROM u LIMIT 1", "SELECT '\\'; DELETE FROM t WHERE id = 1; -- '", "CREATE TABLE zz (a int)", "EXECUTE IMMEDIATE 'SELECT 9 INTO @a'",
			"WITH x AS (SELECT 1) SELECT 10 INTO @a", "SELECT 1 FROM t PROCEDURE ANALYSE(); SELECT 11 INTO @v",
		})
	})
	t.Run("reads-change-nothing", func(t *testing.T) { testReadsChangeNothing(t, m, sqlread.MySQL) })
	t.Run("functions", m.testFunctions)
}

// testFunctions calls every function of the list without arguments: a built-in
// complains about them, and only an unknown name is called one.
func (m *mariadb) testFunctions(t *testing.T) {
	// Functions of MySQL that MariaDB does not have.
	missing := []string{}
	for _, f := range sqlread.Functions(sqlread.MySQL) {
		_, err := m.modes[0].query("SELECT " + f + "()")
		if err != nil && strings.Contains(err.Error(), "FUNCTION x."+f+" does not exist") {
			missing = append(missing, f)
		}
	}
	want := []string{"any_value", "bin_to_uuid", "grouping", "is_uuid", "json_storage_size", "regexp_like", "uuid_to_bin"}
	if !slices.Equal(missing, want) {
		t.Errorf("functions that MariaDB does not have: %q, want %q", missing, want)
	}
}
