package lint

import (
	"slices"
	"strings"
	"unicode"

	"github.com/annotary/annotary/derive"
	"github.com/annotary/annotary/internal/strict"
)

var titleRules = []Rule{
	{
		ID: "title-missing", Severity: at(Note, Error, Note, Warning), Fixable: true,
		Demand: "A tool has a title that a person can read in a prompt.",
		Vendor: map[Profile]string{Anthropic: anthropicHints},
		tool:   titleMissing,
	},
	{
		ID: "title-place", Severity: at(Off, Warning, Off, Off), Fixable: true,
		Demand: "Anthropic's validator has been seen to read annotations.title and not the top-level title (basic-memory#1031).",
		tool:   titlePlace,
	},
	{
		ID: "title-is-name", Severity: at(Note, Warning, Note, Warning), Fixable: true,
		Demand: "A title says more to a person than the name does.",
		tool:   titleIsName,
	},
	{
		ID: "title-no-action", Severity: at(Note, Note, Note, Warning),
		Demand: "A title says what the tool does, such as Search Orders or Save Draft, not only what it is about.",
		tool:   titleNoAction,
	},
}

func titleMissing(p *pass) []Finding {
	if p.Title != "" {
		return nil
	}
	return one(Finding{At: "/annotations", Message: "has no title", Fix: "add a title that says what the tool does, such as Search Orders"})
}

// innerTitle is the title in annotations, where the first revisions had it.
func (p *pass) innerTitle() string {
	title, _ := strict.Text(strict.Get(p.Raw, "annotations", "title"))
	return title
}

func titlePlace(p *pass) []Finding {
	if p.Title == "" || p.innerTitle() != "" {
		return nil
	}
	return one(Finding{
		At: "/title", Message: "has its title only at the top level", // said alike of each tool, so that they stand together
		Fix: "add the same title to annotations",
	})
}

func titleIsName(p *pass) []Finding {
	if p.Title != p.Name || p.Name == humanise(p.Name) {
		return nil
	}
	return one(Finding{
		At: "/title", Message: "has its name for a title", Evidence: "title: " + quote(p.Title),
		Fix: "call it " + quote(humanise(p.Name)),
	})
}

// titleNoAction finds the title that is the name without its verb: Orders for
// get_orders. Any other title may say what is done in words of its own.
func titleNoAction(p *pass) []Finding {
	if p.Title == "" || p.Title == p.Name || !hasVerb(p.Name) || hasVerb(p.Title) {
		return nil
	}
	verb := derive.Verb(p.Name)
	name := strings.Fields(strings.ToLower(humanise(p.Name)))
	for word := range strings.FieldsSeq(strings.ToLower(humanise(p.Title))) {
		if word == verb || !slices.Contains(name, word) {
			return nil
		}
	}
	return one(Finding{
		At: "/title", Message: "has a title that does not say what it does",
		Evidence: "the title " + quote(p.Title) + " is the name without its verb",
		Fix:      "begin the title with a verb, such as " + quote(humanise(p.Name)),
	})
}

// humanise makes words of a name: search_files and searchFiles both become
// Search Files. A name without words stays as it is.
func humanise(name string) string {
	var words []string
	word := []rune{}
	flush := func() {
		if len(word) > 0 {
			word[0] = unicode.ToUpper(word[0])
			words = append(words, string(word))
			word = word[:0]
		}
	}
	before := ' '
	for _, r := range name {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			flush()
		case unicode.IsUpper(r) && unicode.IsLower(before):
			flush()
			word = append(word, r)
		default:
			word = append(word, r)
		}
		before = r
	}
	flush()
	if len(words) == 0 {
		return name
	}
	return strings.Join(words, " ")
}
