package clients

import (
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// hidden stands for what looks like a secret.
const hidden = "***"

var (
	secretWord   = regexp.MustCompile(`(?i)(token|secret|passw|pwd|credential|bearer|cookie|authoriz|(^|[-_])auth([-_]|$)|api[-_]?key|access[-_]?key|private[-_]?key|(^|[-_])key$|(^|[-_])pat$|(^|[-_])dsn$)`)
	secretValue  = regexp.MustCompile(`^(sk-|sk_|pk_|rk_|gh[opsur]_|github_pat_|glpat-|xox[abeprs]-|AKIA|ASIA|AIza|ya29\.|eyJ|npm_|hf_|lin_api_|ntn_|secret_)[A-Za-z0-9_\-.]{8,}`)
	headerArg    = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9-]*: *`)
	assignment   = regexp.MustCompile(`^(-{0,2}[A-Za-z][A-Za-z0-9_.-]*)=(.*)$`)
	shellUnquote = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./~-]+$`)
)

// secretName reports whether something of that name is likely a secret.
func secretName(name string) bool { return secretWord.MatchString(name) }

// Line writes the entry as a person would type it: the command with its
// arguments, or the address. What looks like a secret is left out.
func (s *Server) Line() string {
	if s.Transport != Stdio {
		return hideURL(s.URL)
	}
	words := []string{Quote(s.Command)}
	for _, arg := range hideArgs(s.Args) {
		words = append(words, Quote(arg))
	}
	return strings.Join(words, " ")
}

// Whole writes all that the entry would do, as its file has it and nothing left
// out: variables it sets, headers it sends, a file of variables it reads. It is
// for the question whether to start what a stranger wrote, where a secret of
// theirs matters less than a command hidden behind one. Variables are not
// filled in, so none of the user's are in it.
func (s *Server) Whole() string {
	var words []string
	for _, name := range s.Env.Names() {
		words = append(words, name+"="+Quote(s.Env.values[name]))
	}
	if s.Transport == Stdio {
		for _, word := range append([]string{s.Command}, s.Args...) {
			words = append(words, Quote(word))
		}
	} else {
		words = append(words, s.URL)
	}
	for _, name := range s.Headers.Names() {
		words = append(words, "(sends "+name+": "+s.Headers.values[name]+")")
	}
	for _, name := range slices.Sorted(maps.Keys(s.headerVars)) {
		words = append(words, "(sends "+name+": ${"+s.headerVars[name]+"})")
	}
	if s.envFile != "" {
		words = append(words, "(with the variables in "+s.envFile+")")
	}
	return strings.Join(words, " ")
}

// Quote writes a word the way a shell reads it back as one.
func Quote(word string) string {
	if shellUnquote.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// hideArgs replaces the secrets among arguments.
func hideArgs(args []string) []string {
	out := make([]string, len(args))
	hideNext := false
	for i, arg := range args {
		switch {
		case hideNext:
			out[i] = hidden
			hideNext = false
		case strings.HasPrefix(arg, "-") && !strings.Contains(arg, "=") && secretName(arg):
			out[i] = arg
			hideNext = true
		default:
			out[i] = hideArg(arg)
		}
	}
	return out
}

func hideArg(arg string) string {
	if reference(arg) {
		return arg
	}
	if m := assignment.FindStringSubmatch(arg); m != nil && !strings.Contains(m[1], "://") {
		if secretName(m[1]) && !reference(m[2]) {
			// What follows a space may be a command of its own.
			_, rest, spaced := strings.Cut(m[2], " ")
			if spaced {
				rest = " " + hideArg(rest)
			}
			return m[1] + "=" + hidden + rest
		}
		return m[1] + "=" + hideArg(m[2])
	}
	if strings.Contains(arg, "://") {
		return hideURL(arg)
	}
	if name := headerArg.FindString(arg); name != "" && secretName(name) && !strings.Contains(arg, "${") {
		return strings.TrimRight(name, " ") + " " + hidden
	}
	if secretValue.MatchString(arg) {
		return hidden
	}
	return arg
}

// reference reports whether the text only names a variable.
func reference(s string) bool { return strings.HasPrefix(s, "${") && strings.HasSuffix(s, "}") }

// hideURL hides the password, a user without one, the values of the query and
// the fragment, which is where addresses carry keys. What is no secret stays,
// down to a bare question mark.
func hideURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return hidden
	}
	before, fragment, hasFragment := strings.Cut(raw, "#")
	before, query, hasQuery := strings.Cut(before, "?")
	tail := ""
	if hasQuery {
		tail = "?" + hideQuery(query)
	}
	if hasFragment {
		tail += "#"
		if fragment != "" {
			tail += hidden
		}
	}
	if scheme, rest, ok := strings.Cut(before, "://"); ok && u.User != nil {
		if at := strings.LastIndex(rest, "@"); at >= 0 {
			before = scheme + "://" + hideUser(u.User) + rest[at:]
		}
	}
	return before + tail
}

func hideQuery(query string) string {
	var parts []string
	for part := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(part, "=")
		if value != "" && !reference(value) {
			part = name + "=" + hidden
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "&")
}

func hideUser(user *url.Userinfo) string {
	if _, ok := user.Password(); ok {
		return user.Username() + ":" + hidden
	}
	return hidden // a token, most of the time
}

// Typed returns the words that reach the server from a shell: its address, or
// its command and arguments. It is nil if they would not do, because the entry
// adds variables or headers, or hold a secret.
func (s *Server) Typed() []string {
	if len(s.Launch.Env.values)+len(s.Launch.Headers.values)+len(s.Launch.Missing) > 0 {
		return nil
	}
	if s.Transport != Stdio {
		if hideURL(s.Launch.URL) != s.Launch.URL {
			return nil
		}
		return []string{s.Launch.URL}
	}
	if !slices.Equal(hideArgs(s.Launch.Args), s.Launch.Args) {
		return nil
	}
	return append([]string{s.Launch.Command}, s.Launch.Args...)
}

// secretsInURL returns what hideURL hides.
func secretsInURL(raw string) []string {
	u, err := url.Parse(raw)
	if err != nil || !strings.Contains(raw, "://") {
		return nil
	}
	var values []string
	if password, ok := u.User.Password(); ok {
		values = append(values, password)
	} else if u.User != nil {
		values = append(values, u.User.Username())
	}
	for part := range strings.SplitSeq(u.RawQuery, "&") {
		if _, value, _ := strings.Cut(part, "="); !reference(value) {
			values = append(values, value)
		}
	}
	return append(values, u.EscapedFragment())
}
