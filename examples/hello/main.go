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

func main() {
	s := tool.New("hello", "1.0.0", nil)
	tool.Add(s, tool.Read(tool.Closed), tool.Spec{Name: "greet", Title: "Greet", Description: "Greets a person by name."},
		func(_ context.Context, call *tool.Call, p person) (tool.Nothing, error) {
			call.Say("Hello, %s.", p.Name)
			return tool.Nothing{}, nil
		})
	if err := s.Stdio(context.Background()); err != nil {
		slog.Error("stopped", "error", err)
	}
}
