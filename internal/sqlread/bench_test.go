package sqlread_test

import (
	"cmp"
	"testing"

	"github.com/annotary/annotary/internal/sqlread"
)

func BenchmarkRead(b *testing.B) {
	const sql = `SELECT u.name, count(o.id) AS orders FROM users u LEFT JOIN orders o ON o.user_id = u.id
		WHERE u.created_at > '2026-01-01' AND u.state IN ('a', 'b') GROUP BY u.name ORDER BY orders DESC LIMIT 10`
	for _, d := range []sqlread.Dialect{sqlread.Any, sqlread.Postgres, sqlread.MySQL, sqlread.SQLite} {
		b.Run(cmp.Or(d.String(), "any"), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if !sqlread.Read(sql, d).Read {
					b.Fatal("not a read")
				}
			}
		})
	}
}
