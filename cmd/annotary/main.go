// Command annotary is the notary between AI agents and MCP servers. All of it
// is in internal/cli.
package main

import (
	"os"

	"github.com/annotary/annotary/internal/cli"
)

func main() { os.Exit(cli.Main()) }
