package derive

import "github.com/annotary/annotary"

// Words of names. They say where a tool reaches and whose words it brings,
// which is not what it does: none of them counts for the first three hints.
var (
	wordsWeb = wordSet("web website websites webpage internet online browser http url urls crawl scrape google bing " +
		"duckduckgo tavily wikipedia arxiv news rss feed dns whois")
	wordsLocal = wordSet("file files directory directories dir folder path local memory clipboard process disk git repo " +
		"codebase entity entities graph sqlite")
	wordsPrivate = wordSet("email emails mail inbox message messages chat chats dm calendar event contact contacts customer " +
		"customers user users profile account accounts invoice invoices payment payments transaction transactions balance " +
		"balances patient medical salary payroll password passwords secret secrets credential credentials token tokens " +
		"key keys env environment file files document documents drive note notes conversation conversations thread photo " +
		"photos location order orders employee employees lead leads ticket tickets member members people person session " +
		"cookies clipboard history row rows record records database query sql transcript recording attachment attachments")
	wordsStrangers = wordSet("email emails mail inbox message messages chat chats comment comments review reviews issue issues " +
		"ticket tickets post posts feed tweet tweets news forum thread threads discussion discussions pull request mention " +
		"mentions reply replies feedback survey responses submission submissions conversation conversations article " +
		"articles page pages website websites web url page html video transcript description listing attachment")
	wordsPlain = wordSet("version health status config schema time date timezone weather currency convert calculate docs " +
		"documentation guide help")
)

// judgeOpenWorld says whether a tool reaches outside. Authors agree on it so
// little that only plain evidence counts.
func (r *reading) judgeOpenWorld() verdict {
	if p := r.paramOf(address); p != "" && r.kind != add && r.kind != put {
		return verdict{annotary.Yes, r.sureToReach(), "it reaches the address it is given as '" + p + "'"}
	}
	switch {
	case r.kind == send && (r.hasRole(recipient) || r.hasRole(money) || r.hasWord(messages)):
		return verdict{annotary.Yes, 0.85, r.nameSays() + " beyond the server"}
	case r.hasWord(wordsWeb):
		return verdict{annotary.Yes, 0.8, "its name speaks of the web"}
	case r.kind == steer, r.verb == "deploy", r.verb == "redeploy":
		return verdict{annotary.Yes, 0.7, r.nameSays() + " outside the server"}
	case r.says("internet", "web", "third-party", "online", "external"):
		return verdict{annotary.Yes, 0.6, "its description speaks of the world outside"}
	case r.kind == compute:
		return verdict{annotary.No, 0.6, r.nameSays() + " from its arguments"}
	case r.hasWord(wordsLocal) && !r.hasRole(address) && !r.hasRole(recipient):
		return verdict{annotary.No, 0.6, "its name speaks of this machine only"}
	}
	return verdict{why: "nothing says whether it reaches outside"}
}

// sureToReach returns how sure it is that the tool goes where an address points:
// a domain or a link may name something of the server's own, and a URL may be
// taken apart without being followed.
func (r *reading) sureToReach() float64 {
	if (r.has("url", "urls", "uri", "web_url", "target_url", "href") && goes[r.verb]) || r.kind == steer {
		return 0.85
	}
	return 0.7
}

// goes are verbs by which one goes to an address.
var goes = wordSet("fetch scrape crawl download navigate goto open visit browse request curl ping screenshot capture extract read load")

// judgeEgress says whether what the tool is told may leave.
func (r *reading) judgeEgress(openWorld verdict) verdict {
	if p := r.paramOf(callback); p != "" {
		return verdict{annotary.Yes, 0.8, "it reports to the address it is given as '" + p + "'"}
	}
	if p := r.paramOf(recipient); p != "" && (r.kind == send || r.kind == add) {
		return verdict{annotary.Yes, 0.85, "it tells what it is given to '" + p + "'"}
	}
	switch {
	case r.kind == send:
		return verdict{annotary.Yes, 0.75, r.nameSays() + " out of the conversation"}
	case r.kind == run && r.hasRole(code):
		return verdict{annotary.Yes, 0.6, "what it executes can send anything anywhere"}
	case openWorld.value == annotary.Yes:
		return verdict{annotary.Yes, min(openWorld.confidence, 0.8), "what it is told goes outside: " + openWorld.why}
	case openWorld.value == annotary.No:
		return verdict{annotary.No, 0.5, "it does not reach outside: " + openWorld.why}
	}
	return verdict{why: "nothing says whether what it is told leaves the server"}
}

// judgeSensitive says whether results may hold private data. Here the topic
// counts: it is about what comes back, not about what is done.
func (r *reading) judgeSensitive(readOnly verdict) verdict {
	answers := readOnly.value != annotary.No || r.kind == run
	word := r.firstWord(wordsPrivate)
	switch {
	case answers && word != "":
		return verdict{annotary.Yes, 0.7, "it may answer with somebody's " + word}
	case r.kind == run && r.hasRole(code):
		return verdict{annotary.Yes, 0.6, "what it executes can read anything it can reach"}
	case r.kind == compute || r.hasWord(wordsPlain):
		return verdict{annotary.No, 0.5, "nothing in it is about anybody"}
	}
	return verdict{why: "nothing says whose data it answers with"}
}

// judgeUntrusted says whether results may hold a stranger's words.
func (r *reading) judgeUntrusted(readOnly verdict) verdict {
	if readOnly.value == annotary.No && r.kind != run && r.kind != steer {
		return verdict{why: "nothing says what it answers with"}
	}
	if p := r.paramOf(address); p != "" {
		return verdict{annotary.Yes, 0.8, "it answers with what it finds at '" + p + "'"}
	}
	if word := r.firstWord(wordsStrangers); word != "" {
		return verdict{annotary.Yes, 0.7, "it may answer with what others wrote (" + word + ")"}
	}
	switch {
	case r.hasWord(wordsWeb), r.kind == steer:
		return verdict{annotary.Yes, 0.75, "it answers with what it finds on the web"}
	case r.kind == compute, r.hasWord(wordsPlain):
		return verdict{annotary.No, 0.5, "it answers with what it works out or with its own state"}
	}
	return verdict{why: "nothing says whose words it answers with"}
}

// paramOf returns the first parameter of the role, or "".
func (r *reading) paramOf(want role) string {
	for _, p := range r.params {
		if p.role() == want {
			return p.name
		}
	}
	return ""
}

// firstWord returns the first word of the name that is in the set, or "".
func (r *reading) firstWord(set map[string]bool) string {
	for _, w := range r.words {
		if set[w] {
			return w
		}
	}
	return ""
}
