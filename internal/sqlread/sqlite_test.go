package sqlread_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/annotary/annotary/internal/sqlread"
	"github.com/annotary/annotary/internal/testenv"
)

// A sqlite is a database file and the shell that runs texts on it. The shell
// brings functions that write files, which is as bad as it gets.
type sqlite struct{ shell, dir string }

func startSQLite(t *testing.T) *sqlite {
	t.Helper()
	s := &sqlite{testenv.Program(t, "sqlite3"), t.TempDir()}
	if ok := s.runs(t, `CREATE TABLE t (id, a, b, c, d, data, tags); CREATE TABLE u (id, a, b, d); CREATE INDEX i ON t(a);
		INSERT INTO t VALUES (1, 1, 1, 'c', 'd', '{"a":1}', '[]'); INSERT INTO u VALUES (1, 2, 3, 4);`); !ok {
		t.Fatal("the database could not be made")
	}
	return s
}

// runs gives a text to the shell.
func (s *sqlite) runs(t *testing.T, sql string) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.shell, "-batch", "-bail", "test.db")
	cmd.Dir, cmd.Stdin = s.dir, strings.NewReader(sql+"\n;\n")
	return cmd.Run() == nil
}

// state tells what is in the folder, byte by byte.
func (s *sqlite) state(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(s.dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	var all bytes.Buffer
	for _, f := range files {
		content, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&all, "%s %x\n", f, sha256.Sum256(content))
	}
	return all.String()
}

func TestSQLite(t *testing.T) {
	t.Parallel()
	s := startSQLite(t)
	t.Run("sees-changes", func(t *testing.T) {
		testSeesChanges(t, s, sqlread.SQLite, []string{
			"INSERT INTO t VALUES (2,2,2,2,2,2,2)", "PRAGMA user_version = 7", "SELECT writefile('x', 'y')", "VACUUM INTO 'z'",
			"ATTACH 'new' AS n; CREATE TABLE n.x (a)", "SELECT 1;\n.shell echo >w", "SELECT 1; DELETE FROM t", "ANALYZE",
			"WITH x AS (SELECT 5) INSERT INTO u SELECT *, 1, 2, 3 FROM x", "EXPLAIN SELECT 1; REPLACE INTO u VALUES (7,7,7,7)",
		})
	})
	t.Run("reads-change-nothing", func(t *testing.T) { testReadsChangeNothing(t, s, sqlread.SQLite) })
	t.Run("functions", s.testFunctions)
}

// testFunctions looks for every function of the list, so that none is there by
// a slip of the pen. Versions differ in what they have; most must be there.
func (s *sqlite) testFunctions(t *testing.T) {
	out, err := exec.Command(s.shell, "-batch", ":memory:", "SELECT DISTINCT name FROM pragma_function_list").Output()
	if err != nil {
		t.Fatal(err)
	}
	has := strings.Fields(string(out))
	var missing []string
	functions := sqlread.Functions(sqlread.SQLite)
	for _, f := range functions {
		if !slices.Contains(has, f) {
			missing = append(missing, f)
		}
	}
	t.Logf("not in this SQLite: %q", missing)
	if len(missing)*3 > len(functions) {
		t.Errorf("%d of %d functions are not in this SQLite", len(missing), len(functions))
	}
}
