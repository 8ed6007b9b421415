// Package toolpg remembers keyed writes and spent drafts in PostgreSQL, for
// servers that run as more than one process or must survive a restart. It is a
// [tool.Store] and nothing else.
//
// One row per key, claimed by a single INSERT: PostgreSQL decides who was
// first. Time is the database's, so the processes' clocks do not matter.
package toolpg

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/annotary/annotary/tool"
)

// Options configure a store. The zero value is good.
type Options struct {
	// Table is the table's name. If empty, annotary_deeds.
	Table string
	// Keep is how long answers are kept. If zero, a day.
	Keep time.Duration
}

// A Store is a [tool.Store] in PostgreSQL.
type Store struct {
	pool  *pgxpool.Pool
	table string
	keep  time.Duration

	mu     sync.Mutex
	pruned time.Time
}

var _ tool.Store = (*Store)(nil)

// Open returns a store over the pool and creates its table where there is none.
// The pool stays the caller's to close.
func Open(ctx context.Context, pool *pgxpool.Pool, opts *Options) (*Store, error) {
	s := &Store{pool: pool, table: "annotary_deeds", keep: 24 * time.Hour}
	if opts != nil && opts.Table != "" {
		s.table = opts.Table
	}
	if opts != nil && opts.Keep != 0 {
		s.keep = opts.Keep
	}
	s.table = pgx.Identifier{s.table}.Sanitize() //nolint:misspell // the name in pgx
	return s, s.create(ctx)
}

// The states as they are stored.
const (
	running = 0
	settled = 1
	unknown = 2
)

// create makes the table. The lock is there because two processes that start
// together would both find it missing.
func (s *Store) create(ctx context.Context) error {
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtext($1))`, s.table); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `CREATE TABLE IF NOT EXISTS `+s.table+` (
			name    text PRIMARY KEY,
			request text NOT NULL,
			state   smallint NOT NULL,
			answer  bytea,
			until   timestamptz NOT NULL)`)
		return err
	})
	if err != nil {
		return fmt.Errorf("creating %s: %w", s.table, err)
	}
	return nil
}

// Claim implements [tool.Store].
func (s *Store) Claim(ctx context.Context, key tool.Key, lease time.Duration) (tool.Claim, error) {
	if err := s.pruneSometimes(ctx); err != nil {
		return tool.Claim{}, err
	}
	for {
		tag, err := s.pool.Exec(ctx, `INSERT INTO `+s.table+` (name, request, state, until)
			VALUES ($1, $2, $3, now() + $4) ON CONFLICT (name) DO NOTHING`, key.Name, key.Request, running, lease)
		if err != nil {
			return tool.Claim{}, fmt.Errorf("claiming a key: %w", err)
		}
		if tag.RowsAffected() == 1 {
			return tool.Claim{State: tool.Claimed, Request: key.Request}, nil
		}
		claim, err := s.look(ctx, key)
		if !errors.Is(err, pgx.ErrNoRows) { // released in between: try again
			return claim, err
		}
	}
}

// look reads the state of a key that is taken.
func (s *Store) look(ctx context.Context, key tool.Key) (tool.Claim, error) {
	var c tool.Claim
	var state int16
	var expired bool
	err := s.pool.QueryRow(ctx, `SELECT request, state, answer, until < now() FROM `+s.table+` WHERE name = $1`, key.Name).
		Scan(&c.Request, &state, &c.Answer, &expired)
	if err != nil {
		return tool.Claim{}, fmt.Errorf("reading a key: %w", err)
	}
	switch {
	case state == settled:
		c.State = tool.Settled
	case state == running && !expired:
		c.State = tool.Running
	default:
		c.State = tool.Lost
	}
	return c, nil
}

var errNotClaimed = errors.New("the key is not claimed")

// Settle implements [tool.Store].
func (s *Store) Settle(ctx context.Context, key tool.Key, answer []byte) error {
	state := settled
	if answer == nil {
		state = unknown
	}
	tag, err := s.pool.Exec(ctx, `UPDATE `+s.table+` SET state = $2, answer = $3, until = greatest(until, now() + $4)
		WHERE name = $1 AND state <> $5`, key.Name, state, answer, s.keep, settled)
	return affected(tag.RowsAffected(), err)
}

// Release implements [tool.Store].
func (s *Store) Release(ctx context.Context, key tool.Key) error {
	tag, err := s.pool.Exec(ctx, `DELETE FROM `+s.table+` WHERE name = $1 AND state <> $2`, key.Name, settled)
	return affected(tag.RowsAffected(), err)
}

func affected(rows int64, err error) error {
	if err != nil {
		return fmt.Errorf("ending a claim: %w", err)
	}
	if rows == 0 {
		return errNotClaimed
	}
	return nil
}

// Prune forgets answers that are older than they are kept. Claim does it about
// once a minute.
func (s *Store) Prune(ctx context.Context) error {
	if _, err := s.pool.Exec(ctx, `DELETE FROM `+s.table+` WHERE state <> $1 AND until < now()`, running); err != nil {
		return fmt.Errorf("pruning keys: %w", err)
	}
	return nil
}

func (s *Store) pruneSometimes(ctx context.Context) error {
	s.mu.Lock()
	due := time.Since(s.pruned) > time.Minute
	if due {
		s.pruned = time.Now()
	}
	s.mu.Unlock()
	if !due {
		return nil
	}
	return s.Prune(ctx)
}
