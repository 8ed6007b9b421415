// Command hello is the smallest server: one tool, read-only, in a closed world.
package main

import (
	"context"
	"log/slog"

	"github.com/annotary/annotary/tool"
)

type person struct {
	Name string `json:"name" jsonschema:"whom to greet"`
}
type greeting struct {
	Text string `json:"text"`
}

func main() {
	s := tool.New("hello", "1.0.0", nil)
	tool.Add(s, tool.Read(tool.Closed), tool.Spec{Name: "greet", Title: "Greet", Description: "Greets a person by name."},
		func(_ context.Context, _ *tool.Call, p person) (greeting, error) {
			return greeting{"Hello, " + p.Name + "."}, nil
		})
	slog.Error("stopped", "error", s.Stdio(context.Background()))
}
