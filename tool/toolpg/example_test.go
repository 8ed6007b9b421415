package toolpg_test

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/annotary/annotary/tool"
	"github.com/annotary/annotary/tool/toolpg"
)

// Servers that run as several processes share a database.
func ExampleOpen() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, "postgres:///shop")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer pool.Close()
	store, err := toolpg.Open(ctx, pool, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	s := tool.New("shop", "1.0.0", &tool.Options{Store: store})
	fmt.Println(s.Stdio(ctx))
}
