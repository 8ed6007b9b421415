package approval

import (
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/annotary/annotary/internal/strict"
)

// hostShaped is a name with at least one dot whose last part begins with a letter,
// in any script.
var hostShaped = regexp.MustCompile(`^[\pL\pM\d_-]+(\.[\pL\pM\d_-]+)*\.\pL[\pL\pM\d-]*[\pL\pM\d]$`)

var emailShaped = regexp.MustCompile(`[^\s@<>,;:"]+@([A-Za-z0-9.-]+\.[A-Za-z]{2,})`)

// Destination names where the arguments of a call would go: the hosts of all
// values that look like an address, a host or an e-mail address, sorted; if there
// are none, the server.
func Destination(server string, args []byte) string {
	var hosts []string
	for _, raw := range strict.Leaves(args) {
		if text, ok := strict.Text(raw); ok {
			hosts = append(hosts, hostsIn(text)...)
		}
	}
	if len(hosts) == 0 {
		return "server:" + server
	}
	slices.Sort(hosts)
	return strings.Join(slices.Compact(hosts), " ")
}

// hostsIn finds the hosts in one text, words in a longer one too.
func hostsIn(text string) []string {
	var hosts []string
	for _, m := range emailShaped.FindAllStringSubmatch(text, -1) {
		hosts = append(hosts, "mail:"+strings.ToLower(m[1]))
	}
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\r\n\"'<>(),;", r) }) {
		if strings.Contains(word, "://") {
			if u, err := url.Parse(word); err == nil && u.Host != "" {
				hosts = append(hosts, strings.TrimRight(strings.ToLower(u.Host), "."))
			} else {
				hosts = append(hosts, strings.ToLower(word)) // it cannot be read, so it is itself
			}
		} else if host := hostOf(word); host != "" {
			hosts = append(hosts, host)
		}
	}
	return hosts
}

// hostOf returns the host that a word without a scheme stands for, with its port:
// programs take "host", "host:80", "host/path" and "//host/path" for an address.
// It is empty if the word looks like none.
func hostOf(word string) string {
	word = strings.ToLower(strings.TrimPrefix(word, "//"))
	if end := strings.IndexAny(word, `/\?#`); end >= 0 {
		word = word[:end]
	}
	word = strings.TrimRight(word, ".:!")
	name, port := word, ""
	if host, p, err := net.SplitHostPort(word); err == nil {
		name, port = host, ":"+p
	}
	name = strings.TrimRight(strings.Trim(name, "[]`"), ".")
	if !hostShaped.MatchString(name) && net.ParseIP(name) == nil {
		return ""
	}
	return name + port
}
