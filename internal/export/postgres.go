package export

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/audit"
)

// Postgres is a sink that adds a row for each entry to a table. Rows and the
// cursor, which stands in a table of its own, move in one transaction; entries
// are unique by log, pack and place in the pack. Several gateways may export one
// log to one table.
type Postgres struct {
	URL   string
	Table string
	// Origin names the log, so that several may share a table.
	Origin string

	conn *pgx.Conn
}

const tables = `
CREATE TABLE IF NOT EXISTS %[1]s (
	log text NOT NULL, pack bigint NOT NULL, item integer NOT NULL,
	time timestamptz, kind text, call text, tenant text, subject text, client text,
	server text, tool text, class text, severity text, effect text, result text,
	line text NOT NULL,
	PRIMARY KEY (log, pack, item)
);
CREATE INDEX IF NOT EXISTS %[1]s_time ON %[1]s (time);
CREATE TABLE IF NOT EXISTS %[1]s_cursor (log text PRIMARY KEY, pack bigint NOT NULL);`

var columns = []string{
	"log", "pack", "item", "time", "kind", "call", "tenant", "subject", "client",
	"server", "tool", "class", "severity", "effect", "result", "line",
}

// Open connects and makes the tables.
func (p *Postgres) Open(ctx context.Context) (uint64, error) {
	conn, err := pgx.Connect(ctx, p.URL)
	if err != nil {
		return 0, p.fail("the database of the export cannot be reached", err)
	}
	p.conn = conn
	var last uint64
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		// Two who make one table at the same time disturb each other.
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock(hashtext($1))", p.Table); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, fmt.Sprintf(tables, p.Table)); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, fmt.Sprintf("INSERT INTO %s_cursor VALUES ($1, 0) ON CONFLICT DO NOTHING", p.Table), p.Origin); err != nil {
			return err
		}
		last, err = p.cursor(ctx, tx, "")
		return err
	})
	if err != nil {
		return 0, p.fail("the tables of the export cannot be made", err)
	}
	return last, nil
}

func (p *Postgres) cursor(ctx context.Context, tx pgx.Tx, lock string) (pack uint64, err error) {
	err = tx.QueryRow(ctx, fmt.Sprintf("SELECT pack FROM %s_cursor WHERE log = $1 %s", p.Table, lock), p.Origin).Scan(&pack)
	return pack, err
}

// Put adds rows for packs that are not there yet, and moves the cursor.
func (p *Postgres) Put(ctx context.Context, packs []Pack) (last uint64, err error) {
	err = pgx.BeginFunc(ctx, p.conn, func(tx pgx.Tx) error {
		if last, err = p.cursor(ctx, tx, "FOR UPDATE"); err != nil {
			return err
		}
		var rows [][]any
		for _, pack := range packs {
			if pack.Number > last {
				rows = append(rows, p.rows(pack)...)
			}
		}
		if len(rows) == 0 {
			return nil
		}
		if _, err := tx.CopyFrom(ctx, pgx.Identifier{p.Table}, columns, pgx.CopyFromRows(rows)); err != nil {
			return err
		}
		last = packs[len(packs)-1].Number
		_, err := tx.Exec(ctx, fmt.Sprintf("UPDATE %s_cursor SET pack = $2 WHERE log = $1", p.Table), p.Origin, last)
		return err
	})
	if err != nil {
		return 0, p.fail("the database of the export does not take entries", err)
	}
	return last, nil
}

// rows are the entries of a pack. One that cannot be read, because a newer
// gateway wrote it, has its line only.
func (p *Postgres) rows(pack Pack) [][]any {
	out := make([][]any, len(pack.Lines))
	for i, line := range pack.Lines {
		row := []any{p.Origin, pack.Number, i}
		e, err := audit.Decode(line)
		if err != nil {
			row = append(row, make([]any, len(columns)-4)...)
		} else {
			row = append(row, e.Time)
			for _, v := range []string{
				string(e.Kind), e.Call, e.Tenant, e.Subject, e.Client, e.Server, e.Tool,
				e.Class, string(e.Severity), e.Effect, string(e.Result),
			} {
				row = append(row, strings.ReplaceAll(v, "\x00", "\uFFFD")) // which texts of PostgreSQL cannot hold
			}
		}
		out[i] = append(row, string(line))
	}
	return out
}

// Close ends the connection.
func (p *Postgres) Close() {
	if p.conn != nil {
		_ = p.conn.Close(context.Background())
		p.conn = nil
	}
}

// fail hides the connection string, which may hold a password.
func (p *Postgres) fail(public string, cause error) error {
	return annotary.E(annotary.CodeConnect, public, cause).
		WithHint("check audit.export and that the database lets this user in and make tables")
}
