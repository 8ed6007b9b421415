package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// npx stands in for npm's command of that name, so that a script can run an
// example as people type it: it starts an installed package and fetches none.
func npx() {
	args := os.Args[1:]
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		args = args[1:]
	}
	if len(args) == 0 {
		npxFail("no package given")
	}
	name := args[0]
	if at := strings.LastIndex(name, "@"); at > 0 {
		name = name[:at]
	}
	node := newestNode()
	dir := filepath.Join(filepath.Dir(node), "..", "..", name)
	program, err := binOf(dir)
	if err != nil {
		npxFail(err.Error())
	}
	argv := append([]string{node, filepath.Join(dir, program)}, args[1:]...)
	npxFail(syscall.Exec(node, argv, os.Environ()).Error())
}

// newestNode is the node that setup put at the end of PATH: a child of annotary
// knows no other variable of the script.
func newestNode() string {
	path := filepath.SplitList(os.Getenv("PATH"))
	return filepath.Join(path[len(path)-1], "node")
}

func npxFail(why string) {
	fmt.Fprintln(os.Stderr, "npx:", why)
	os.Exit(1)
}

// binOf returns the program of a package: the one of its name, or its only one.
func binOf(dir string) (string, error) {
	raw, err := os.ReadFile(filepath.Join(dir, "package.json"))
	if err != nil {
		return "", err
	}
	var one struct{ Bin string }
	if json.Unmarshal(raw, &one) == nil && one.Bin != "" {
		return one.Bin, nil
	}
	var many struct{ Bin map[string]string }
	if err := json.Unmarshal(raw, &many); err != nil {
		return "", err
	}
	if program := many.Bin[filepath.Base(dir)]; program != "" {
		return program, nil
	}
	for _, program := range many.Bin {
		return program, nil
	}
	return "", fmt.Errorf("%s has no program", dir)
}
