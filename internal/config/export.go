package config

import (
	"maps"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/annotary/annotary"
)

// A Word is something said of a server or of one of its tools, as it would stand
// in the file.
type Word struct {
	Server  string
	Tools   string // empty for a word about the server
	Believe bool
	Hints   map[string]bool
	Reason  string
}

// Words writes what was said as a part of annotary.yaml that says the same.
func Words(words []Word) ([]byte, error) {
	servers := map[string]map[string]any{}
	for _, w := range words {
		s := servers[w.Server]
		if s == nil {
			s = map[string]any{}
			servers[w.Server] = s
		}
		if w.Tools == "" {
			s["believe_hints"] = w.Believe
			continue
		}
		tools, _ := s["overrides"].(map[string]*yaml.Node)
		if tools == nil {
			tools = map[string]*yaml.Node{}
			s["overrides"] = tools
		}
		tools[w.Tools] = wordNode(&w)
	}
	out, err := yaml.Marshal(map[string]any{"servers": servers})
	if err != nil {
		return nil, annotary.E(annotary.CodeInternal, "what was said cannot be written as YAML", err)
	}
	return out, nil
}

// wordNode writes one override on a line.
func wordNode(w *Word) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle}
	add := func(key string, value any) {
		var v yaml.Node
		_ = v.Encode(value) // texts and booleans always encode
		n.Content = append(n.Content, scalarOf(key), &v)
	}
	for _, name := range slices.Sorted(maps.Keys(w.Hints)) {
		add(name, w.Hints[name])
	}
	if w.Reason != "" {
		add("reason", w.Reason)
	}
	return n
}
