// Command askfirst is an agent in a terminal that asks before it destroys.
//
// Its model is a script, so that it runs anywhere and always the same; its MCP
// server is real: a shop on standard streams, started as a child process. What
// may run at once, what must be asked and in which words comes from package
// agent.
//
//	go run ./examples/askfirst
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
)

func main() {
	ctx := context.Background()
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		exit(newShop().Stdio(ctx))
	}
	exit(run(ctx, exec.Command(os.Args[0], "serve"), os.Stdin, os.Stdout))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "askfirst:", err)
		os.Exit(1)
	}
	os.Exit(0)
}
