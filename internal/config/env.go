package config

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// references is how a text refers to something outside itself. A doubled
// dollar sign stands for one: $${env:X} is the text ${env:X}.
var references = regexp.MustCompile(`\$?\$\{[^{}]*\}`)

// A dialect says what a reference means in one kind of file.
type dialect func(ref string) (env string, fallback *string, err error)

// ourDialect knows ${env:NAME} and leaves everything else alone, since the
// arguments of a shell are full of ${…} that mean something to the shell.
func ourDialect(ref string) (string, *string, error) {
	name, ok := strings.CutPrefix(ref, "env:")
	if !ok {
		return "", nil, nil
	}
	if !isEnvName(name) {
		return "", nil, fmt.Errorf("${%s} does not name a variable", ref)
	}
	return name, nil, nil
}

// clientDialect also knows what clients write into their own files:
// ${NAME} and ${NAME:-fallback}.
func clientDialect(ref string) (string, *string, error) {
	if env, fb, err := ourDialect(ref); env != "" || err != nil {
		return env, fb, err
	}
	if strings.HasPrefix(ref, "input:") {
		return "", nil, fmt.Errorf("${%s} asks a person, which a gateway cannot: use ${env:NAME}", ref)
	}
	name, fallback, ok := strings.Cut(ref, ":-")
	if !isEnvName(name) {
		return "", nil, nil
	}
	if ok {
		return name, &fallback, nil
	}
	return name, nil, nil
}

// errNotSet is said of a variable the environment does not have.
var errNotSet = errors.New("is not set")

// expand fills the variables in. An error names the variable, never a value.
func expand(s string, d dialect, env func(string) (string, bool)) (string, error) {
	var failed error
	out := references.ReplaceAllStringFunc(s, func(m string) string {
		if strings.HasPrefix(m, "$$") {
			return m[1:]
		}
		name, fallback, err := d(m[2 : len(m)-1])
		if err != nil || name == "" {
			failed = cmp.Or(failed, err)
			return m
		}
		v, ok := env(name)
		switch {
		case ok:
			return v
		case fallback != nil:
			return *fallback
		}
		failed = cmp.Or(failed, fmt.Errorf("the variable %s %w", name, errNotSet))
		return m
	})
	return out, failed
}

func isEnvName(s string) bool {
	for i, c := range s {
		letter := c == '_' || (c|0x20 >= 'a' && c|0x20 <= 'z')
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}
